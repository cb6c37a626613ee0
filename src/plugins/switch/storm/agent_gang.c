/*
 * agent_gang.c - the node's part of gang scheduling (paper section 2.2, the Node
 * Manager; architecture: Flows, "Strobe"): on each strobe the steps stop whose
 * job has no time in this slot, and the others go on.
 *
 * A step stands still only while all of this holds: slurmd is there, the last
 * strobe is younger than the limit and names a map that is here, and the job
 * is in that map and in the newest one.  Otherwise it runs ("fail open").  If
 * this process dies or stands still itself, slurmd's plugin sees to that
 * (agent_watch.c); and when it goes on, nothing stands still until a strobe comes
 * that was sent after that.
 *
 * A signal that waits for a step that stands still is an order to it, say to
 * end: it runs until its slot is over.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "agent.h"
#include "gang_page.h"
#include "gang_step.h"
#include "src/common/gang_map.h"
#include "src/common/proc_state.h"
#include "src/libstorm/clock.h"

/* What is read of /proc takes its time from the program whose turn it is, and all
 * its other nodes wait for this one: a step that stands for less than this is not
 * looked at, its slot is near and a signal is handled there. */
#define LOOK_EVERY (50 * STORM_MS)
#define LOOK_RARELY (1000 * STORM_MS)	/* at those, for debuggers */
/* Older than this is a sign of life of slurmd, who gives it at every look at our
 * page, that we ask whether it has been stopped; and so often then. */
#define SLURMD_SIGN (50 * STORM_MS)
#define SLURMD_EVERY (25 * STORM_MS)
/* So much before a silence is too long: to wake up, and to let all go on. */
#define WAKE_TIME (15 * STORM_MS)
/* The same of slurmd, who looks for our sign of life now and then. */
#define GUARD_TIME (35 * STORM_MS)
#define PRIORITY 50			/* of SCHED_FIFO, while jobs share */
#define NOBODY UINT32_MAX

struct gang_local {			/* a step on this node */
	struct agent_io io;		/* pidfd of its slurmstepd */
	struct gang_local *next;
	char name[GANG_STEP_NAME];
	struct gang_step step;
	struct freezer *f;
	struct gang_mark *mark;
	uint64_t stopped, looked;	/* when last */
	bool granted;			/* it runs until its slot is over */
	bool traced;			/* a debugger has hold of it */
	bool has_srun;
	bool starting;			/* not all tasks are past exec */
	bool listed;			/* in the look under way */
	bool told;			/* that it cannot be stopped */
	bool told_traced;
};

struct gang_known {			/* a map, as it came */
	bool there;
	struct gang_map map;
	uint64_t digest;
	uint32_t zone, self;
};

struct agent_gang {
	struct agent *a;
	struct gang_page *page;
	struct gang_trace *trace;
	struct freezer_host host;
	char dir[PATH_MAX];		/* of the records */
	struct agent_io notify;
	struct gang_local *steps;
	struct agent_session *session;	/* the cluster domain */
	struct gang_known known[2];	/* the newest is the first */
	const struct gang_known *now;	/* the last strobe's; NULL: none */
	uint32_t slot;
	uint64_t told_version;		/* in the trace, with the slot */
	uint32_t told_slot;
	uint64_t number, heard;		/* of the last strobe */
	uint64_t silence;		/* so long without one: none holds */
	uint64_t slurmd_at;
	bool slurmd_stands;
	bool was_away;			/* all strobes since are missed */
	bool traced;			/* some step is */
	uint32_t freed;			/* of the page, as last seen */
	bool realtime, refused;
};

/* ----------------------------------------------------------------- trace --- */

