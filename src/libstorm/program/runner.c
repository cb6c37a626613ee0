/*
 * runner.c - see runner.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "drivers.h"
#include "runner.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/thread.h"

struct storm_shared *storm_shared_create(const struct storm_settings *set)
{
	struct storm_shared *sh = calloc(1, sizeof(*sh));
	pthread_mutexattr_t m;
	pthread_condattr_t a;

	if (!sh)
		return NULL;
	sh->users = 1;
	sh->driver = storm_driver_of(set);
	/* a thread with a real-time priority may strobe while the runner, which
	 * has none, reads datagrams */
	pthread_mutexattr_init(&m);
	pthread_mutexattr_setprotocol(&m, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&sh->lock, &m);
	pthread_mutexattr_destroy(&m);
	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(&sh->cond, &a);
	pthread_condattr_destroy(&a);
	return sh;
}

void storm_shared_leave(struct storm_shared *sh)
{
	bool last = !--sh->users;

	pthread_mutex_unlock(&sh->lock);
	if (!last)
		return;
	pthread_cond_destroy(&sh->cond);
	pthread_mutex_destroy(&sh->lock);
	free(sh);
}

bool storm_shared_wait(struct storm_shared *sh, uint64_t deadline)
{
	struct timespec ts = {
		.tv_sec = (time_t) (deadline / STORM_SEC),
		.tv_nsec = (long) (deadline % STORM_SEC),
	};

	if (sh->driver->turn) {
		bool ok;

		pthread_mutex_unlock(&sh->lock);
		ok = sh->driver->turn(deadline);
		pthread_mutex_lock(&sh->lock);
		return ok;
	}
	if (!deadline)
		return !pthread_cond_wait(&sh->cond, &sh->lock);
	return !pthread_cond_timedwait(&sh->cond, &sh->lock, &ts);
}

uint64_t storm_shared_now(const struct storm_shared *sh)
{
	return sh->driver->now ? sh->driver->now() : storm_now();
}

void storm_shared_sleep(const struct storm_shared *sh, uint64_t ns)
{
	struct timespec ts = {
		.tv_sec = (time_t) (ns / STORM_SEC),
		.tv_nsec = (long) (ns % STORM_SEC),
	};

	if (sh->driver->turn) {
		uint64_t end = sh->driver->now() + ns;

		while (sh->driver->turn(end))
			;
	} else {
		nanosleep(&ts, NULL);
	}
}

static void runner_wait_for(struct storm_runner *r, uint64_t next)
{
	uint64_t now = storm_now(), ns = next <= now ? 0 : next - now, count;
	struct timespec ts;

	if (ns > STORM_SEC)
		ns = STORM_SEC;
	ts.tv_sec = (time_t) (ns / STORM_SEC);
	ts.tv_nsec = (long) (ns % STORM_SEC);
	if (ppoll(r->fd, r->fds, &ts, NULL) > 0 && r->fd[0].revents &&
	    read(r->fd[0].fd, &count, sizeof(count)) < 0)
		return; /* read by another thread: it is awake */
}

/* Locked. */
static uint64_t runner_turn(struct storm_runner *r)
{
	uint64_t next = r->ops->tick(r->arg, storm_shared_now(r->sh));

	r->ops->tell(r->arg);
	return next;
}

uint64_t storm_runner_turn(struct storm_runner *r)
{
	uint64_t next;

	pthread_mutex_lock(&r->sh->lock);
	next = runner_turn(r);
	pthread_mutex_unlock(&r->sh->lock);
	return next;
}

static void *runner_thread(void *arg)
{
	struct storm_runner *r = arg;

	pthread_mutex_lock(&r->sh->lock);
	while (!r->stop) {
		uint64_t next = runner_turn(r);

		pthread_mutex_unlock(&r->sh->lock);
		runner_wait_for(r, next);
		pthread_mutex_lock(&r->sh->lock);
		r->sh->driver->poll(r->net);
	}
	pthread_mutex_unlock(&r->sh->lock);
	return NULL;
}

int storm_runner_init(struct storm_runner *r, struct storm_shared *sh,
		      const struct storm_runner_ops *ops, void *arg)
{
	memset(r, 0, sizeof(*r));
	r->sh = sh;
	r->ops = ops;
	r->arg = arg;
	r->fd[0].fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->fd[0].events = POLLIN;
	r->fds = 1;
	return r->fd[0].fd < 0 ? errno : 0;
}

void storm_runner_net(struct storm_runner *r, struct storm_net *net)
{
	r->net = net;
	if (r->sh->driver->fd)
		storm_runner_watch(r, r->sh->driver->fd(net));
}

void storm_runner_watch(struct storm_runner *r, int fd)
{
	r->fd[r->fds++] = (struct pollfd) { .fd = fd, .events = POLLIN };
}

int storm_runner_start(struct storm_runner *r, const char *name)
{
	int rc;

	if (r->sh->driver->attach) {
		r->sh->driver->attach(r->net, r);
		r->running = true;
		return 0;
	}
	rc = storm_thread_start(&r->thread, runner_thread, r);
	if (rc)
		return rc;
	pthread_setname_np(r->thread, name);
	r->running = true;
	return 0;
}

void storm_runner_wake(struct storm_runner *r)
{
	uint64_t one = 1;

	if (r->sh->driver->wake) {
		if (r->running)
			r->sh->driver->wake(r->net);
		return;
	}
	if (write(r->fd[0].fd, &one, sizeof(one)) < 0)
		return; /* the counter is full: it wakes anyway */
}

void storm_runner_stop(struct storm_runner *r)
{
	pthread_mutex_lock(&r->sh->lock);
	r->stop = true;
	pthread_mutex_unlock(&r->sh->lock);
	if (!r->running)
		return;
	if (r->sh->driver->attach) {
		r->sh->driver->attach(r->net, NULL);
		r->running = false;
		return;
	}
	storm_runner_wake(r);
	pthread_join(r->thread, NULL);
	r->running = false;
}

void storm_runner_clear(struct storm_runner *r)
{
	if (r->fd[0].fd >= 0)
		close(r->fd[0].fd);
}
