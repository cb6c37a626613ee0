/*
 * agent_gang_maps.c - keeps the maps of turns: the newest, and its predecessor,
 * which strobes may still name.  While jobs share this node, the thread that
 * takes strobes has a real-time priority, and the agent locked memory.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "slurm/slurm.h"
#include "src/common/log.h"

#include "agent_gang_private.h"
#include "agent_note.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/protocol/nm/nm.h"
#include "src/storm_agent/agent_session.h"

/* SCHED_FIFO priority.  Below the strober's, which may share a CPU with an
 * agent and must send to the other nodes first.  Above the guards'. */
#define PRIORITY 15

/* ------------------------------------------------------------- real time --- */

static int agent_gang_priority(struct agent_gang *g, bool on)
{
	struct sched_param p = { .sched_priority = on ? PRIORITY : 0 };
	int policy = on ? SCHED_FIFO | SCHED_RESET_ON_FORK : SCHED_OTHER;
	int err = pthread_setschedparam(g->thread, policy, &p);

	/* getpid(): the main loop's thread */
	if (!g->thread_takes && sched_setscheduler(getpid(), policy, &p))
		err = errno;
	return err;
}

/* Set or reset priority and locked memory: the thread that takes strobes must
 * not wait for the step that a strobe stops. */
static void agent_gang_realtime(struct agent_gang *g, bool on)
{
	int err;

	agent_gang_share(g, on);
	if (on == g->realtime)
		return;
	g->realtime = on;
	err = agent_gang_priority(g, on);
	if (!on)
		munlockall();
	else if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT))
		err = errno;
	if (err) {
		if (!g->refused)
			info("gang: no real-time priority or locked memory, strobes may be served late: %s",
			     strerror(err));
		g->refused = true;
	}
}

/* ------------------------------------------------------------------ maps --- */

void agent_gang_report_missed(struct agent_gang *g)
{
	g->told_missed = g->a->count.gang_missed;
	if (g->session)
		storm_nm_own_set(g->a->nm, g->session->id, GANG_VAR_MISSED,
				 g->told_missed);
}

/* Does the map hold a job here? */
static bool agent_gang_holds(const struct gang_map *m, uint32_t zone,
			     uint32_t self)
{
	for (uint32_t i = 0; i < m->njobs; i++)
		if (m->jobs[i].zone == zone && gang_job_held(&m->jobs[i]) &&
		    storm_idset_has(&m->jobs[i].nodes, self))
			return true;
	return false;
}

void agent_gang_maps_bind(struct agent_gang *g)
{
	bool on = turns_alternates(g->turns);

	if (on != g->realtime)
		agent_gang_realtime(g, on);
}

void agent_gang_maps_end(struct agent_gang *g)
{
	agent_gang_before(g);
	turns_close(g->turns, storm_now());
	agent_gang_do(g);
	g->holds = g->held = false;
	agent_gang_realtime(g, false);
}

void agent_gang_map(struct agent_gang *g, const void *buf, size_t len)
{
	struct gang_map map;
	uint32_t self, zone;
	int err = gang_map_unpack(buf, len, &map);

	if (!err && storm_nm_self(g->a->nm, g->session->id, &self)) {
		gang_map_clear(&map);
		return;
	}
	if (err) {
		error("gang: discarded an invalid map of turns, all jobs run: %s",
		      storm_strerror(err));
		return; /* strobes name an unknown map: all run */
	}
	/* the domain may have another owner now, or this node may have been
	 * excluded, which cleared its variables */
	agent_note_keep(g->a, g->session->id);
	agent_gang_report_missed(g);
	zone = gang_map_zone(&map, self);
	g->holds = g->held;
	g->held = agent_gang_holds(&map, zone, self);
	g->holds |= g->held;
	g->held_at = 0;
	agent_gang_lock(g);
	agent_gang_before(g);
	turns_map(g->turns, &map, gang_map_digest(buf, len), zone, self,
		  storm_now());
	agent_gang_realtime(g, turns_shares(g->turns));
	agent_gang_do(g);
	agent_gang_unlock(g);
	gang_map_clear(&map); /* of long ago */
}