static void _trace(struct agent_gang *g, enum gang_what what,
		   const struct gang_local *l, uint32_t a, uint32_t b)
{
	struct gang_event e = {
		.at = storm_now(), .what = what, .a = a, .b = b,
		.sequence = g->number,
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

static void _failed(struct gang_local *l, const char *what, int err)
{
	/* of one that ends meanwhile the group may be gone */
	if (l->told || err == ENODEV || err == ENOENT)
		return;
	l->told = true;
	error("gang: step %s cannot be %s: %s", l->name, what, strerror(err));
}

static void _stop(struct agent_gang *g, struct gang_local *l, bool again)
{
	bool was = freezer_stopped(l->f);
	int err;

	if (was && !again)
		return;
	/* before: whoever finds us dead or late lets it go on */
	if (!was)
		g->page->stopped++;
	gang_mark_set(l->mark, true);
	err = freezer_stop(l->f, again);
	if (err)
		_failed(l, "stopped", err);
	if (!was) {
		l->stopped = storm_now();
		g->a->count.gang_stops++;
		_trace(g, GANG_STOP, l, 0, 0);
	}
}

/* What is not stopped by us may be by Slurm. */
static void _continue(struct agent_gang *g, struct gang_local *l,
		      enum gang_why why)
{
	int err;

	if (!freezer_stopped(l->f))
		return;
	err = freezer_continue(l->f, false);
	if (err)
		_failed(l, "continued", err);
	else
		gang_mark_set(l->mark, false);
	g->page->stopped--;
	_trace(g, GANG_CONTINUE, l, why, 0);
}

/* Everything goes on; until the next strobe nothing stops. */
static void _open(struct agent_gang *g, enum gang_why why)
{
	bool any = false;

	for (struct gang_local *l = g->steps; l; l = l->next) {
		any |= freezer_stopped(l->f);
		_continue(g, l, why);
	}
	if (g->now || any) {
		g->a->count.gang_opened++;
		_trace(g, GANG_OPEN, NULL, why, 0);
	}
	g->now = NULL;
}

static bool _job_has_steps(const struct agent_gang *g, uint32_t job)
{
	for (const struct gang_local *l = g->steps; l; l = l->next)
		if (l->step.job == job && !l->step.script)
			return true;
	return false;
}

static bool _is_here(const struct gang_known *k, const struct gang_job *j)
{
	return j->zone == k->zone && storm_idset_has(&j->nodes, k->self);
}

/* In this map, and so the cluster's to stop here? */
static const struct gang_job *_job_in(const struct gang_known *k,
				      uint32_t job_id)
{
	const struct gang_job *j;

	if (!k->there)
		return NULL;
	j = gang_map_job(&k->map, job_id);
	return j && _is_here(k, j) ? j : NULL;
}

/* srun carries the output of the job's steps; and whoever speaks with Slurm from a
 * script must not keep it waiting for so long that it gives up. */
static bool _script_runs(const struct agent_gang *g, const struct gang_local *l)
{
	return l->has_srun || _job_has_steps(g, l->step.job) ||
		g->now->map.zones[g->now->zone].quantum >=
			slurm_conf.msg_timeout * STORM_SEC / 4;
}

/* Why it may run; 0: it may not. */
static enum gang_why _runs(struct agent_gang *g, struct gang_local *l)
{
	const struct gang_job *j = _job_in(g->now, l->step.job);

	if (!j || !_job_in(&g->known[0], l->step.job))
		return GANG_WHY_NOT_IN_MAP;
	if (storm_idset_has(&j->rows, g->slot)) {
		l->granted = false;
		return GANG_WHY_SLOT;
	}
	if (l->granted)
		return GANG_WHY_SIGNAL;
	if (l->traced)
		return GANG_WHY_DEBUGGER;
	/* Slurm sends no signal to what is still slurmstepd */
	if (l->starting && (l->starting = freezer_starting(l->f)))
		return GANG_WHY_STARTING;
	if (l->step.script && _script_runs(g, l))
		return GANG_WHY_SCRIPT;
	return 0;
}

/* A node without steps has nothing to tell of slots. */
static void _tell_slot(struct agent_gang *g)
{
	if (!g->steps || (g->told_version == g->now->map.version &&
			  g->told_slot == g->slot))
		return;
	g->told_version = g->now->map.version;
	g->told_slot = g->slot;
	_trace(g, GANG_SLOT, NULL, 0, 0);
}

/* Bring all steps where the last strobe wants them: first the old ones stop,
 * then the new ones go on, so that they do not meet. */
static void _apply(struct agent_gang *g)
{
	uint32_t freed = g->page->freed;
	bool again = freed != g->freed;
	enum gang_why why;

	if (again) {
		g->freed = freed;
		_trace(g, GANG_OPEN, NULL, GANG_WHY_FREED, 0);
	}
	if (!g->now)
		return;
	_tell_slot(g);
	for (struct gang_local *l = g->steps; l; l = l->next)
		if (!_runs(g, l))
			_stop(g, l, again);
	for (struct gang_local *l = g->steps; l; l = l->next)
		if ((why = _runs(g, l)))
			_continue(g, l, why);
	g->page->alive = storm_now();
}

/* ----------------------------------------------------------------- steps --- */

static void _release(struct agent_io *io)
{
	xfree(io);
}

/* It ends, or has ended: nothing of it may be left standing. */
static void _forget(struct agent_gang *g, struct gang_local *l)
{
	struct gang_local **p;

	for (p = &g->steps; *p != l; p = &(*p)->next)
		;
	*p = l->next;
	_continue(g, l, GANG_WHY_NOT_IN_MAP);
	freezer_drop(l->f);
	gang_mark_close(l->mark);
	_trace(g, GANG_GONE, l, 0, 0);
	agent_io_close(g->a, &l->io);
}

/* Processes that outlive slurmstepd keep it; a borrowed one is not ours. */
static void _remove_group(struct agent_gang *g, const char *group)
{
	if (*g->host.base)
		freezer_group_remove(group);
}

static void _stepd_gone(struct agent *a, struct agent_io *io, uint32_t events)
{
	struct gang_local *l = (struct gang_local *) io;
	char group[PATH_MAX];

	(void) events;
	strcpy(group, l->step.group);
	gang_step_remove(a->gang->dir, l->name);
	_forget(a->gang, l);
	_remove_group(a->gang, group);
	_apply(a->gang);
}

static struct gang_local *_find(struct agent_gang *g, const char *name)
{
	struct gang_local *l = g->steps;

	while (l && strcmp(l->name, name))
		l = l->next;
	return l;
}

static void _add(struct agent_gang *g, const char *name,
		 const struct gang_step *s)
{
	struct gang_local *l = xmalloc(sizeof(*l));

	strlcpy(l->name, name, sizeof(l->name));
	l->step = *s;
	l->listed = true;
	l->starting = s->kind != FREEZER_SIGNALS;
	l->io.ready = _stepd_gone;
	l->io.release = _release;
	l->f = freezer_open(s->kind, s->group, s->root);
	l->mark = l->f ? gang_mark_open(g->dir, name) : NULL;
	l->io.fd = l->mark ? pidfd_open(s->root, 0) : -1;
	/* asked after pidfd_open(): it is this process, or the pid is another's */
	if (l->io.fd < 0 || !gang_step_alive(s) ||
	    agent_io_add(g->a, &l->io, EPOLLIN)) {
		if (gang_step_alive(s))
			error("gang: step %s cannot be watched, it runs all the time: %m",
			      name);
		else
			gang_step_remove(g->dir, name);
		freezer_close(l->f);
		gang_mark_close(l->mark);
		if (l->io.fd >= 0)
			close(l->io.fd);
		_remove_group(g, s->group);
		xfree(l);
		return;
	}
	l->next = g->steps;
	g->steps = l;
	g->a->count.gang_steps++;
	l->has_srun = s->script && freezer_has(l->f, "srun");
	_trace(g, GANG_STEP, l, s->kind, s->script);
}

static void _listed(void *arg, const char *name, const struct gang_step *s)
{
	struct agent_gang *g = arg;
	struct gang_local *l = _find(g, name);

	if (l)
		l->listed = true;
	else if (strlen(name) < GANG_STEP_NAME)
		_add(g, name, s);
}

/* The records have changed. */
static void _list(struct agent_gang *g)
{
	struct gang_local *l, *next;

	for (l = g->steps; l; l = l->next)
		l->listed = false;
	gang_step_each(g->dir, _listed, g);
	for (l = g->steps; l; l = next) {
		next = l->next;
		if (!l->listed)
			_forget(g, l);
	}
	_apply(g);
}

static void _changed(struct agent *a, struct agent_io *io, uint32_t events)
{
	char buf[4096];

	(void) events;
	while (read(io->fd, buf, sizeof(buf)) > 0)
		;
	_list(a->gang);
}

/* Groups of steps that never became complete, or whose slurmstepd was killed. */
static void _clear_groups(const char *base)
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

/* Why it should not stand still: of freezer.h's reasons those that count here. */
static unsigned int _wants(const struct agent_gang *g, struct gang_local *l)
{
	unsigned int wants = freezer_wants(l->f);

	if (!g->a->conf.gang_debug)
		wants &= ~FREEZER_TRACED;
	l->traced = wants & FREEZER_TRACED;
	if (l->traced && !l->told_traced)
		info("gang: a debugger has hold of step %s, which runs all the time meanwhile (GangDebug in storm.conf)",
		     l->name);
	l->told_traced |= l->traced;
	return wants;
}

/* One that stands still and should not. */
static void _look_at(struct agent_gang *g, struct gang_local *l)
{
	unsigned int wants = _wants(g, l);

	l->granted |= wants & FREEZER_SIGNALLED;
	if (wants)
		_continue(g, l, l->traced ? GANG_WHY_DEBUGGER :
			  GANG_WHY_SIGNAL);
	else if (l->step.kind == FREEZER_SIGNALS)
		_stop(g, l, true);	/* somebody may have come late */
}

/* When to look at a step: a script may have begun a srun; a debugger that has hold
 * of one may leave it. */
static uint64_t _look_due(const struct agent_gang *g,
			  const struct gang_local *l)
{
	uint64_t soon = l->looked + LOOK_EVERY;
	uint64_t rarely = l->looked + LOOK_RARELY;
	uint64_t stands = l->stopped + LOOK_EVERY;

	if (l->traced ||
	    (l->step.script && !_job_has_steps(g, l->step.job)))
		return soon;
	if (!freezer_stopped(l->f))
		return STORM_NEVER;
	if (stands < soon)
		stands = soon;
	return stands < rarely ? stands : rarely;
}

static void _look(struct agent_gang *g, struct gang_local *l, uint64_t now)
{
	l->looked = now;
	if (l->step.script)
		l->has_srun = freezer_has(l->f, "srun");
	if (freezer_stopped(l->f))
		_look_at(g, l);
	else if (l->traced)
		_wants(g, l);
}

/* While steps stand still: a signal waits for one, a debugger comes or goes, a
 * srun has begun in a script.  When to look again. */
static uint64_t _look_around(struct agent_gang *g, uint64_t now)
{
	uint64_t next = STORM_NEVER, due;
	bool any = false;

	for (struct gang_local *l = g->steps; l; l = l->next)
		if (now >= _look_due(g, l)) {
			_look(g, l, now);
			any = true;
		}
	g->traced = false;
	for (struct gang_local *l = g->steps; l; l = l->next)
		g->traced |= l->traced;
	if (any)
		_apply(g);
	for (struct gang_local *l = g->steps; l; l = l->next)
		if ((due = _look_due(g, l)) < next)
			next = due;
	return next;
}

/* ------------------------------------------------------------- real time --- */

/* Memory and priority are bound while jobs share this node: a strobe must not
 * wait for the step that it is to stop. */
static void _realtime(struct agent_gang *g, bool on)
{
	struct sched_param p = { .sched_priority = on ? PRIORITY : 0 };

	gang_page_share(g->page, NULL, g->a->node, on);
	if (on == g->realtime)
		return;
	g->realtime = on;
	if (!on)
		munlockall();
	if (sched_setscheduler(0, on ? SCHED_FIFO | SCHED_RESET_ON_FORK :
			       SCHED_OTHER, &p) ||
	    (on && mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT))) {
		if (!g->refused)
			info("gang: no real-time priority or locked memory, strobes may be served late: %m");
		g->refused = true;
	}
}

/* ------------------------------------------------------------------ maps --- */

static uint32_t _jobs_here(const struct gang_known *k)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < k->map.njobs; i++)
		n += _is_here(k, &k->map.jobs[i]);
	return n;
}

