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
#include "src/storm_agent/agent_session.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/protocol/nm/nm.h"

/* SCHED_FIFO priority.  Below the strober's, which may share a CPU with an
 * agent and must send to the other nodes first.  Above the guards'. */
#define PRIORITY 15
#define NOBODY UINT32_MAX

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

static uint32_t agent_gang_jobs_here(const struct gang_known *k)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < k->map.njobs; i++)
		n += agent_gang_is_here(k, &k->map.jobs[i]);
	return n;
}

/* Does the map hold a job here? */
static bool agent_gang_holds(const struct gang_known *k)
{
	for (uint32_t i = 0; k->there && i < k->map.njobs; i++)
		if (agent_gang_is_here(k, &k->map.jobs[i]) &&
		    gang_job_held(&k->map.jobs[i]))
			return true;
	return false;
}

/* Record the map and each job's rows, so that the trace explains the slots. */
static void agent_gang_trace_map(struct agent_gang *g,
				 const struct gang_known *k, uint32_t jobs)
{
	struct gang_event e = {
		.at = storm_now(),
		.what = GANG_MAP,
		.sequence = g->number,
		.slot = g->now ? g->slot : GANG_SLOT_ALL,
		.version = k->map.version,
		.b = jobs,
		.a = k->zone == NOBODY ? 0 : k->map.zones[k->zone].rows,
	};

	gang_trace_add(g->trace, &e);
	e.what = GANG_JOB;
	for (uint32_t i = 0; i < k->map.njobs; i++) {
		const struct gang_job *j = &k->map.jobs[i];

		if (!agent_gang_is_here(k, j))
			continue;
		e.job = j->job_id;
		e.a = e.b = 0;
		for (uint32_t row = 0; row < 64; row++)
			if (storm_idset_has(&j->rows, row))
				*(row < 32 ? &e.a : &e.b) |= 1u << (row % 32);
		gang_trace_add(g->trace, &e);
	}
}

void agent_gang_maps_bind(struct agent_gang *g)
{
	bool on = g->shared && !g->alone;

	if (on != g->realtime)
		agent_gang_realtime(g, on);
}

void agent_gang_maps_end(struct agent_gang *g)
{
	g->shared = g->holds = false;
	agent_gang_realtime(g, false);
	for (int i = 0; i < 2; i++) {
		if (g->known[i].there)
			gang_map_clear(&g->known[i].map);
		g->known[i].there = false;
	}
	g->now = NULL;
}

void agent_gang_map(struct agent_gang *g, const void *buf, size_t len)
{
	struct gang_known *k = g->known, fresh = { .there = true };
	struct gang_map old;
	bool drop;
	uint32_t jobs;
	int err = gang_map_unpack(buf, len, &fresh.map);

	if (!err && storm_nm_self(g->a->nm, g->session->id, &fresh.self)) {
		gang_map_clear(&fresh.map);
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
	fresh.digest = gang_map_digest(buf, len);
	fresh.zone = gang_map_zone(&fresh.map, fresh.self);
	jobs = agent_gang_jobs_here(&fresh);
	g->holds = agent_gang_holds(&k[0]) || agent_gang_holds(&fresh);
	g->held_at = 0;
	agent_gang_lock(g);
	old = k[1].map;
	drop = k[1].there;
	k[1] = k[0];
	k[0] = fresh;
	/* strobes still name the previous map */
	if (g->now)
		g->now = g->now == &k[0] ? &k[1] : NULL;
	g->a->count.gang_maps++;
	agent_gang_trace_map(g, &k[0], jobs);
	g->shared = jobs > 0;
	g->alone = false;
	agent_gang_realtime(g, g->shared);
	if (!g->now)
		agent_gang_open(g, GANG_WHY_UNKNOWN_MAP);
	agent_gang_apply(g);
	agent_gang_unlock(g);
	if (drop)
		gang_map_clear(&old);
}
