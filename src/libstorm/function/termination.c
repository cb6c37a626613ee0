/*
 * termination.c - termination detection (paper section 2.4.2, Algorithms 8 and
 * 9).  Nodes announce.  The owner asks only after the first announcement, since
 * an application's processes tend to end at the same time.
 *
 * Departures.  Algorithm 8 compares a flag and resets it in one operation: if
 * the answer is lost and the question repeated, the termination is lost.  Here
 * the flag is a generation, an own variable that never decreases, and nothing
 * is reset.  In Algorithm 9 one node announces.  Any node may die, so here all
 * nodes announce, in a report that the tree combines into one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/clock.h"
#include "src/libstorm/program/domain_private.h"

#define BACKOFF_FIRST (1 * STORM_MS)
#define BACKOFF_MAX (100 * STORM_MS)

int storm_announce_termination(storm_member_t *m, uint32_t generation)
{
	struct storm_range r = { generation, generation };
	const struct storm_idset ids = { &r, 1, 1 };
	int err;

	if (!generation || generation == UINT32_MAX)
		return STORM_EINVAL;
	/* first the variable: the owner may ask on the report */
	err = storm_member_own_set(m, STORM_VAR_TERMINATED, generation);
	return err ? err :
		     storm_member_report(m, STORM_REPORT_TERMINATED,
					 TERMINATED_CODE, &ids);
}

static int termination_why(const struct storm_outcome *out)
{
	return out->faults_kept ? (int) out->faults[0].why : STORM_ECLOSED;
}

int storm_detect_termination(storm_domain_t *d, const struct storm_idset *P,
			     uint32_t generation, uint64_t deadline,
			     struct storm_outcome *out)
{
	struct storm_outcome none = { 0 };
	uint64_t backoff = BACKOFF_FIRST;
	int err;

	if (!out)
		out = &none;
	*out = none;
	if (!generation || generation == UINT32_MAX)
		return STORM_EINVAL;
	err = domain_await_announcement(d, generation, deadline);
	while (!err) {
		enum storm_compare c = storm_compare_and_write(
			d, P, STORM_VAR_TERMINATED, STORM_GE, generation, NULL,
			out);

		if (c == STORM_TRUE)
			break;
		if (c == STORM_FAILED)
			err = termination_why(out);
		else if (deadline && domain_now(d) >= deadline)
			err = STORM_ETIME;
		else
			domain_sleep(d, backoff);
		if (err != STORM_OK)
			break;
		storm_outcome_clear(out);
		backoff = backoff * 2 > BACKOFF_MAX ? BACKOFF_MAX : backoff * 2;
	}
	if (out == &none)
		storm_outcome_clear(out);
	return err;
}