/* Whoever reads the trace is to know whose slots they are. */
static void _trace_map(struct agent_gang *g, const struct gang_known *k,
		       uint32_t jobs)
{
	struct gang_event e = {
		.at = storm_now(), .what = GANG_MAP, .sequence = g->number,
		.slot = g->now ? g->slot : GANG_SLOT_ALL,
		.version = k->map.version, .b = jobs,
		.a = k->zone == NOBODY ? 0 : k->map.zones[k->zone].rows,
	};

	gang_trace_add(g->trace, &e);
	e.what = GANG_JOB;
	for (uint32_t i = 0; i < k->map.njobs; i++) {
		const struct gang_job *j = &k->map.jobs[i];

		if (!_is_here(k, j))
			continue;
		e.job = j->job_id;
		e.a = e.b = 0;
		for (uint32_t row = 0; row < 64; row++)
			if (storm_idset_has(&j->rows, row))
				*(row < 32 ? &e.a : &e.b) |= 1u << (row % 32);
		gang_trace_add(g->trace, &e);
	}
}

static void _forget_maps(struct agent_gang *g)
{
	for (int i = 0; i < 2; i++) {
		if (g->known[i].there)
			gang_map_clear(&g->known[i].map);
		g->known[i].there = false;
	}
	g->now = NULL;
}

