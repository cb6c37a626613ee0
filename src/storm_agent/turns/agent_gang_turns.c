/*
 * agent_gang_turns.c - does what turns.h decides: stops and continues steps, and
 * tells what came of it.  Here are the clock, the freezers, the page that the guards
 * read (gang_guard.c), and slurmd.
 *
 * If this process dies or is stopped, slurmd's plugin continues the steps.  After a
 * stop this process obeys no strobe that was sent before it continued.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "slurm/slurm.h"
#include "src/common/log.h"
#include "src/common/read_config.h"

#include "agent_gang.h"
#include "agent_gang_private.h"
#include "agent_poll.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/storm_agent/agent_session.h"
#include "src/storm_common/proc_state.h"

/* slurmd gives a sign of life each time it checks the page.  If the last one is
 * older than SLURMD_SIGN, check slurmd's state every SLURMD_EVERY. */
#define SLURMD_SIGN (50 * STORM_MS)
#define SLURMD_EVERY (25 * STORM_MS)
/* On a CPU that runs jobs waiting awake costs them more than nodes that switch
 * together give. */
#define AWAKE_OWN_CPU (100 * STORM_US)

/* -------------------------------------------------------------------- acts --- */

static void agent_gang_trace_at(struct agent_gang *g,
				const struct gang_event *e, uint64_t at)
{
	struct gang_event then = *e;

	then.at = at;
	gang_trace_add(g->trace, &then);
}

void agent_gang_trace(struct agent_gang *g, const struct gang_event *e)
{
	agent_gang_trace_at(g, e, storm_now());
}

static uint64_t agent_gang_cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * STORM_SEC + t.tv_nsec;
}

/* How an order to a step ended. */
static void agent_gang_step_tell(struct gang_local *l, enum gang_order order,
				 const char *what, int err)
{
	if (gang_refused(&l->refusals, order, err, storm_now()))
		error("gang: step %s cannot be %s: %s", l->name, what,
		      strerror(err));
}

/* The host's lack was said at the start (agent_gang.c). */
static void agent_gang_no_yield(struct agent_gang *g, struct gang_local *l)
{
	if (l->told_stands || freezer_can_fill(l->f) ||
	    (!*g->host.idle && !g->host.idle_job) ||
	    !turns_step_should_yield(g->turns, l->turns))
		return;
	l->told_stands = true;
	info("gang: step %s is stopped out of its turns and does not yield: it has no control group with cpu.idle",
	     l->name);
}

static void agent_gang_do_stop(struct agent_gang *g, struct gang_local *l,
			       const struct turns_act *act)
{
	uint64_t begun = act->noted && turns_cost_wanted(act) ?
				 agent_gang_cpu_time() :
				 0;
	int err = gang_stand_stop(g->page, l->mark, l->f, act->again);

	agent_gang_step_tell(l, GANG_ORDER_STOP, "stopped", err);
	if (begun)
		turns_cost(act->step, act->verb, agent_gang_cpu_time() - begun);
	if (act->noted && g->look_at > storm_now() + AGENT_GANG_LOOK)
		agent_gang_news(g);
	if (act->noted)
		agent_gang_no_yield(g, l);
}

/* False: it still stands.  That is tried again at the next strobe, or look. */
static bool agent_gang_do_continue(struct agent_gang *g, struct gang_local *l,
				   const struct turns_act *act)
{
	uint64_t begun = turns_cost_wanted(act) ? agent_gang_cpu_time() : 0;
	int err;

	if (g->host.idle_job)
		freezer_share_idle(l->f, act->beside);
	err = gang_stand_continue(g->page, l->mark, l->f);
	if (begun)
		turns_cost(act->step, act->verb, agent_gang_cpu_time() - begun);
	agent_gang_step_tell(l, GANG_ORDER_CONTINUE, "continued", err);
	return !freezer_held(l->f);
}

static bool agent_gang_do_fill(struct agent_gang *g, struct gang_local *l)
{
	int err = gang_stand_fill(g->page, l->mark, l->f);

	agent_gang_step_tell(l, GANG_ORDER_FILL, "let give way", err);
	/* in a group that is gone nobody runs */
	return !err || err == ENODEV;
}

/* Its tasks go on to exec.  The main loop, which hears of that by the shut socket,
 * does the rest (agent_gang_doors.c). */
static void agent_gang_do_start(struct gang_local *l)
{
	struct gang_door *d = l->door;

	if (!d || d->opened)
		return;
	d->opened = storm_now();
	shutdown(d->io.fd, SHUT_RDWR);
}

static void agent_gang_do_use(struct gang_local *l)
{
	uint64_t ns = 0;
	bool known = freezer_used(l->f, &ns);

	turns_used(l->turns, ns, known);
}

