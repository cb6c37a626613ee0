/*
 * agent_gang_held.c - proves that held jobs stand here.  The kernel says of each of
 * their steps whether it does.  If all do, this node's variable is raised to the last
 * strobe's number, which was obeyed before the kernel was asked.  So the variable
 * proves it for that time alone, and an agent that dies or stops proves nothing more.
 * The strober compares it with numbers of its own (COMPARE-AND-WRITE, paper section
 * 2.4.1).
 *
 * A node without a held job publishes nothing, as nobody asks it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "agent_gang_private.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/protocol/nm/nm.h"
#include "src/storm_agent/agent_session.h"

/* After a look that found all of them standing by the newest map, or none to be
 * stopped; and after another one.  The strober takes a proof of the last second. */
#define PROVEN (200 * STORM_MS)
#define SOON (20 * STORM_MS)
/* If a step still moves so long after it was stopped, somebody else continued it. */
#define SETTLES (200 * STORM_MS)

/* With signals the list of processes belongs to the thread that stops them,
 * too. */
static bool agent_gang_held_settled(struct agent_gang *g, struct gang_local *l)
{
	bool lock = l->step.kind == FREEZER_SIGNALS, settled;

	if (lock)
		agent_gang_lock(g);
	settled = freezer_settled(l->f);
	if (lock)
		agent_gang_unlock(g);
	return settled;
}

/* Is the step none of a held job's, or does it stand?  A batch script may run for the
 * sake of its steps. */
static bool agent_gang_held_stands(struct agent_gang *g, struct gang_local *l,
				   uint64_t now)
{
	bool asks, stopped, settled;
	uint64_t since;

	agent_gang_lock(g);
	asks = turns_step_must_stand(g->turns, l->turns);
	stopped = turns_step_stands(l->turns);
	since = turns_step_stopped_at(l->turns);
	agent_gang_unlock(g);
	if (!asks)
		return true;
	if (!stopped)
		return false;
	settled = agent_gang_held_settled(g, l);
	if (!settled && now > since + SETTLES) {
		agent_gang_lock(g);
		agent_gang_before(g);
		turns_saw_doubt(g->turns, l->turns, true, storm_now());
		agent_gang_do(g);
		agent_gang_unlock(g);
	}
	return settled;
}

uint64_t agent_gang_held_look(struct agent_gang *g, uint64_t now)
{
	bool strobed, newest, all = true;
	uint64_t number, opened;

	if (!g->holds || !g->session)
		return STORM_NEVER;
	if (now < g->held_at)
		return g->held_at;
	agent_gang_lock(g);
	strobed = turns_strobed(g->turns, &newest);
	number = turns_acted(g->turns);
	opened = g->a->count.gang_opened;
	agent_gang_unlock(g);
	for (struct gang_local *l = g->steps; l; l = l->next)
		all &= agent_gang_held_stands(g, l, now);
	/* or everything may have run meanwhile */
	agent_gang_lock(g);
	strobed &= g->a->count.gang_opened == opened;
	agent_gang_unlock(g);
	if (strobed && all)
		storm_nm_own_set(g->a->nm, g->session->id, GANG_VAR_HELD,
				 number);
	g->held_at = now + (!strobed || (newest && all) ? PROVEN : SOON);
	return g->held_at;
}
