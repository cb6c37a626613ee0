/*
 * agent_gang_steps.c - keeps the list of this node's steps.  A step comes with
 * its record (gang_step.h) and goes with its slurmstepd.  Stopped steps are
 * checked for what no strobe shows: a pending signal, a debugger, srun in a
 * script.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/log.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "agent_gang.h"
#include "agent_gang_private.h"
#include "src/gang/senders.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"

/* slurmstepd tells of its record (LOCAL_STEPS), if the agent takes connections
 * then.  So look for changes, too.  Two within one tick of the kernel's clock have
 * one stamp. */
#define RELIST STORM_SEC
#define STAMP_TICK (100 * STORM_MS)
#define LOOK_EVERY AGENT_GANG_LOOK
#define LOOK_PART 16		    /* a look may take this part of the time */
#define LOOK_ANSWER (2 * STORM_MS)  /* until senders.h has one */
#define LOOK_HANGS (200 * STORM_MS) /* then it has none for long */
#define LOOK_RARELY (1000 * STORM_MS) /* a stopped step's later checks */

/* ----------------------------------------------------------- come and go --- */

static void agent_gang_io_release(struct agent_io *io)
{
	xfree(io);
}

/* The step ends or has ended: continue what is left of it. */
static void agent_gang_step_forget(struct agent_gang *g, struct gang_local *l)
{
	struct gang_local **p;

	agent_gang_lock(g);
	for (p = &g->steps; *p != l; p = &(*p)->next)
		;
	*p = l->next;
	agent_gang_before(g);
	turns_step_end(g->turns, l->turns, storm_now());
	agent_gang_do(g);
	turns_step_free(g->turns, l->turns);
	/* its guards have the mark */
	if (freezer_held(l->f))
		g->page->stopped--;
	agent_gang_unlock(g);
	senders_stop(l->senders);
	agent_gang_naps_free(l->naps);
	agent_gang_waits_free(l->waits);
	freezer_drop(l->f);
	gang_mark_close(l->mark);
	agent_io_close(&g->a->ios, &l->io);
}

static void agent_gang_decide_now(struct agent_gang *g)
{
	agent_gang_lock(g);
	agent_gang_decide(g);
	agent_gang_unlock(g);
}

/* Forget a step that has ended, and remove its group. */
static void agent_gang_step_end(struct agent_gang *g, struct gang_local *l)
{
	const struct gang_step was = l->step;

	agent_gang_step_forget(g, l);
	agent_gang_left_add(g, was.group);
	agent_gang_left_add(g, was.idle);
}

static void agent_gang_stepd_gone(struct agent *a, struct agent_io *io,
				  uint32_t events)
{
	struct gang_local *l = (struct gang_local *) io;

	(void) events;
	gang_step_remove(a->gang->dir, l->name);
	agent_gang_step_end(a->gang, l);
	agent_gang_decide_now(a->gang);
}

static struct gang_local *agent_gang_step_find(struct agent_gang *g,
					       const char *name)
{
	struct gang_local *l = g->steps;

	while (l && strcmp(l->name, name))
		l = l->next;
	return l;
}

/* It cannot be watched.  If it lives it is tried again. */
static void agent_gang_step_refused(struct agent_gang *g, struct gang_local *l,
				    int err)
{
	if (gang_step_ended(&l->step)) {
		gang_step_remove(g->dir, l->name);
		agent_gang_left_add(g, l->step.group);
		agent_gang_left_add(g, l->step.idle);
	} else {
		if (!g->told_unwatched)
			error("gang: cannot watch step %s, which takes no turns until that is possible: %s",
			      l->name, strerror(err));
		g->unwatched = g->told_unwatched = g->list_again = true;
	}
	freezer_close(l->f);
	gang_mark_close(l->mark);
	if (l->io.fd >= 0)
		close(l->io.fd);
	xfree(l);
}

