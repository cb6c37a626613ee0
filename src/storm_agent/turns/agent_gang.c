/*
 * agent_gang.c - starts and ends this node's part in gang scheduling: chooses
 * how to stop steps, follows the cluster domain's session, drives the timers.
 * agent_gang_private.h lists the other files.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "agent_gang.h"
#include "agent_gang_private.h"
#include "agent_note.h"
#include "agent_strobe.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/storm_agent/agent_session.h"
#include "src/storm_common/no_gang.h"

#define SLURMD_LOOK STORM_SEC /* alone.h */

/* True: Slurm makes control groups for steps. */
static bool agent_gang_slurm_has_groups(void)
{
	return xstrstr(slurm_conf.proctrack_type, "cgroup") ||
	       xstrstr(slurm_conf.task_plugin, "cgroup") ||
	       xstrstr(slurm_conf.job_acct_gather_type, "cgroup");
}

/*
 * A process has one group in a hierarchy.  So if all groups are of version 2
 * and Slurm makes groups, use Slurm's.  Slurm's freezers of version 1 hold
 * slurmstepd, too, which must not stop: then use signals.
 */
static int agent_gang_find_host(struct agent *a, struct freezer_host *h)
{
	enum freezer_kind wish = freezer_kind_of(a->conf.freezer);

	if ((wish == FREEZER_NONE || wish == FREEZER_V2) &&
	    freezer_host_pure() && agent_gang_slurm_has_groups()) {
		int err = freezer_host_borrow(h);

		if (!err || wish == FREEZER_V2)
			return err;
		wish = FREEZER_SIGNALS;
	}
	if (wish == FREEZER_V1 &&
	    !xstrcmp(slurm_conf.proctrack_type, "proctrack/cgroup"))
		wish = FREEZER_SIGNALS;
	return freezer_host_find(h, wish, a->node);
}

/* Where steps can give way.  Without that flexible is as gang here, and a script that
 * owes turns stands. */
static void agent_gang_find_idle(struct agent *a, struct freezer_host *h)
{
	int err = freezer_host_find_idle(
		h, a->node, xstrstr(slurm_conf.job_acct_gather_type, "cgroup"));

	if (err && (storm_conf_gives_way(&a->conf.gang) || a->conf.gang_yield))
		info("gang scheduling: no job gives way to others on this node, Policy=flexible and yield are as gang: no control group with cpu.idle: %s",
		     strerror(err));
}

/* The main loop, which has no real-time priority, must not keep the thread that
 * has one waiting behind a job. */
static void agent_gang_lock_init(struct agent_gang *g)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&g->lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

/* From now on new steps leave records (gang_step.h).  NULL and errno. */
static struct gang_page *agent_gang_page_make(struct agent *a)
{
	static struct freezer_host host; /* large */
	int err = agent_gang_find_host(a, &host);

	if (err) {
		errno = err;
		return NULL;
	}
	agent_gang_find_idle(a, &host);
	agent_gang_groups_clear(host.base);
	agent_gang_groups_clear(host.idle);
	return gang_page_create(NULL, a->node, &host, a->conf.gang_debug);
}

/* It is made once, and stays if the rest fails: so steps can take turns when that no
 * longer does.  NULL and errno: there is none, also none of an earlier agent. */
static struct gang_page *agent_gang_page(struct agent *a)
{
	static struct gang_page *page;
	int err;

	if (!page)
		page = agent_gang_page_make(a);
	err = errno;
	if (!page)
		gang_page_remove(NULL, a->node);
	errno = err;
	return page;
}

/* Take part.  0 or an errno. */
static int agent_gang_begin(struct agent *a)
{
	struct agent_gang *g = xmalloc(sizeof(*g));
	int err = gang_step_dir(NULL, a->node, true, &g->dir);

	g->a = a;
	agent_gang_lock_init(g);
	if (!err)
		gang_step_thaw_all(g->dir, true, NULL);
	errno = err;
	g->page = err ? NULL : agent_gang_page(a);
	g->trace = g->page ? gang_trace_create(NULL, a->node) : NULL;
	if (!g->trace) {
		err = errno;
		goto fail;
	}
	g->host = g->page->host;
	/* longer turns would keep a script's Slurm commands for too long */
	g->turns = turns_create(slurm_conf.msg_timeout * STORM_SEC / 4);
	err = g->turns ? agent_strobe_start(g) : ENOMEM;
	if (err)
		goto fail;
	a->gang = g;
	agent_gang_lock(g);
	agent_gang_trace(g, &(struct gang_event) {
				    .what = GANG_BEGIN,
				    .a = getpid(),
				    .slot = GANG_SLOT_ALL,
			    });
	agent_gang_unlock(g);
	agent_gang_steps_list(g);
	info("gang scheduling: steps are stopped by %s%s%s",
	     freezer_name(g->host.kind),
	     *g->host.base		? " below " :
	     g->host.kind == FREEZER_V2 ? ", in Slurm's own groups" :
					  "",
	     g->host.base);
	return 0;
fail:
	turns_destroy(g->turns);
	gang_trace_close(g->trace);
	pthread_mutex_destroy(&g->lock);
	xfree(g);
	return err;
}

/* An earlier agent took part: continue its steps, remove its page and
 * groups. */
