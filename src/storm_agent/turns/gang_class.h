/*
 * gang_class.h - decides whether a step sleeps in its turns.  Flexible
 * coscheduling classes jobs by that, on each node alone (paper section 3.2):
 * one that never sleeps needs its turns for itself; others can fill the gaps of
 * one that sleeps.
 *
 * The measure is time asleep and not time on a CPU, because foreign load lowers
 * that.  A step has the figure of its thread that sleeps least.  No Slurm
 * header, no I/O.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_GANG_CLASS_H
#define STORM_GANG_CLASS_H

#include <stdbool.h>
#include <stdint.h>

/* All zeroes: a new step counts as one that never sleeps. */
struct gang_class {
	bool sleeps;
	bool probe;	       /* the next turn must be measured exactly */
	unsigned int vague;    /* turns since one that was measured exactly */
	unsigned int turns;    /* since the class was last judged */
	uint64_t time, asleep; /* ns of these turns */
};

/*
 * A turn of `time` ns is over, in which the step was asleep for `asleep` ns, or
 * for less if that is not exact.  So an inexact figure can only prove that the
 * step is awake.
 *
 * A step that was asleep for half of a turn, or for a tenth of four turns,
 * counts as one that sleeps.  It does so until it was asleep for less than a
 * twentieth of eight turns.  So a burst of some turns does not change the
 * class.
 */
void gang_class_turn(struct gang_class *c, uint64_t time, uint64_t asleep,
		     bool exact);

#endif
