/*
 * agent_gang_agreed.c - begins slots at the agreed time (gang_agreed.h), in the
 * thread that takes strobes.
 *
 * The thread sleeps until then, or with a CPU of its own until shortly before,
 * and is awake from then on: an idle CPU takes long to wake up.  If the time is
 * near, it hears nothing else meanwhile (gang_agreed_deaf()).  Else it takes other
 * strobes, and passes them on; one that counts at once cancels what waits.  So does
 * all that lets everything run.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "slurm/slurm.h"

#include "agent_gang_private.h"

/* On a CPU that runs jobs waiting awake costs them more than nodes that switch
 * together give. */
#define AWAKE_OWN_CPU (100 * STORM_US)

void agent_gang_agreed_woke(struct agent_gang *g, uint64_t late)
{
	gang_agreed_woke(&g->agreed, late, g->a->poll ? AWAKE_OWN_CPU : 0);
}

/* No strobe has come.  A newer map may have other slots. */
static bool agent_gang_agreed_goes_on(struct agent_gang *g,
				      const struct gang_known *k)
{
	if (!g->now || k != &g->known[0])
		return false;
	g->a->count.gang_planned++;
	agent_gang_trace(g, GANG_PLANNED, NULL, 0, 0);
	return true;
}

void agent_gang_agreed_act(struct agent_gang *g, uint64_t now)
{
	const struct gang_known *k;
	struct gang_strobe st;
	uint64_t number;
	bool by_plan;

	if (!gang_agreed_take(&g->agreed, now, &st, &number, &by_plan))
		return;
	k = agent_gang_map_meant(g, &st);
	if (!k || st.slot >= k->map.zones[k->zone].rows) {
		agent_gang_open(g, GANG_WHY_UNKNOWN_MAP);
		return;
	}
	/* without one agent_gang_until() lets everything run */
	if (!agent_gang_slurmd_is_there(g, now))
		return;
	if (by_plan && !agent_gang_agreed_goes_on(g, k))
		return;
	g->a->count.gang_agreed++;
	agent_gang_begin_slot(g, k, st.slot, number);
}
