/*
 * agent_gang_turns.c - obeys strobes (paper section 2.2, the Node Manager;
 * doc/gang-scheduling.md, A node's side).  Each strobe stops the steps of jobs
 * that do not run in its slot, and continues the others.
 *
 * A step is stopped only while slurmd is there and the last strobe has not
 * expired.  That strobe must name a known map, and the job must be in that map
 * and in the newest one.  Otherwise the step runs ("fail open").  If this
 * process dies or is stopped, slurmd's plugin continues the steps
 * (gang_guard.c).  After a stop this process obeys no strobe that was sent
 * before it continued.
 *
 * A stopped step for which a signal of root's waits, such as scancel's SIGTERM,
 * runs to the end of its next slot, to handle it.  A job that is held has none, so its
 * steps run for a moment.  They also stand while a debugger traces them, but for the
 * moment in which it attaches: it looks at a job that does not move.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "slurm/slurm.h"
#include "src/common/log.h"
#include "src/common/read_config.h"

#include "agent_gang.h"
#include "agent_gang_private.h"
#include "agent_poll.h"
#include "src/storm_agent/agent_session.h"
#include "src/storm_common/proc_state.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"

/* slurmd gives a sign of life each time it checks the page.  If the last one is
 * older than SLURMD_SIGN, check slurmd's state every SLURMD_EVERY. */
#define SLURMD_SIGN (50 * STORM_MS)
#define SLURMD_EVERY (25 * STORM_MS)
/* Wake up so long before a strobe expires, to continue all steps in time. */
#define WAKE_TIME (15 * STORM_MS)
/* The same for slurmd, which checks our sign of life at intervals. */
#define GUARD_TIME (35 * STORM_MS)
/* So long a new step may be before exec(). */
#define STARTING (5 * STORM_SEC)

/* ----------------------------------------------------------------- trace --- */

void agent_gang_trace(struct agent_gang *g, enum gang_what what,
		      const struct gang_local *l, uint32_t a, uint32_t b)
{
	struct gang_event e = {
		.at = storm_now(),
		.what = what,
		.a = a,
		.b = b,
		/* a strobe that waited may not be the last one any more */
		.sequence = what == GANG_SLOT ? g->turn : g->number,
		.slot = g->now ? g->slot : GANG_SLOT_ALL,
		.version = g->now ? g->now->map.version : 0,
	};

	if (l) {
		e.job = l->step.job;
		e.step = l->step.step;
	}
	gang_trace_add(g->trace, &e);
}

/* ------------------------------------------------------- stop and continue --- */

static void agent_gang_step_failed(struct gang_local *l, const char *what,
				   int err)
{
	/* the group of a step that ends may be gone */
	if (l->told || err == ENODEV || err == ENOENT)
		return;
	l->told = true;
	error("gang: step %s cannot be %s: %s", l->name, what, strerror(err));
}

void agent_gang_step_stop(struct agent_gang *g, struct gang_local *l,
			  bool again)
{
	bool was = freezer_stopped(l->f);
	uint64_t begun;
	int err;

	if (was && !again)
		return;
	begun = agent_gang_bill_begin(l);
	err = gang_stand_stop(g->page, l->mark, l->f, again);
	if (err)
		agent_gang_step_failed(l, "stopped", err);
	if (!was) {
		agent_gang_bill_end(&l->stop_cost, begun);
		l->stops++;
		l->stopped = storm_now();
		g->a->count.gang_stops++;
		if (g->look_at > l->stopped + AGENT_GANG_LOOK)
			agent_gang_news(g);
		agent_gang_trace(g, GANG_STOP, l, 0, 0);
	}
}

static void agent_gang_step_release(struct agent_gang *g, struct gang_local *l,
				    enum gang_why why)
{
	uint64_t begun;
	int err;

	begun = agent_gang_bill_begin(l);
	err = gang_stand_continue(g->page, l->mark, l->f);
	agent_gang_bill_end(&l->continue_cost, begun);
	if (err)
		agent_gang_step_failed(l, "continued", err);
	/* what still stands is tried again at the next strobe, or look */
	if (!freezer_held(l->f))
		agent_gang_trace(g, GANG_CONTINUE, l, why, 0);
}

/* Its tasks go on to exec, if all of them wait.  The main loop, which hears of that
 * by the shut socket, does the rest (agent_gang_doors.c). */
static void agent_gang_step_start(struct agent_gang *g, struct gang_local *l,
				  enum gang_why why)
{
	struct gang_door *d = l->door;

