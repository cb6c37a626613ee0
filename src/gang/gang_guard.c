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
#define TRY_AGAIN STORM_SEC

static struct {
	const char *rundir, *node;
	void (*say)(bool bad, const char *text);
	struct gang_page *page; /* the agent's; NULL: none known */
	uint64_t number;	/* of that page */
	uint64_t freed_at;	/* its sign of life when it was found late */
	bool told_failed;	/* that is in the log */
	bool failed;		/* a step could not be continued */
	uint64_t again_at;	/* then: when to try again */
	bool hurries;
} guard;

void gang_guard_begin(const char *rundir, const char *node,
		      void (*say)(bool bad, const char *text))
{
	guard.rundir = rundir;
	guard.node = node;
	guard.say = say;
}

static void gang_guard_warn(const char *name, int err)
{
	char text[256];

	guard.failed = true;
	if (guard.told_failed)
		return;
	snprintf(text, sizeof(text),
		 *name == '/' ? "gang: cannot continue steps of %s: %s" :
				"gang: cannot continue step %s: %s",
		 name, strerror(err));
	guard.say(true, text);
}

/* Continue all steps.  What fails is told once, until all succeed. */
static unsigned int gang_guard_thaw(bool dead)
{
	char dir[PATH_MAX];
	unsigned int n = 0;

	guard.told_failed = guard.failed;
	guard.failed = false;
	if (!gang_step_dir(guard.rundir, guard.node, false, &dir))
		n = gang_step_thaw_all(dir, dead, gang_guard_warn);
	guard.again_at = storm_now() + TRY_AGAIN;
	return n;
}

static void gang_guard_free_all(const char *why)
{
	char text[128];
	bool again = guard.failed;
	unsigned int n;

	/* First: an agent that is only late must learn of it. */
	guard.page->freed++;
	n = gang_guard_thaw(false);
	if (again)
		return;
	snprintf(text, sizeof(text), "gang: the agent %s, %u steps continue",
		 why, n);
	guard.say(false, text);
}

/* The guard must not wait for processes that compute. */
static void gang_guard_hurry(bool yes)
{
	struct sched_param p = { .sched_priority = yes ? PRIORITY : 0 };

	if (yes == guard.hurries)
		return;
	guard.hurries = yes;
	/* the agent logs a refusal */
	sched_setscheduler(
		0, (yes ? SCHED_FIFO : SCHED_OTHER) | SCHED_RESET_ON_FORK, &p);
}

/* False: this node does no gang scheduling. */
static bool gang_guard_find_page(void)
{
	uint64_t number = gang_page_number(guard.rundir, guard.node);

	/* an earlier agent's, or one that was left */
	if (number != guard.number) {
		gang_page_close(guard.page);
		guard.page = NULL;
	}
	guard.number = number;
	if (!guard.page)
		guard.page = gang_page_open(guard.rundir, guard.node);
	return guard.page;
}

/* When it is late if its stamp does not change. */
static int gang_guard_wait_time(uint64_t now)
{
	uint64_t limit = guard.page->limit, alive = guard.page->alive, at;

	if (!guard.page->sharing)
		return LOOK_IDLE;
	if (!limit)
		return LOOK_FIRST;
	if (!guard.page->stopped || alive > now || alive == guard.freed_at)
		alive = now;
	at = alive + limit;
	if (at <= now)
		return 1;
	at = (at - now) / STORM_MS + 1;
	return at > LOOK_MAX ? LOOK_MAX : (int) at;
}

static bool gang_guard_is_due(uint64_t now)
{
	return guard.failed && now >= guard.again_at;
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
	gang_guard_hurry(guard.page->sharing);
	now = storm_now();
	guard.page->watched = now;
	if (gang_page_late(guard.page, now) &&
	    (guard.page->alive != guard.freed_at || gang_guard_is_due(now))) {
		guard.freed_at = guard.page->alive;
		gang_guard_free_all("does not respond");
	}
	return gang_guard_wait_time(now);
}

void gang_guard_dead(void)
{
	gang_guard_thaw(true);
}

void gang_guard_still_dead(void)
{
	if (gang_guard_is_due(storm_now()))
		gang_guard_thaw(true);
}

void gang_guard_end(void)
{
	gang_page_close(guard.page);
	guard.page = NULL;
	gang_guard_hurry(false);
}
