/*
 * agent_gang_naps.c - how long a step sleeps in its turn: the turn less what the
 * thread that sleeps least was on a CPU or waited for one (schedstat in /proc).
 *
 * The kernel's figures of a thread that runs on another CPU are as old as its last
 * tick, and it counts a wait when it is over.  So what is read just after a turn may
 * lack some time awake.  It is exact once the step stands, which mostly takes
 * microseconds.  Files are opened by the main loop, which looks for new threads
 * now and then; the thread that takes strobes only reads them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slurm/slurm.h"
#include "src/common/xmalloc.h"

#include "agent_gang_private.h"
#include "src/libstorm/base/minmax.h"

#define THREADS 64 /* nobody fills the turns of a step with more */
#define LOOK (300 * STORM_MS)
#define NOTHING 32 /* 1/32 of a turn asleep is as good as none */

struct gang_awake {
	uint64_t ran, waited; /* ns: on a CPU, and for one */
};

struct gang_nap {
	pid_t thread;
	int fd; /* its schedstat */
	bool there;
	struct gang_awake begun; /* as the turn began */
};

struct gang_naps {
	uint64_t at; /* when the turn began */
	uint32_t n;
	struct gang_nap nap[THREADS];
};

void agent_gang_naps_free(struct gang_naps *n)
{
	for (uint32_t i = 0; n && i < n->n; i++)
		close(n->nap[i].fd);
	xfree(n);
}

/* ----------------------------------------------------- in the turns' thread --- */

/* False: it has ended. */
static bool agent_gang_nap_read(const struct gang_nap *t,
				struct gang_awake *out)
{
	char text[64], *end;
	ssize_t n = pread(t->fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return false;
	text[n] = '\0';
	out->ran = strtoull(text, &end, 10);
	out->waited = strtoull(end, NULL, 10);
	return true;
}

void agent_gang_naps_begin(struct gang_local *l)
{
	struct gang_naps *n = l->naps;

	if (!n)
		return;
	for (uint32_t i = 0; i < n->n; i++)
		n->nap[i].there =
			agent_gang_nap_read(&n->nap[i], &n->nap[i].begun);
	n->at = storm_now();
}

/* ns that it was awake since the turn began.  False: it has not run since. */
static bool agent_gang_nap_awake(const struct gang_nap *t, uint64_t *ns)
{
	struct gang_awake now;

	*ns = 0;
	if (!agent_gang_nap_read(t, &now) || now.ran == t->begun.ran)
		return false;
	*ns = now.ran - t->begun.ran + now.waited - t->begun.waited;
	return true;
}

/* Does the step stand by now?  It has to run in order to stop, and others may have
 * the CPU.  With signals it takes too long to find out. */
static bool agent_gang_naps_stands(const struct gang_local *l, bool stood)
{
	return l->step.kind == FREEZER_SIGNALS ? stood : freezer_settled(l->f);
}

/* To be continued is to run, and be it to fall asleep again.  So a thread that has
 * not run in a turn that began with that still waits to; in another turn it may as
 * well have slept. */
void agent_gang_naps_end(struct gang_local *l, const struct turns_act *act)
{
	struct gang_naps *n = l->naps;
	uint64_t turn = n && act->over > n->at ? act->over - n->at : 0;
	uint64_t most = 0, ns, asleep;
	bool exact = true;

	for (uint32_t i = 0; n && i < n->n; i++) {
		if (!n->nap[i].there)
			continue;
		if (!agent_gang_nap_awake(&n->nap[i], &ns) && act->woke)
			return;
		exact &= ns != 0;
		most = storm_max(most, ns);
	}
	asleep = turn - storm_min(turn, most);
	exact = exact && (asleep < turn / NOTHING ||
			  agent_gang_naps_stands(l, act->stood));
	turns_slept(l->turns, turn, asleep, exact);
}

/* --------------------------------------------------------- in the main loop --- */

/* False: there are too many. */
static bool agent_gang_naps_add(struct gang_naps *n, pid_t pid,
				const char *thread)
{
	char path[64];
	int fd;

	if (n->n == THREADS)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/schedstat", pid,
		 thread);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ESRCH;
	n->nap[n->n++] = (struct gang_nap) { .thread = atoi(thread), .fd = fd };
	return true;
}

static bool agent_gang_naps_add_all(struct gang_naps *n, pid_t pid)
{
	char path[32];
	struct dirent *e;
	bool good = true;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	while (d && good && (e = readdir(d)))
		if (e->d_name[0] != '.')
			good = agent_gang_naps_add(n, pid, e->d_name);
	if (d)
		closedir(d);
	return good;
}

/* NULL: it cannot be measured. */
static struct gang_naps *agent_gang_naps_find(struct agent_gang *g,
					      struct gang_local *l)
{
	bool lock = l->step.kind == FREEZER_SIGNALS, good;
	struct gang_naps *n = xmalloc(sizeof(*n));
	size_t count = 0;
	pid_t *pids;

	/* the list of signals' processes belongs to the thread that stops them,
	 * too */
	if (lock)
		agent_gang_lock(g);
	good = !freezer_pids(l->f, &pids, &count);
	if (lock)
		agent_gang_unlock(g);
	if (!good)
		count = 0;
	for (size_t i = 0; i < count && good; i++)
		good = agent_gang_naps_add_all(n, pids[i]);
	if (count || good)
		free(pids);
	if (good)
		return n;
	agent_gang_naps_free(n);
	return NULL;
}

static bool agent_gang_naps_same(const struct gang_naps *a,
				 const struct gang_naps *b)
{
	if (!a || !b || a->n != b->n)
		return !a && !b;
	for (uint32_t i = 0; i < a->n; i++)
		if (a->nap[i].thread != b->nap[i].thread)
			return false;
	return true;
}

static void agent_gang_naps_renew(struct agent_gang *g, struct gang_local *l)
{
	struct gang_naps *old = agent_gang_naps_find(g, l), *fresh = old;
	bool anew;

	agent_gang_lock(g);
	anew = !agent_gang_naps_same(fresh, l->naps);
	if (anew) {
		old = l->naps;
		l->naps = fresh;
	}
	turns_saw_threads(l->turns, l->naps, anew);
	agent_gang_unlock(g);
	agent_gang_naps_free(old);
}

/* Only the main loop changes maps. */
uint64_t agent_gang_naps_look(struct agent_gang *g, uint64_t now)
{
	uint64_t next = STORM_NEVER;

	if (!turns_shares(g->turns) || !turns_is_flexible(g->turns))
		return next;
	for (struct gang_local *l = g->steps; l; l = l->next) {
		if (!turns_step_takes_turns(g->turns, l->turns) ||
		    !freezer_can_fill(l->f))
			continue;
		if (now >= l->naps_at + LOOK) {
			agent_gang_naps_renew(g, l);
			agent_gang_waits_look(g, l);
			l->naps_at = now;
		}
		next = storm_min(next, l->naps_at + LOOK);
	}
	return next;
}
