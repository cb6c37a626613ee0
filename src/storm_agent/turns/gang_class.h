/*
 * gang_class.h - does a step sleep in its turns?  Flexible coscheduling classes
 * jobs by it, on each node alone (paper section 3.2): one that never sleeps needs
 * its turns for itself; the gaps of one that does can be filled by others.
 *
 * The measure is time asleep, not time on a CPU: foreign load lowers the latter.
 * A step's is that of the thread that sleeps least.  No Slurm header, no I/O.
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
	unsigned int vague;    /* turns since one that was */
	unsigned int turns;    /* since the class was last judged */
	uint64_t time, asleep; /* ns of these turns */
};

/*
 * A turn of `time` ns is over, of which the step was asleep for `asleep`, or for
 * less if that is not exact.  So an inexact figure can only prove that it is awake.
 *
 * A step that is asleep for half of a turn, or for a tenth of four turns, sleeps
 * from now on.  It does not any more after eight turns of which it was asleep for
 * less than a twentieth.  So a burst of some turns does not change the class.
 */
void gang_class_turn(struct gang_class *c, uint64_t time, uint64_t asleep,
		     bool exact);

#endif
