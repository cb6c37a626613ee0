/*
 * gang_grain.h - does a step meet its other nodes often?  The second measure of
 * flexible coscheduling (paper section 3.2): a program whose ranks wait for each
 * other after little work gets nowhere in a turn that its other nodes do not give
 * it, and takes the time from one that would.
 *
 * The figures are those of --storm-wait (wait_page.h): the user's word, for the
 * user's own step alone.  No Slurm header, no I/O.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_GANG_GRAIN_H
#define STORM_GANG_GRAIN_H

#include <stdbool.h>
#include <stdint.h>

/* All zeroes: a new step counts as one that gets on alone. */
struct gang_grain {
	bool fine;
	unsigned int quiet; /* figures in a row without a wait */
	/* since it was last judged; times in ns */
	uint64_t waits, computed, waited, ran;
};

/*
 * So much more has come to the account: waits, ns of computing and of waiting by
 * the clock, ns of CPU time.  A step that was stopped meanwhile has both kinds of ns
 * too high, in proportion; so only their proportion counts, and CPU time.
 *
 * A step is judged after GANG_GRAIN_TIME of it.  It is fine-grained if it computes
 * for less than GANG_GRAIN_FINE before a wait, and waits for a tenth of the time; no
 * more if it computes for twice as long, or waits for a twentieth; nor when
 * GANG_GRAIN_QUIET times no wait has come, as what it computes after its last wait is
 * not in the account.  So do not tell of a step that stands.
 */
#define GANG_GRAIN_TIME 50000000
#define GANG_GRAIN_FINE 1000000
#define GANG_GRAIN_QUIET 8
void gang_grain_add(struct gang_grain *g, uint64_t waits, uint64_t computed,
		    uint64_t waited, uint64_t ran);

#endif
