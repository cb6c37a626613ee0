/*
 * step_guard.c - see step_guard.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "src/gang/gang_page.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/base/thread.h"
#include "step_guard.h"

/* slurmd's guard looks more often; this one serves if slurmd does not look at
 * all. Looks are rare, because each delays a program that waits for all of its
 * nodes. */
#define LATE (800 * STORM_MS)
#define LOOK_AGAIN 1000 /* ms */
#define TRY_AGAIN 20	/* ms; slurmstepd is the user for now */
#define GREETINGS 500	/* at most, TRY_AGAIN after the one before */
#define PRIORITY 10	/* of SCHED_FIFO, as slurmd's guard */

static struct {
	pthread_t thread;
	bool running;
	const char *rundir, *node;
	struct gang_step step;
	struct freezer *f;
	void (*say)(const char *);
	bool (*greet)(void);
	uint32_t greetings; /* of the new agent, that are left */
	int wake;
	struct gang_page *page; /* the agent's; NULL: none known */
	int agent;		/* its pidfd; -1 */
	pid_t gone;		/* the last agent whose end was seen */
	uint64_t gone_started;	/* when the agent `gone` began */
	uint64_t freed_at;	/* its sign of life when it was late */
	uint32_t freed;		/* of the page, as last seen */
	bool retry;
	bool stuck; /* the step could not be continued */
} guard = { .wake = -1, .agent = -1 };

/* Has gang scheduling stopped the step, and not Slurm, maybe by the same group?
 * If in doubt, true. */
static bool step_guard_stands_by_us(void)
{
	char dir[PATH_MAX], name[GANG_STEP_NAME];
	struct gang_step s;

	gang_step_name(&guard.step, &name);
	if (gang_step_dir(guard.rundir, guard.node, false, &dir))
		return true;
	if (gang_step_held(dir, name))
		return false;
	return gang_step_read(dir, name, &s) || s.marked;
}

static void step_guard_let_go_on(const char *why, bool tell)
{
	char text[256];
	int err;

	if (!step_guard_stands_by_us()) {
		guard.stuck = false;
		return;
	}
	/* First: an agent that is only late must learn of it. */
	if (guard.page)
		guard.page->freed++;
	err = freezer_continue(guard.f, true);
	tell |= err && !guard.stuck;
	guard.stuck = err && err != ENODEV;
	if (tell) {
		snprintf(text, sizeof(text), "gang: the agent %s, %s%s", why,
			 err ? "but this step cannot be continued: " :
			       "this step continues",
			 err ? strerror(err) : "");
		guard.say(text);
	}
}

static void step_guard_forget_agent(void)
{
	if (guard.page) {
		guard.gone = guard.page->agent;
		guard.gone_started = guard.page->started;
	}
	gang_page_close(guard.page);
	guard.page = NULL;
	guard.greetings = 0;
	if (guard.agent >= 0)
		close(guard.agent);
	guard.agent = -1;
}

/* Open the agent's pidfd; the pid may be reused, so compare the start. */
static int step_guard_watch(const struct gang_page *p)
{
	int fd = pidfd_open(p->agent, 0);

	if (fd >= 0 && gang_step_started(p->agent) != p->started) {
		close(fd);
		errno = ESRCH;
		return -1;
	}
	return fd;
}

/* Find the new agent; there may be none. */
static void step_guard_find_agent(void)
{
	struct gang_page *p = gang_page_open(guard.rundir, guard.node);

	guard.retry = !p && errno == EACCES;
	if (!p)
		return;
	if (p->agent == guard.gone && p->started == guard.gone_started) {
		gang_page_close(p);
		return;
	}
	guard.agent = step_guard_watch(p);
	if (guard.agent < 0 && errno != ESRCH) {
		gang_page_close(p); /* no descriptor is free: again, later */
		return;
	}
	guard.page = p;
	guard.freed = p->freed;
	guard.stuck = false; /* an agent begins with that */
	guard.greetings = guard.greet ? GREETINGS : 0;
	if (guard.agent < 0) {
		step_guard_let_go_on("is gone", true);
		step_guard_forget_agent();
	}
}

static uint64_t step_guard_late_at(void)
{
	return guard.page->alive + storm_max(guard.page->limit, LATE);
}

static void step_guard_look_at_agent(void)
{
	uint64_t alive = guard.page->alive, now = storm_now();
	bool slurmd_did = guard.page->freed != guard.freed;

	if (!guard.page->stopped || now < step_guard_late_at()) {
		guard.stuck = false;
		return;
	}
	if (alive == guard.freed_at && !guard.stuck)
		return;
	guard.freed_at = alive;
	step_guard_let_go_on("does not respond", !slurmd_did && !guard.stuck);
	guard.freed = guard.page->freed;
}

/* How long to wait, in ms. */
static int step_guard_wait_time(void)
{
	uint64_t now = storm_now(), at;

	if (guard.retry || guard.greetings)
		return TRY_AGAIN;
	if (!guard.page || !guard.page->sharing || guard.stuck)
		return LOOK_AGAIN;
	at = step_guard_late_at();
	return at > now ? (at - now) / STORM_MS + 1 : LOOK_AGAIN;
}

static void step_guard_greet(void)
{
	if (guard.greetings && (guard.greet() || !--guard.greetings))
		guard.greetings = 0;
}

/* The last guard must not wait for processes that compute.  The agent logs a
 * refusal. */
static void step_guard_hurry(void)
{
	const struct sched_param p = { .sched_priority = PRIORITY };

	sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &p);
}

static void *step_guard_thread(void *arg)
{
	(void) arg;
	step_guard_hurry();
	step_guard_find_agent();
	step_guard_greet();
	for (;;) {
		struct pollfd p[2] = {
			{ .fd = guard.wake, .events = POLLIN },
			{ .fd = guard.agent, .events = POLLIN },
		};

		if (poll(p, 2, step_guard_wait_time()) < 0 && errno != EINTR)
			return NULL;
		if (p[0].revents)
			return NULL;
		if (p[1].revents) {
			step_guard_let_go_on("is gone", true);
			step_guard_forget_agent();
		}
		if (!guard.page)
			step_guard_find_agent();
		if (!guard.page && guard.stuck)
			step_guard_let_go_on("is gone", false);
		if (guard.page)
			step_guard_look_at_agent();
		step_guard_greet();
	}
}

static void step_guard_release(void)
{
	step_guard_forget_agent();
	guard.gone = 0;
	guard.stuck = false;
	freezer_drop(guard.f);
	guard.f = NULL;
	if (guard.wake >= 0)
		close(guard.wake);
	guard.wake = -1;
	guard.running = false;
}

int step_guard_start(const char *rundir, const char *node,
		     const struct gang_step *step, void (*say)(const char *),
		     bool (*greet)(void))
{
	int err;

	guard.rundir = rundir;
	guard.node = node;
	guard.step = *step;
	guard.say = say;
	guard.greet = greet;
	/* slurmstepd is not always root */
	guard.f = gang_step_open(step);
	guard.wake = eventfd(0, EFD_CLOEXEC);
	if (!guard.f || guard.wake < 0) {
		err = errno;
		step_guard_release();
		return err;
	}
	err = storm_thread_start(&guard.thread, step_guard_thread, NULL);
	guard.running = !err;
	if (err)
		step_guard_release();
	return err;
}

void step_guard_stop(void)
{
	const uint64_t one = 1;

	if (!guard.running)
		return;
	if (write(guard.wake, &one, sizeof(one)) != sizeof(one))
		return; /* the thread ends with the process */
	pthread_join(guard.thread, NULL);
	step_guard_release();
}