/* False and errno. */
static bool agent_gang_step_watch(struct agent_gang *g, struct gang_local *l)
{
	l->f = gang_step_open(&l->step);
	l->mark = l->f ? gang_mark_open(g->dir, l->name) : NULL;
	l->io.fd = l->mark ? pidfd_open(l->step.root, 0) : -1;
	/* check after pidfd_open(): another process may have got the pid */
	return l->io.fd >= 0 && gang_step_alive(&l->step) &&
	       !agent_io_add(&g->a->ios, &l->io, EPOLLIN);
}

static void agent_gang_step_add(struct agent_gang *g, const char *name,
				const struct gang_step *s)
{
	struct gang_local *l = xmalloc(sizeof(*l));
	struct turns_step_info is = {
		.job = s->job,
		.step = s->step,
		.kind = s->kind,
		.script = s->script,
		.starting = s->kind != FREEZER_SIGNALS,
		.measured = s->kind == FREEZER_V2,
		.yields = s->yields && g->a->conf.gang_yield,
		.owner = l,
	};

	strlcpy(l->name, name, sizeof(l->name));
	l->step = *s;
	l->listed = true;
	l->io.ready = agent_gang_stepd_gone;
	l->io.release = agent_gang_io_release;
	if (!agent_gang_step_watch(g, l)) {
		agent_gang_step_refused(g, l, errno);
		return;
	}
	is.can_fill = freezer_can_fill(l->f);
	is.has_srun = s->script && freezer_has(l->f, "srun");
	agent_gang_lock(g);
	agent_gang_before(g);
	l->turns = turns_step_add(g->turns, &is, storm_now());
	if (!l->turns)
		fatal("gang: no memory for step %s", name);
	l->next = g->steps;
	g->steps = l;
	agent_gang_do(g);
	agent_gang_door_find(g, l);
	agent_gang_unlock(g);
}

static void agent_gang_step_listed(void *arg, const char *name,
				   const struct gang_step *s)
{
	struct agent_gang *g = arg;
	struct gang_local *l = agent_gang_step_find(g, name);

	if (l)
		l->listed = true;
	else if (strlen(name) < GANG_STEP_NAME)
		agent_gang_step_add(g, name, s);
}

/* Its slurmstepd has removed the record at its end, or hides it. */
static void agent_gang_step_unlisted(struct agent_gang *g, struct gang_local *l)
{
	if (gang_step_held(g->dir, l->name))
		agent_gang_step_forget(g, l);
	else
		agent_gang_step_end(g, l);
}

static struct timespec agent_gang_dir_stamp(const struct agent_gang *g)
{
	struct stat st = { 0 };

	stat(g->dir, &st);
	return st.st_mtim;
}

/* Is the stamp so new that the next change may have the same? */
static bool agent_gang_stamp_is_fresh(const struct timespec *stamp)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (now.tv_sec - stamp->tv_sec) * (int64_t) STORM_SEC +
		       now.tv_nsec - stamp->tv_nsec <
	       (int64_t) STAMP_TICK;
}

/* What is known of steps stays: they end by their pidfds. */
static void agent_gang_steps_unread(struct agent_gang *g, int err)
{
	if (err && !g->told_unread)
		error("gang: cannot read the records of steps in %s, so new ones take no turns until that is possible: %s",
		      g->dir, strerror(err));
	g->told_unread = err;
	g->list_again |= err != 0;
}

void agent_gang_steps_list(struct agent_gang *g)
{
	struct gang_local *l, *next;
	int err;

	g->listed = agent_gang_dir_stamp(g);
	g->list_again = agent_gang_stamp_is_fresh(&g->listed);
	g->unwatched = false;
	for (l = g->steps; l; l = l->next)
		l->listed = false;
	err = gang_step_each(g->dir, agent_gang_step_listed, g);
	agent_gang_steps_unread(g, err);
	/* the next one is news */
	g->told_unwatched &= g->unwatched;
	for (l = g->steps; l; l = next) {
		next = l->next;
		if (!l->listed && (!err || gang_step_held(g->dir, l->name)))
			agent_gang_step_unlisted(g, l);
	}
	agent_gang_decide_now(g);
}

void agent_gang_steps(struct agent *a)
{
	if (a->gang)
		agent_gang_steps_list(a->gang);
}