	if (!d || !d->met || d->opened)
		return;
	d->opened = storm_now();
	agent_gang_trace(g, GANG_START, l, why,
			 storm_min((d->opened - d->met) / STORM_US,
				   UINT32_MAX));
	shutdown(d->io.fd, SHUT_RDWR);
}

void agent_gang_step_continue(struct agent_gang *g, struct gang_local *l,
			      enum gang_why why)
{
	if (freezer_held(l->f))
		agent_gang_step_release(g, l, why);
	agent_gang_step_start(g, l, why);
}

/* For the guards it is a stopped one. */
static void agent_gang_step_fill_now(struct agent_gang *g, struct gang_local *l)
{
	int err = freezer_fill(l->f);

	if (err) {
		agent_gang_step_failed(l, "let fill gaps", err);
		return;
	}
	g->a->count.gang_fills++;
	agent_gang_trace(g, GANG_CONTINUE, l, GANG_WHY_FILLS, 0);
	agent_gang_step_start(g, l, GANG_WHY_FILLS);
}

static void agent_gang_step_fill(struct agent_gang *g, struct gang_local *l)
{
	if (!agent_gang_fill_takes(g, l)) {
		agent_gang_step_stop(g, l, false);
		return;
	}
	if (!freezer_stopped(l->f) || !freezer_can_fill(l->f) ||
	    agent_gang_is_held(g, l) || !agent_gang_fill_begins(l))
		return;
	agent_gang_step_fill_now(g, l);
}

void agent_gang_open(struct agent_gang *g, enum gang_why why)
{
	bool any = false;

	for (struct gang_local *l = g->steps; l; l = l->next) {
		l->turn_at = 0;
		agent_gang_bill_open(l);
		any |= freezer_held(l->f);
		agent_gang_step_continue(g, l, why);
	}
	if (g->now || any) {
		g->a->count.gang_opened++;
		agent_gang_trace(g, GANG_OPEN, NULL, why, 0);
	}
	g->now = NULL;
	gang_agreed_cancel(&g->agreed);
}

bool agent_gang_job_has_steps(const struct agent_gang *g, uint32_t job)
{
	for (const struct gang_local *l = g->steps; l; l = l->next)
		if (l->step.job == job && !l->step.script)
			return true;
	return false;
}

/* A batch script runs while it has srun, which carries the output of steps.
 * With a long quantum it always runs: its Slurm commands would time out. */
static bool agent_gang_script_runs(const struct agent_gang *g,
				   const struct gang_local *l)
{
	return l->has_srun || agent_gang_job_has_steps(g, l->step.job) ||
	       g->now->map.zones[g->now->zone].quantum >=
		       slurm_conf.msg_timeout * STORM_SEC / 4;
}

/* Not for long: its processes may run slurmstepd's program again by themselves. */
static bool agent_gang_step_is_starting(struct gang_local *l)
{
	l->starting = l->starting && storm_now() < l->began + STARTING &&
		      freezer_starting(l->f);
	return l->starting;
}

/* Does it run for this reason, although it has no turn? */
static bool agent_gang_why_is_outside(enum gang_why why)
{
	return why == GANG_WHY_SIGNAL || why == GANG_WHY_DEBUGGER ||
	       why == GANG_WHY_STARTING || why == GANG_WHY_SCRIPT;
}

/* It owes a turn: it has only what nobody else wants.  A script that cannot have that
 * stands; what else there is may have to answer somebody. */
static bool agent_gang_step_gives_way(const struct agent_gang *g,
				      const struct gang_local *l,
				      enum gang_why why)
{
	if (!l->gives_way || !agent_gang_why_is_outside(why) ||
	    why == GANG_WHY_STARTING)
		return false;
	return why == GANG_WHY_SCRIPT ||
	       (freezer_can_fill(l->f) && !agent_gang_is_held(g, l));
}

enum gang_why agent_gang_step_runs(struct agent_gang *g, struct gang_local *l)
{
	const struct gang_job *j = agent_gang_job_in(g->now, l->step.job);