/* The strober asks for it (src/plugins/sched/storm/missed.h). */
static void _tell_missed(struct agent_gang *g)
{
	storm_nm_own_set(g->a->nm, g->session->id, GANG_VAR_MISSED,
			 g->a->count.gang_missed);
}

static void _map(struct agent_gang *g, const void *buf, size_t len)
{
	struct gang_known *k = g->known, fresh = { .there = true };
	uint32_t jobs;
	int err = gang_map_unpack(buf, len, &fresh.map);

	if (!err && storm_nm_self(g->a->nm, g->session->id, &fresh.self)) {
		gang_map_clear(&fresh.map);
		return;
	}
	if (err) {
		error("gang: the map is of no use: %s", storm_strerror(err));
		return;		/* strobes will name one that is not here */
	}
	/* it may be another owner's; who was outside has no variables left */
	agent_note_keep(g->a, g->session->id);
	_tell_missed(g);
	fresh.digest = gang_map_digest(buf, len);
	fresh.zone = gang_map_zone(&fresh.map, fresh.self);
	if (k[1].there)
		gang_map_clear(&k[1].map);
	k[1] = k[0];
	k[0] = fresh;
	/* the strobes that come now still name the one before */
	if (g->now)
		g->now = g->now == &k[0] ? &k[1] : NULL;
	jobs = _jobs_here(&k[0]);
	g->a->count.gang_maps++;
	_trace_map(g, &k[0], jobs);
	_realtime(g, jobs > 0);
	if (!g->now)
		_open(g, GANG_WHY_UNKNOWN_MAP);
	_apply(g);
}

