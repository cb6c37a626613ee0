/*
 * agent_gang_fill.c - flexible coscheduling (paper section 3.2): others fill what the
 * steps in their turn leave idle.  Each node decides alone, by who sleeps here
 * (gang_class.h), so it costs no message.
 *
 * A step that never sleeps has its turns to itself: a switch to another and back
 * takes from it what nobody gives back.  The fillers run only while no process of
 * those in turn wants the CPU (freezer_fill()).  They are stopped first, and those
 * in turn are continued: only so the kernel switches at once.
 *
 * MPI that spins for peers never sleeps either.  gang_grain.h tells it from a program
 * that computes, which can use all of a gap: then that one has it alone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "agent_gang_private.h"

static bool agent_gang_fill_in_turn(const struct agent_gang *g,
				    const struct gang_local *l)
{
	const struct gang_job *j = agent_gang_job_in(g->now, l->step.job);

	return j && storm_idset_has(&j->rows, g->slot) && !l->skips;
}

/* Which cores a job has the map does not show.  So all that are in turn here must
 * sleep, each in a group beside the fillers'. */
bool agent_gang_fill_may(const struct agent_gang *g)
{
	if (!g->now || !agent_gang_is_flexible(g->now))
		return false;
	for (const struct gang_local *l = g->steps; l; l = l->next)
		if (agent_gang_fill_in_turn(g, l) &&
		    (!l->class.sleeps || !freezer_can_fill(l->f)))
			return false;
	return true;
}

/* It never sleeps, and wants its peers: in a gap of this node it mostly spins. */
static bool agent_gang_fill_spins(const struct gang_local *l)
{
	return l->grain.fine && !l->class.sleeps;
}

/* The next turn of `l` is to be measured, just as it is. */
static bool agent_gang_fill_is_probed(const struct gang_local *l)
{
	return l->turn_at && l->class.probe;
}

bool agent_gang_fill_takes(const struct agent_gang *g,
			   const struct gang_local *l)
{
	if (!agent_gang_fill_spins(l))
		return true;
	for (const struct gang_local *o = g->steps; o; o = o->next)
		if (freezer_held(o->f) && freezer_can_fill(o->f) &&
		    !o->class.sleeps && !agent_gang_fill_spins(o) &&
		    !agent_gang_fill_is_probed(o))
			return false;
	return true;
}

/* If it has stood since its last turn, what it had then is exact now. */
void agent_gang_fill_turn(struct gang_local *l)
{
	if (l->turn_at && !l->turn)
		return; /* it goes on */
	if (l->turn_at)
		agent_gang_naps_end(l, true);
	agent_gang_naps_begin(l);
}

bool agent_gang_fill_begins(struct gang_local *l)
{
	if (agent_gang_fill_is_probed(l))
		return false;
	if (l->turn_at)
		agent_gang_naps_end(l, false);
	return true;
}

void agent_gang_fill_turns_over(struct agent_gang *g)
{
	for (struct gang_local *l = g->steps; l; l = l->next)
		if (l->turn_at && !l->turn && !agent_gang_fill_in_turn(g, l))
			l->turn = storm_now() - l->turn_at;
}