uint64_t agent_gang_steps_relist(struct agent_gang *g, uint64_t now)
{
	struct timespec stamp;

	if (now < g->list_at)
		return g->list_at;
	g->list_at = now + RELIST;
	stamp = agent_gang_dir_stamp(g);
	if (g->list_again || stamp.tv_sec != g->listed.tv_sec ||
	    stamp.tv_nsec != g->listed.tv_nsec)
		agent_gang_steps_list(g);
	return g->list_at;
}

void agent_gang_steps_end(struct agent_gang *g)
{
	while (g->steps)
		agent_gang_step_forget(g, g->steps);
}

void agent_gang_groups_clear(const char *base)
{
	char path[PATH_MAX];
	struct dirent *e;
	int pid;
	DIR *d = *base ? opendir(base) : NULL;

	while (d && (e = readdir(d))) {
		if (sscanf(e->d_name, "%*u.%*u.%d", &pid) == 1 &&
		    !gang_step_started(pid) &&
		    snprintf(path, sizeof(path), "%s/%s", base, e->d_name) <
			    (int) sizeof(path))
			freezer_group_remove(path);
	}
	if (d)
		closedir(d);
}

/* ------------------------------------------------------------------ look --- */

/* The list of signals' processes belongs to the thread that stops them, too. */
static unsigned int agent_gang_step_read(struct agent_gang *g,
					 struct gang_local *l)
{
	bool lock = l->step.kind == FREEZER_SIGNALS;
	unsigned int wants;

	if (lock)
		agent_gang_lock(g);
	wants = freezer_wants(l->f);
	if (lock)
		agent_gang_unlock(g);
	return wants;
}

/* Reasons not to stop the step (FREEZER_*), without FREEZER_TRACED if
 * GangDebug=no.  If its job is held a debugger looks at it as it stands. */
static unsigned int agent_gang_step_wants(struct agent_gang *g,
					  struct gang_local *l)
{
	unsigned int wants = agent_gang_step_read(g, l);
	bool held, awaited;

	agent_gang_lock(g);
	held = turns_step_is_held(g->turns, l->turns);
	agent_gang_unlock(g);
	awaited = held && wants & FREEZER_TRACED &&
		  l->step.kind == FREEZER_V2 && freezer_awaited(l->f);
	agent_gang_lock(g);
	agent_gang_before(g);
	turns_saw_tracer(g->turns, l->turns, wants & FREEZER_TRACED, awaited,
			 g->a->conf.gang_debug, storm_now());
	agent_gang_do(g);
	if (!turns_step_is_traced(l->turns))
		wants &= ~FREEZER_TRACED;
	agent_gang_unlock(g);
	if (held || !(wants & FREEZER_TRACED))
		return wants;
	if (!l->told_traced)
		info("gang: a debugger traces step %s, which takes no turns meanwhile (GangDebug in storm.conf)",
		     l->name);
	l->told_traced = true;
	return wants;
}

/* A signal of root's waits: the step runs to the end of its next slot. */
static void agent_gang_step_grant(struct agent_gang *g, struct gang_local *l)
{
	agent_gang_lock(g);
	agent_gang_before(g);
	turns_saw_signal(g->turns, l->turns, storm_now());
	agent_gang_do(g);
	agent_gang_unlock(g);
}

/* A signal waits, maybe the step's own: a timer must not bring a job more than
 * its turns.  So ask who sent it.  A group of version 1 cannot be asked, its step
 * only pays. */
static void agent_gang_step_signalled(struct agent_gang *g,
				      struct gang_local *l)
{
	bool lock = l->step.kind == FREEZER_SIGNALS;

	if (l->step.kind == FREEZER_V1) {
		agent_gang_step_grant(g, l);
	} else {
		/* as in agent_gang_step_read() */
		if (lock)
			agent_gang_lock(g);
		l->senders = freezer_senders(l->f);
		if (lock)
			agent_gang_unlock(g);
	}
	l->asked = storm_now();
}

/* The answer, if it is there.  The next look is later: the kernel may only now
 * release a process that was asked, and a tracer would count as a debugger. */