/* --------------------------------------------------------------- strobes --- */

static const struct gang_known *_meant(const struct agent_gang *g,
				       const struct gang_strobe *s)
{
	for (int i = 0; i < 2; i++)
		if (g->known[i].there && g->known[i].digest == s->digest &&
		    g->known[i].map.version == s->version)
			return &g->known[i];
	return NULL;
}

static void _count_missed(struct agent_gang *g, uint64_t number)
{
	uint64_t missed = number - g->number - 1;

	/* the first one, or the first of an epoch: nobody knows */
	if ((g->now || g->was_away) && missed && number >> 32 == g->number >> 32) {
		g->a->count.gang_missed += missed;
		g->number = number;
		_tell_missed(g);
		_trace(g, GANG_MISSED, NULL, missed, 0);
	}
	g->number = number;
	g->was_away = false;
	g->a->count.gang_strobes++;
}

/* When it is to be asked whether it has been stopped. */
static uint64_t _slurmd_due(const struct agent_gang *g)
{
	uint64_t due = g->page->watched + SLURMD_SIGN;

	return due > g->slurmd_at ? due : g->slurmd_at;
}

/* A slurmd that was stopped is as good as none. */
static bool _slurmd_is_there(struct agent_gang *g, uint64_t now)
{
	if (now >= _slurmd_due(g)) {
		g->slurmd_stands = proc_stopped(g->a->slurmd);
		g->slurmd_at = now + SLURMD_EVERY;
	} else if (now < g->page->watched + SLURMD_SIGN) {
		g->slurmd_stands = false;
	}
	return g->a->lifelines && !g->slurmd_stands;
}

