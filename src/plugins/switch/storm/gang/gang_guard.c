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

#include "gang_guard.h"
#include "gang_page.h"
#include "gang_step.h"
#include "src/libstorm/base/clock.h"

#define LOOK_IDLE 500 /* ms */
#define LOOK_FIRST 25 /* no strobe has come yet */
#define LOOK_MAX 40   /* the agent checks this guard's stamp */
#define PRIORITY 10   /* of SCHED_FIFO, below the agent's */

static struct {
	const char *rundir, *node;
	void (*say)(bool bad, const char *text);
	struct gang_page *page; /* the agent's; NULL: none known */
	uint64_t number;	/* of that page */
	uint64_t freed_at;	/* its sign of life when it was found late */
	bool hurries;
} g;

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

	snprintf(text, sizeof(text), "gang: cannot continue step %s: %s", name,
		 strerror(err));
	g.say(true, text);
}

static void gang_guard_free_all(const char *why)
{
	char dir[PATH_MAX], text[128];
	unsigned int n = 0;

	/* First: an agent that is only late must learn of it. */
	g.page->freed++;
	if (!gang_step_dir(g.rundir, g.node, false, dir))
		n = gang_step_thaw_all(dir, false, gang_guard_warn);
	snprintf(text, sizeof(text), "gang: the agent %s, %u steps continue",
		 why, n);
	g.say(false, text);
}

/* The guard must not wait for processes that compute. */
static void gang_guard_hurry(bool yes)
{
	struct sched_param p = { .sched_priority = yes ? PRIORITY : 0 };

	if (yes == g.hurries)
		return;
	g.hurries = yes;
	/* the agent logs a refusal */
	sched_setscheduler(
		0, (yes ? SCHED_FIFO : SCHED_OTHER) | SCHED_RESET_ON_FORK, &p);
}

/* False: this node does no gang scheduling. */
static bool gang_guard_find_page(void)
{
	uint64_t number = gang_page_number(g.rundir, g.node);

	/* an earlier agent's, or one that was left */
	if (number != g.number) {
		gang_page_close(g.page);
		g.page = NULL;
	}
	g.number = number;
	if (!g.page)
		g.page = gang_page_open(g.rundir, g.node);
	return g.page;
}

/* When it is late if its stamp does not change. */
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
		/* Whatever its page has: it may have died between two writes. */
		gang_guard_free_all("is gone");
		gang_guard_end(); /* the next one makes its own */
		return LOOK_IDLE;
	}
	gang_guard_hurry(g.page->sharing);
	now = storm_now();
	g.page->watched = now;
	if (gang_page_late(g.page, now) && g.page->alive != g.freed_at) {
		g.freed_at = g.page->alive;
		gang_guard_free_all("does not respond");
	}
	return gang_guard_wait_time(now);
}

void gang_guard_dead(void)
{
	char dir[PATH_MAX];

	if (!gang_step_dir(g.rundir, g.node, false, dir))
		gang_step_thaw_all(dir, true, gang_guard_warn);
}

void gang_guard_end(void)
{
	gang_page_close(g.page);
	g.page = NULL;
	gang_guard_hurry(false);
}