static void agent_gang_clean_up(struct agent *a)
{
	struct gang_page *page = gang_page_open(NULL, a->node);
	char dir[PATH_MAX];

	if (!gang_step_dir(NULL, a->node, false, &dir))
		gang_step_thaw_all(dir, true, NULL);
	gang_page_remove(NULL, a->node);
	if (!page)
		return;
	/* groups with processes stay; the last step removes them all */
	agent_gang_groups_clear(page->host.base);
	freezer_host_remove(page->host.base);
	agent_gang_groups_clear(page->host.idle);
	freezer_host_remove(page->host.idle);
	gang_page_close(page);
}

int agent_gang_ready(struct agent *a)
{
	int err = a->gang ? 0 : agent_gang_begin(a);

	if (a->gang && a->gang->has_left)
		return NO_GANG_SLURMD;

	if (err && err != a->gang_lacks)
		error("gang scheduling cannot start, jobs on this node take no turns, trying again: %s",
		      strerror(err));
	a->gang_lacks = err;
	return err;
}

int agent_gang_start(struct agent *a)
{
	if (!xstrcmp(slurm_conf.schedtype, "sched/storm")) {
		/* if this fails, the node works like one without sched/storm,
		 * until the strober asks again */
		if (!agent_gang_ready(a))
			agent_note_find(a);
		return 0;
	}
	agent_note_forget(a);
	agent_gang_clean_up(a);
	return 0;
}

void agent_gang_stop(struct agent *a)
{
	struct agent_gang *g = a->gang;

	if (!g)
		return;
	agent_gang_lock(g);
	agent_gang_maps_end(g);
	agent_gang_unlock(g);
	agent_gang_doors_end(g);
	agent_gang_steps_end(g);
	agent_gang_waits_end(g);
	agent_gang_left_end(g);
	agent_strobe_stop(g);
	turns_destroy(g->turns);
	gang_trace_close(g->trace);
	pthread_mutex_destroy(&g->lock);
	a->gang = NULL;
	xfree(g);
}

void agent_gang_session_open(struct agent_session *s)
{
	agent_gang_lock(s->a->gang);
	s->a->gang->session = s;
	agent_gang_unlock(s->a->gang);
	alone_begin(&s->a->gang->alone);
	agent_note_keep(s->a, s->id);
	info("gang scheduling: joined the cluster domain");
}

void agent_gang_session_close(struct agent_session *s)
{
	struct agent_gang *g = s->a->gang;

	if (!g || g->session != s)
		return;
	agent_gang_lock(g);
	g->session = NULL;
	agent_gate_close(g);
	agent_gang_maps_end(g);
	agent_gang_unlock(g);
}

void agent_gang_event(struct agent_session *s, uint32_t event, const void *buf,
		      size_t len)
{
	struct agent_gang *g = s->a->gang;

	if (!g || g->session != s || event != GANG_EVENT_MAP)
		debug("cluster domain: unknown event %u", event);
	else
		agent_gang_map(g, buf, len);
}

/* slurmd is there, again or still. */
static void agent_gang_have_slurmd(struct agent_gang *g)
{
	if (!g->has_left)
		return;
	info("gang scheduling: slurmd is there again");
	g->has_left = false;
	g->a->gang_lacks = 0;
	agent_note_find(g->a);
}

/* All steps run, as nobody guards them.  As a member of the domain this node would be
 * shown with turns. */
static void agent_gang_lack_slurmd(struct agent_gang *g, uint64_t now)
{
	if (g->has_left || storm_nm_leave(g->a->nm, g->session->id, STORM_EBUSY,
					  NO_GANG_SLURMD, now))
		return;
	error("gang scheduling: slurmd is stopped, or has ended: jobs on this node take no turns until it is there");
	g->has_left = true;
	g->a->gang_lacks = NO_GANG_SLURMD;
	alone_left(&g->alone);
}

static uint64_t agent_gang_look_for_slurmd(struct agent_gang *g, uint64_t now)
{
	bool there, leave;

	if (!g->session && !g->has_left)
		return STORM_NEVER;
	if (now < g->alone_look)
		return g->alone_look;
	agent_gang_lock(g);
	there = agent_gang_slurmd_is_there(g, now);
	agent_gang_unlock(g);
	leave = alone_look(&g->alone, there);
	if (there)
		agent_gang_have_slurmd(g);
	else if (leave)
		agent_gang_lack_slurmd(g, now);
	g->alone_look = now + SLURMD_LOOK;
	return g->has_left && g->session ? now : g->alone_look;
}

uint64_t agent_gang_tick(struct agent *a, uint64_t now)
{
	struct agent_gang *g = a->gang;
	uint64_t left;

	if (!g)
		return STORM_NEVER;
	left = storm_min(agent_gang_left_try(g, now),
			 agent_gang_naps_look(g, now));
	left = storm_min(left, agent_gang_look_for_slurmd(g, now));
	left = storm_min(left, agent_gang_held_look(g, now));
	left = storm_min(left, agent_gang_steps_relist(g, now));
	/* a step that stops then wakes this loop */
	g->look_at = STORM_NEVER;
	if (!g->page->stopped && !g->traced)
		return left;
	return storm_min(left, agent_gang_steps_look(g, now));
}