void agent_gang_strobe(struct agent *a, struct agent_session *s,
		       uint64_t number, const void *buf, size_t len)
{
	struct agent_gang *g = a->gang;
	const struct gang_known *k;
	struct gang_strobe st;
	uint64_t limit;

	if (!g || s != g->session || gang_strobe_unpack(&st, buf, len) ||
	    agent_is_back(a))
		return;
	_count_missed(g, number);
	k = _meant(g, &st);
	if (!k) {
		_open(g, GANG_WHY_UNKNOWN_MAP);
		return;
	}
	if (st.zone != k->zone || !_slurmd_is_there(g, storm_now()))
		return;
	g->heard = storm_now();
	if (st.slot >= k->map.zones[k->zone].rows) {
		_open(g, st.slot == GANG_SLOT_ALL ? GANG_WHY_ALL :
		      GANG_WHY_UNKNOWN_MAP);
		return;
	}
	limit = gang_silence(k->map.zones[k->zone].quantum);
	g->silence = limit - WAKE_TIME;
	g->page->limit = limit - GUARD_TIME;
	if (g->now != k || g->slot != st.slot) {
		g->now = k;
		g->slot = st.slot;
		a->count.gang_slots++;
	}
	_apply(g);
	agent_poll_expect(a, g->heard, k->map.zones[k->zone].quantum);
}

uint64_t agent_gang_tick(struct agent *a, uint64_t now)
{
	struct agent_gang *g = a->gang;
	uint64_t next, due;

	if (!g)
		return STORM_NEVER;
	g->page->alive = now;
	if (!g->page->stopped && !g->now)
		return STORM_NEVER;
	next = g->heard + g->silence;
	if (now >= next || !_slurmd_is_there(g, now)) {
		_open(g, now >= next ? GANG_WHY_SILENCE :
		      GANG_WHY_NO_SLURMD);
		return STORM_NEVER;
	}
	if (!g->page->stopped && !g->traced)
		return next;
	due = _look_around(g, now);
	next = due < next ? due : next;
	due = _slurmd_due(g);
	return due < next ? due : next;
}

/* ------------------------------------------------------------ the session --- */

/* Do steps have groups of Slurm's own? */
static bool _slurm_has_groups(void)
{
	return xstrstr(slurm_conf.proctrack_type, "cgroup") ||
		xstrstr(slurm_conf.task_plugin, "cgroup") ||
		xstrstr(slurm_conf.job_acct_gather_type, "cgroup");
}

/* A process cannot be in a group of Slurm's and in one of ours, where both are of
 * the same version; and in its freezers of version 1 slurmstepd is, too. */