static void agent_gang_step_hear(struct agent_gang *g, struct gang_local *l,
				 uint64_t now)
{
	if (!senders_done(l->senders))
		return;
	l->busy = (now - l->asked) / 4; /* it mostly waits */
	if (senders_stop(l->senders))
		agent_gang_step_grant(g, l);
	l->senders = NULL;
}

/* It could not be continued, or has processes that run though it stands. */
static void agent_gang_step_doubt(struct agent_gang *g, struct gang_local *l,
				  bool others)
{
	agent_gang_lock(g);
	agent_gang_before(g);
	turns_saw_doubt(g->turns, l->turns, others, storm_now());
	agent_gang_do(g);
	agent_gang_unlock(g);
}

/* Continue a stopped step if it has a reason. */
static void agent_gang_step_look_at(struct agent_gang *g, struct gang_local *l)
{
	unsigned int wants;

	agent_gang_step_doubt(g, l, false);
	wants = agent_gang_step_wants(g, l);
	/* nobody else can ask who sent it to one that is traced */
	if (wants & FREEZER_SIGNALLED && !(wants & FREEZER_TRACED))
		agent_gang_step_signalled(g, l);
	if (l->step.kind == FREEZER_SIGNALS) /* new processes */
		agent_gang_step_doubt(g, l, true);
}

/* When to check a step next.  A script may start srun, and a debugger may
 * detach, so these are also checked while they run. */
static uint64_t agent_gang_step_look_due(const struct agent_gang *g,
					 const struct gang_local *l)
{
	uint64_t least = storm_max(LOOK_EVERY, LOOK_PART * l->busy);
	uint64_t soon = l->looked + least;
	uint64_t rarely = l->looked + storm_max(LOOK_RARELY, least);
	uint64_t stands = turns_step_stopped_at(l->turns) + LOOK_EVERY;

	if (l->senders && l->looked > l->asked + LOOK_HANGS)
		return rarely;
	if (l->senders || turns_step_attaches(l->turns))
		return l->looked + LOOK_ANSWER;
	if (turns_step_is_traced(l->turns) ||
	    (l->step.script && !turns_job_has_steps(g->turns, l->step.job)))
		return soon;
	if (!turns_step_stands(l->turns))
		return STORM_NEVER;
	return storm_min(storm_max(stands, soon), rarely);
}

static void agent_gang_step_look_now(struct agent_gang *g, struct gang_local *l)
{
	bool has_srun;

	if (l->step.script) {
		has_srun = freezer_has(l->f, "srun");
		agent_gang_lock(g);
		turns_saw_srun(l->turns, has_srun);
		agent_gang_unlock(g);
	}
	if (turns_step_stands(l->turns))
		agent_gang_step_look_at(g, l);
	else if (turns_step_is_traced(l->turns))
		agent_gang_step_wants(g, l);
}

static void agent_gang_step_look(struct agent_gang *g, struct gang_local *l,
				 uint64_t now)
{
	l->looked = now;
	if (l->senders) {
		agent_gang_step_hear(g, l, now);
		return;
	}
	agent_gang_step_look_now(g, l);
	l->busy = storm_now() - now;
}

/* When to look at a step next, of all. */
static uint64_t agent_gang_steps_look_next(struct agent_gang *g)
{
	uint64_t next = STORM_NEVER;
	bool traced = false;

	agent_gang_lock(g);
	for (struct gang_local *l = g->steps; l; l = l->next) {
		next = storm_min(next, agent_gang_step_look_due(g, l));
		traced |= turns_step_is_traced(l->turns);
	}
	g->traced = traced;
	g->look_at = next;
	agent_gang_unlock(g);
	return next;
}

uint64_t agent_gang_steps_look(struct agent_gang *g, uint64_t now)
{
	bool any = false;

	for (struct gang_local *l = g->steps; l; l = l->next) {
		uint64_t due;

		agent_gang_lock(g);
		due = agent_gang_step_look_due(g, l);
		agent_gang_unlock(g);
		if (now < due)
			continue;
		agent_gang_step_look(g, l, now);
		any = true;
	}
	if (any)
		agent_gang_decide_now(g);
	return agent_gang_steps_look_next(g);
}