	if (!j || !agent_gang_job_in(&g->known[0], l->step.job))
		return GANG_WHY_NOT_IN_MAP;
	if (storm_idset_has(&j->rows, g->slot) && !l->skips) {
		l->granted = false;
		return GANG_WHY_SLOT;
	}
	if (l->granted && gang_job_held(j) && storm_now() >= l->granted_until)
		l->granted = false;
	if (l->granted)
		return GANG_WHY_SIGNAL;
	if (l->fills)
		return GANG_WHY_SPARE;
	if (l->traced && (l->attaching || !gang_job_held(j)))
		return GANG_WHY_DEBUGGER;
	/* Slurm may send no signal to a task before its exec(), unless it waits
	 * at the door (step_door.c) */
	if (l->door && !l->door->met)
		return GANG_WHY_STARTING;
	if (agent_gang_step_is_starting(l))
		return GANG_WHY_STARTING;
	if (l->step.script && agent_gang_script_runs(g, l))
		return GANG_WHY_SCRIPT;
	return 0;
}

/* Record a new slot, if this node has steps. */
static void agent_gang_trace_slot(struct agent_gang *g)
{
	if (!g->steps ||
	    (g->told_version == g->now->map.version && g->told_slot == g->slot))
		return;
	g->told_version = g->now->map.version;
	g->told_slot = g->slot;
	agent_gang_trace(g, GANG_SLOT, NULL, 0, 0);
}

/* Find who pays with this turn. */
static void agent_gang_slot_begins(struct agent_gang *g)
{
	agent_gang_trace_slot(g);
	agent_gang_bill_slot(g);
	for (struct gang_local *l = g->steps; l; l = l->next)
		if (l->skips)
			agent_gang_trace(g, GANG_PAYS, l, l->share,
					 l->cost / STORM_US);
}

static bool agent_gang_step_may_stay(const struct agent_gang *g,
				     const struct gang_local *l, bool fill,
				     enum gang_why why)
{
	if (!freezer_fills(l->f))
		return false;
	return agent_gang_step_gives_way(g, l, why) ||
	       (fill && !agent_gang_is_held(g, l));
}

static void agent_gang_stop_all(struct agent_gang *g, bool fill, bool again)
{
	enum gang_why why;

	for (struct gang_local *l = g->steps; l; l = l->next) {
		why = agent_gang_step_runs(g, l);
		if (why && !agent_gang_step_gives_way(g, l, why))
			continue;
		if (again || !agent_gang_step_may_stay(g, l, fill, why))
			agent_gang_step_stop(g, l, again);
	}
}

static void agent_gang_continue_all(struct agent_gang *g, bool flexible)
{
	enum gang_why why;

	for (struct gang_local *l = g->steps; l; l = l->next) {
		why = agent_gang_step_runs(g, l);
		if (!why || agent_gang_step_gives_way(g, l, why))
			continue;
		if (flexible && why == GANG_WHY_SLOT)
			agent_gang_fill_turn(l);
		agent_gang_step_continue(g, l, why);
		if (agent_gang_why_is_outside(why))
			agent_gang_bill_outside(g, l);
	}
}

static void agent_gang_fill_all(struct agent_gang *g, bool fill)
{
	enum gang_why why;

	for (struct gang_local *l = g->steps; l; l = l->next) {
		why = agent_gang_step_runs(g, l);
		if (fill && !why)
			agent_gang_step_fill(g, l);
		else if (agent_gang_step_gives_way(g, l, why) &&
			 freezer_stopped(l->f) && freezer_can_fill(l->f))
			agent_gang_step_fill_now(g, l);
	}
}

/* First stop, then continue, so that no two jobs run at once.  A guard that has
 * continued steps has also ended their filling: `again` stops them. */
void agent_gang_apply(struct agent_gang *g)
{
	uint32_t freed = g->page->freed;
	bool again = freed != g->freed, flexible, fill;

	if (again) {
		g->freed = freed;
		agent_gang_trace(g, GANG_OPEN, NULL, GANG_WHY_FREED, 0);
	}
	if (!g->now)
		return;
	agent_gang_trace_slot(g);
	flexible = agent_gang_is_flexible(g->now);
	fill = flexible && agent_gang_fill_may(g);
	agent_gang_stop_all(g, fill, again);
	agent_gang_continue_all(g, flexible);
	if (flexible)
		agent_gang_fill_turns_over(g);
	agent_gang_fill_all(g, fill);
	g->page->alive = storm_now();
}

/* --------------------------------------------------------------- strobes --- */

const struct gang_known *agent_gang_map_meant(const struct agent_gang *g,
					      const struct gang_strobe *s)
{
	for (int i = 0; i < 2; i++)
		if (g->known[i].there && g->known[i].digest == s->digest &&
		    g->known[i].map.version == s->version)
			return &g->known[i];
	return NULL;
}