static int _find_host(struct agent *a, struct freezer_host *h)
{
	enum freezer_kind wish = freezer_kind_of(a->conf.freezer);

	if ((wish == FREEZER_NONE || wish == FREEZER_V2) &&
	    freezer_host_pure() && _slurm_has_groups()) {
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

/* This node takes part from now on: new steps leave records. */
static int _begin(struct agent *a)
{
	struct agent_gang *g = xmalloc(sizeof(*g));
	int err = gang_step_dir(NULL, a->node, true, g->dir);

	g->a = a;
	if (!err)
		err = _find_host(a, &g->host);
	if (err)
		goto fail;
	gang_step_thaw_all(g->dir, true, NULL);
	_clear_groups(g->host.base);
	g->page = gang_page_create(NULL, a->node, &g->host,
				   a->conf.gang_debug);
	g->trace = gang_trace_create(NULL, a->node);
	g->notify.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	g->notify.ready = _changed;
	if (!g->page || !g->trace || g->notify.fd < 0 ||
	    inotify_add_watch(g->notify.fd, g->dir,
			      IN_MOVED_TO | IN_DELETE) < 0 ||
	    agent_io_add(a, &g->notify, EPOLLIN)) {
		err = errno;
		goto fail_open;
	}
	a->gang = g;
	_trace(g, GANG_BEGIN, NULL, getpid(), 0);
	_list(g);
	info("gang scheduling: steps are stopped by %s%s%s",
	     freezer_name(g->host.kind), *g->host.base ? " below " :
	     g->host.kind == FREEZER_V2 ? ", in Slurm's own groups" : "",
	     g->host.base);
	return 0;
fail_open:
	if (g->notify.fd >= 0)
		close(g->notify.fd);
	gang_trace_close(g->trace);
	gang_page_close(g->page);
	gang_page_remove(NULL, a->node);
fail:
	xfree(g);
	error("gang scheduling is not possible here, jobs run all the time: %s",
	      strerror(err));
	return err;
}

/* What it was before: nothing may be left standing, nor empty. */
static void _never_again(struct agent *a)
{
	struct gang_page *page = gang_page_open(NULL, a->node);
	char dir[PATH_MAX];

	if (!gang_step_dir(NULL, a->node, false, dir))
		gang_step_thaw_all(dir, true, NULL);
	gang_page_remove(NULL, a->node);
	if (!page)
		return;
	/* steps that run on keep theirs, and the last one removes all */
	_clear_groups(page->host.base);
	freezer_host_remove(page->host.base);
	gang_page_close(page);
}

int agent_gang_start(struct agent *a)
{
	if (!xstrcmp(slurm_conf.schedtype, "sched/storm")) {
		if (!_begin(a))	/* a node without it is a stock node */
			agent_note_find(a);
		return 0;
	}
	agent_note_forget(a);
	_never_again(a);
	return 0;
}

void agent_gang_stop(struct agent *a)
{
	struct agent_gang *g = a->gang;

	if (!g)
		return;
	_open(g, GANG_WHY_CLOSED);
	while (g->steps)
		_forget(g, g->steps);
	_realtime(g, false);
	_forget_maps(g);
	agent_io_close(a, &g->notify);
	gang_page_close(g->page);
	gang_trace_close(g->trace);
	a->gang = NULL;
	xfree(g);
}

bool agent_gang_admits(const struct agent *a,
		       const struct storm_open_info *info)
{
	(void) a;
	return (!info->uid || info->uid == slurm_conf.slurm_user_id) &&
		info->cluster == gang_cluster_number(slurm_conf.cluster_name);
}

void agent_gang_session_open(struct agent_session *s)
{
	if (!s->a->gang && _begin(s->a))
		return;
	s->a->gang->session = s;
	agent_note_keep(s->a, s->id);
	info("gang scheduling: in the cluster's domain");
}

void agent_gang_session_close(struct agent_session *s)
{
	struct agent_gang *g = s->a->gang;

	if (!g || g->session != s)
		return;
	g->session = NULL;
	_open(g, GANG_WHY_CLOSED);
	_forget_maps(g);
	_realtime(g, false);
	g->number = 0;
	g->was_away = false;
}

void agent_gang_event(struct agent_session *s, uint32_t event,
		      const void *buf, size_t len)
{
	struct agent_gang *g = s->a->gang;

	if (!g || g->session != s || event != GANG_EVENT_MAP)
		debug("cluster domain: event %u means nothing here", event);
	else
		_map(g, buf, len);
}

void agent_gang_no_slurmd(struct agent *a)
{
	if (a->gang)
		_open(a->gang, GANG_WHY_NO_SLURMD);
}

void agent_gang_returned(struct agent *a)
{
	if (!a->gang)
		return;
	a->gang->was_away |= a->gang->now != NULL;
	_open(a->gang, GANG_WHY_RETURNED);
}