/* False: it has failed. */
static bool agent_gang_do_one(struct agent_gang *g, const struct turns_act *act)
{
	struct gang_local *l;

	if (act->verb == TURNS_NOTE) {
		if (act->event.what == GANG_MISSED)
			agent_gang_news(g);
		return true;
	}
	l = turns_step_owner(act->step);
	switch (act->verb) {
	case TURNS_NOTE:
		break;
	case TURNS_STOP:
		agent_gang_do_stop(g, l, act);
		break;
	case TURNS_CONTINUE:
		return agent_gang_do_continue(g, l, act);
	case TURNS_FILL:
		return agent_gang_do_fill(g, l);
	case TURNS_START:
		/* the act before, which was to let it run, has failed */
		if (turns_step_stands(act->step))
			return false;
		agent_gang_do_start(l);
		break;
	case TURNS_USE:
		agent_gang_do_use(l);
		break;
	case TURNS_LOOK:
		if (!freezer_starting(l->f))
			turns_started(act->step);
		break;
	case TURNS_BEGIN:
		agent_gang_naps_begin(l);
		break;
	case TURNS_END:
		agent_gang_naps_end(l, act);
		break;
	}
	return true;
}

static void agent_gang_counts(struct agent_gang *g)
{
	const struct turns_count *c = turns_counted(g->turns);
	struct agent_count *out = &g->a->count;

	out->gang_steps = c->steps;
	out->gang_maps = c->maps;
	out->gang_strobes = c->strobes;
	out->gang_missed = c->missed;
	out->gang_slots = c->slots;
	out->gang_stops = c->stops;
	out->gang_opened = c->opened;
	out->gang_fills = c->fills;
	out->gang_agreed = c->agreed;
	out->gang_planned = c->planned;
}

void agent_gang_before(struct agent_gang *g)
{
	uint32_t freed = g->page->freed;

	if (freed != g->freed)
		turns_freed(g->turns);
	g->freed = freed;
}

void agent_gang_do(struct agent_gang *g)
{
	const struct turns_act *act;
	size_t n;

	do {
		act = turns_acts(g->turns, &n);
		for (size_t i = 0; i < n; i++) {
			/* A task can run before what lets it run returns. */
			uint64_t at = act[i].verb == TURNS_START ? storm_now() :
								   0;

			if (!agent_gang_do_one(g, &act[i]))
				turns_failed(g->turns, &act[i]);
			else if (act[i].noted)
				agent_gang_trace_at(g, &act[i].event,
						    at ? at : storm_now());
		}
	} while (turns_more(g->turns, storm_now()));
	agent_gang_counts(g);
	g->page->alive = storm_now();
}

void agent_gang_open(struct agent_gang *g, enum gang_why why)
{
	agent_gang_before(g);
	turns_open(g->turns, why, storm_now());
	agent_gang_do(g);
}

void agent_gang_decide(struct agent_gang *g)
{
	agent_gang_before(g);
	turns_decide(g->turns, storm_now());
	agent_gang_do(g);
}

/* --------------------------------------------------------------- strobes --- */

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

void agent_gang_obey(struct agent_gang *g, uint64_t number, const void *buf,
		     size_t len, uint64_t received)
{
	uint64_t now = storm_now();
	struct gang_strobe st;
	bool begins;

	if (gang_strobe_unpack(&st, buf, len))
		return;
	agent_gang_before(g);
	begins = turns_strobe(g->turns, number, &st, received,
			      agent_gang_slurmd_is_there(g, now), now);
	g->page->limit = turns_limit(g->turns);
	if (begins) /* before a step stops the guards must watch */
		agent_gang_share(g, turns_shares(g->turns));
	agent_gang_do(g);
	if (begins)
		agent_poll_expect(g->a, now, turns_quantum(g->turns));
}

void agent_gang_agreed(struct agent_gang *g)
{
	uint64_t now = storm_now();

	agent_gang_before(g);
	if (turns_agreed(g->turns, agent_gang_slurmd_is_there(g, now), now))
		agent_gang_share(g, turns_shares(g->turns));
	agent_gang_do(g);
}

void agent_gang_woke(struct agent_gang *g, uint64_t late)
{
	gang_agreed_woke(turns_agreed_time(g->turns), late,
			 g->a->poll ? AWAKE_OWN_CPU : 0);
}

uint64_t agent_gang_until(struct agent_gang *g)
{
	/* under the lock: turns.h wants times in order, from both threads */
	uint64_t now = storm_now(), next;

	if (turns_late_at(g->turns) == STORM_NEVER) {
		g->page->alive = now;
		return STORM_NEVER;
	}
	agent_gang_before(g);
	next = turns_late(g->turns, agent_gang_slurmd_is_there(g, now), now);
	agent_gang_do(g);
	return next;
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
	agent_gang_before(g);
	turns_returned(g->turns, storm_now());
	agent_gang_do(g);
}
