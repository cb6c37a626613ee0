/*
 * gang_guard.c - see gang_guard.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "gang_guard.h"
#include "gang_page.h"
#include "gang_step.h"
#include "src/libstorm/base/clock.h"

#define LOOK_IDLE 500		/* ms */
#define LOOK_FIRST 25		/* no strobe has come yet */
#define LOOK_MAX 40		/* the agent waits for our own sign of life */
#define PRIORITY 10		/* of SCHED_FIFO: the agent goes before us */

static struct {
	const char *rundir, *node;
	void (*say)(bool bad, const char *text);
	struct gang_page *page;		/* the agent's; NULL: none known */
	uint64_t freed_at;	/* its sign of life when it was found late */
	int notify;
	bool hurries;
} g = { .notify = -1 };

void gang_guard_begin(const char *rundir, const char *node,
		      void (*say)(bool bad, const char *text))
{
	g.rundir = rundir;
	g.node = node;
	g.say = say;
}

static void gang_guard_warn(const char *name, int err)
{
	char text[256];

	snprintf(text, sizeof(text), "gang: step %s does not go on: %s", name,
		 strerror(err));
	g.say(true, text);
}

static void gang_guard_free_all(const char *why)
{
	char dir[PATH_MAX], text[128];
	unsigned int n = 0;

	/* before: an agent that is late must not think that they stand */
	g.page->freed++;
	if (!gang_step_dir(g.rundir, g.node, false, dir))
		n = gang_step_thaw_all(dir, false, gang_guard_warn);
	snprintf(text, sizeof(text), "gang: the agent %s, %u steps go on", why,
		 n);
	g.say(false, text);
}

/* Whoever has to look in time must not wait for those that compute. */
static void gang_guard_hurry(bool yes)
{
	struct sched_param p = { .sched_priority = yes ? PRIORITY : 0 };

	if (yes == g.hurries)
		return;
	g.hurries = yes;
	/* where that is refused the agent says so */
	sched_setscheduler(0, (yes ? SCHED_FIFO : SCHED_OTHER) |
			   SCHED_RESET_ON_FORK, &p);
}

/* False: this node takes no part. */
static bool gang_guard_find_page(void)
{
	/* before anything is read that it would tell of */
	if (g.notify < 0)
		g.notify = gang_page_notify(g.rundir, g.node);
	if (gang_page_notified(g.notify) & (IN_MOVED_TO | IN_Q_OVERFLOW)) {
		gang_page_close(g.page);
		g.page = NULL;
	}
	if (!g.page)
		g.page = gang_page_open(g.rundir, g.node);
	return g.page;
}

/* When it would be late, if it gave no sign of life any more. */
static int gang_guard_wait_time(uint64_t now)
{
	uint64_t limit = g.page->limit, alive = g.page->alive, at;

	if (!g.page->sharing)
		return LOOK_IDLE;
	if (!limit)
		return LOOK_FIRST;
	if (!g.page->stopped || alive > now || alive == g.freed_at)
		alive = now;
	at = alive + limit;
	if (at <= now)
		return 1;
	at = (at - now) / STORM_MS + 1;
	return at > LOOK_MAX ? LOOK_MAX : (int) at;
}

int gang_guard_look(bool agent_gone)
{
	uint64_t now;

	if (!gang_guard_find_page()) {
		gang_guard_hurry(false);
		return LOOK_IDLE;
	}
	if (agent_gone) {
		/* whatever it says of itself: it may have died in between */
		gang_guard_free_all("is gone");
		gang_guard_end();	/* the next one makes its own */
		return LOOK_IDLE;
	}
	gang_guard_hurry(g.page->sharing);
	now = storm_now();
	g.page->watched = now;
	if (gang_page_late(g.page, now) && g.page->alive != g.freed_at) {
		g.freed_at = g.page->alive;
		gang_guard_free_all("gives no sign of life");
	}
	return gang_guard_wait_time(now);
}

void gang_guard_dead(void)
{
	char dir[PATH_MAX];

	if (!gang_step_dir(g.rundir, g.node, false, dir))
		gang_step_thaw_all(dir, true, gang_guard_warn);
}

int gang_guard_fd(void)
{
	return g.notify;
}

void gang_guard_end(void)
{
	gang_page_close(g.page);
	g.page = NULL;
	if (g.notify >= 0)
		close(g.notify);
	g.notify = -1;
	gang_guard_hurry(false);
}