static void agent_gang_count_missed(struct agent_gang *g, uint64_t number)
{
	uint64_t missed = number - g->number - 1;

	/* unknown for the first strobe of all, or of an epoch */
	if ((g->now || g->was_away) && missed &&
	    number >> 32 == g->number >> 32) {
		g->a->count.gang_missed += missed;
		g->number = number;
		agent_gang_news(g);
		agent_gang_trace(g, GANG_MISSED, NULL, missed, 0);
	}
	g->number = number;
	g->was_away = false;
	g->a->count.gang_strobes++;
}

uint64_t agent_gang_slurmd_due(const struct agent_gang *g)
{
	return storm_max(g->page->watched + SLURMD_SIGN, g->slurmd_at);
}

bool agent_gang_slurmd_is_there(struct agent_gang *g, uint64_t now)
{
	if (now >= agent_gang_slurmd_due(g)) {
		g->slurmd_stands = proc_stopped(g->a->slurmd.pid);
		g->slurmd_at = now + SLURMD_EVERY;
	} else if (now < g->page->watched + SLURMD_SIGN) {
		g->slurmd_stands = false;
	}
	return g->a->slurmd.lifelines && !g->slurmd_stands;
}

/* slurmd looks at the page when it is told, so that it guards what stops next. */
void agent_gang_share(struct agent_gang *g, bool sharing)
{
	if (!gang_page_share(g->page, NULL, g->a->node, sharing))
		return;
	g->a->slurmd.look = true;
	agent_gang_news(g);
}

void agent_gang_begin_slot(struct agent_gang *g, const struct gang_known *k,
			   uint32_t slot, uint64_t number)
{
	if (g->now != k || g->slot != slot) {
		g->now = k;
		g->slot = slot;
		g->turn = number;
		g->a->count.gang_slots++;
		agent_gang_slot_begins(g);
	}
	/* before a step stops the guards must watch */
	agent_gang_share(g, g->shared);
	agent_gang_apply(g);
	g->acted = number;
}

void agent_gang_obey(struct agent_gang *g, uint64_t number, const void *buf,
		     size_t len, uint64_t received)
{
	const struct gang_known *k;
	struct gang_strobe st;
	uint64_t limit;

	if (gang_strobe_unpack(&st, buf, len))
		return;
	agent_gang_count_missed(g, number);
	gang_agreed_clock(&g->agreed, number, &st, received);
	k = agent_gang_map_meant(g, &st);
	if (!k) {
		/* a map without sharing is never sent */
		g->alone |= st.slot == GANG_SLOT_ALL;
		agent_gang_open(g, GANG_WHY_UNKNOWN_MAP);
		return;
	}
	if (st.zone != k->zone || !agent_gang_slurmd_is_there(g, storm_now()))
		return;
	g->heard = storm_now();
	g->alone = st.slot == GANG_SLOT_ALL;
	if (st.slot >= k->map.zones[k->zone].rows) {
		agent_gang_open(g, st.slot == GANG_SLOT_ALL ?
					   GANG_WHY_ALL :
					   GANG_WHY_UNKNOWN_MAP);
		return;
	}
	limit = gang_silence(k->map.zones[k->zone].quantum);
	g->silence = limit - WAKE_TIME;
	g->page->limit = limit - GUARD_TIME;
	if (gang_agreed_hear(&g->agreed, number, &st, received, g->heard))
		return; /* the next one will be in time, too */
	agent_gang_begin_slot(g, k, st.slot, number);
	agent_poll_expect(g->a, g->heard, k->map.zones[k->zone].quantum);
}

uint64_t agent_gang_until(struct agent_gang *g, uint64_t now)
{
	uint64_t end;

	g->page->alive = now;
	if (!g->page->stopped && !g->now)
		return STORM_NEVER;
	end = g->heard + g->silence;
	if (now < end && agent_gang_slurmd_is_there(g, now))
		return end;
	agent_gang_open(g, now >= end ? GANG_WHY_SILENCE : GANG_WHY_NO_SLURMD);
	return STORM_NEVER;
}

void agent_gang_no_slurmd(struct agent *a)
{
	if (!a->gang)
		return;
	agent_gang_lock(a->gang);
	agent_gang_open(a->gang, GANG_WHY_NO_SLURMD);
	agent_gang_unlock(a->gang);
}

void agent_gang_return(struct agent_gang *g)
{
	g->was_away |= g->now != NULL;
	agent_gang_open(g, GANG_WHY_RETURNED);
}
