/*
 * gang_grain.h - decides whether a step meets its other nodes often.  That is
 * the second measure of flexible coscheduling (paper section 3.2).  A program
 * whose ranks wait for each other after little work cannot use a turn that its
 * other nodes do not give it, and takes the time from a program that could.
 *
 * The figures come from --storm-wait (wait_page.h).  They are the user's word,
 * and count for the user's own step alone.  No Slurm header, no I/O.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_GANG_GRAIN_H
#define STORM_GANG_GRAIN_H

#include <stdbool.h>
#include <stdint.h>

/* All zeroes: a new step counts as one that can go on alone. */
struct gang_grain {
	bool fine;	    /* it is fine-grained: its ranks meet often */
	unsigned int quiet; /* figures in a row without a wait */
	/* Since it was judged last; times in ns. */
	uint64_t waits, computed, waited, ran;
};

/*
 * Add to the figures: waits, ns of computing and of waiting by the clock, and
 * ns of CPU time (ran).  If the step was stopped meanwhile, the first two times
 * are both too high, in proportion.  So only their proportion counts, and CPU
 * time.
 *
 * A step is judged after GANG_GRAIN_TIME ns of CPU time.  It is fine-grained if
 * it computes for less than GANG_GRAIN_FINE ns before a wait, and waits for a
 * tenth of the time.  It is so no more if it computes for twice as long, or
 * waits for less than a twentieth.  Nor is it after GANG_GRAIN_QUIET calls in a
 * row without a wait, because what it computes after its last wait is not in
 * the account.  So do not call this for a step that stands.
 */
#define GANG_GRAIN_TIME 50000000
#define GANG_GRAIN_FINE 1000000
#define GANG_GRAIN_QUIET 8
void gang_grain_add(struct gang_grain *g, uint64_t waits, uint64_t computed,
		    uint64_t waited, uint64_t ran);

#endif
