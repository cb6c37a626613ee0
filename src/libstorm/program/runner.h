/*
 * runner.h - the thread that runs a domain or a node: timers, descriptors and
 * callbacks.  One lock guards the domain or node.  Callers of the public
 * interface wait on one condition variable.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUNNER_H
#define STORM_RUNNER_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/libstorm/transport/driver.h"

/* What outlives a domain or node while it has events or members. */
struct storm_shared {
	const struct storm_driver *driver;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	unsigned int users;
};

/* Create it with the driver that the settings choose, and with one user, the
 * caller.  NULL: no memory. */
struct storm_shared *storm_shared_create(const struct storm_settings *set);
/* Locked.  Release one use and the lock.  The last user frees it. */
void storm_shared_leave(struct storm_shared *sh);
/* Locked.  Wait until cond is broadcast, or until the deadline (CLOCK_MONOTONIC
 * ns, 0: none).  False: the deadline has passed. */
bool storm_shared_wait(struct storm_shared *sh, uint64_t deadline);
/* The driver's time in ns; and wait for so many ns of it.  Not locked. */
uint64_t storm_shared_now(const struct storm_shared *sh);
void storm_shared_sleep(const struct storm_shared *sh, uint64_t ns);

struct storm_runner_ops {
	/* Both are called locked.  now: the driver's time, ns.  tick runs the
	 * timers, and returns the latest time of its next call. */
	uint64_t (*tick)(void *arg, uint64_t now);
	/* Makes the pending callbacks, and releases the lock meanwhile. */
	void (*tell)(void *arg);
};

struct storm_runner {
	struct storm_shared *sh;
	struct storm_net *net;
	const struct storm_runner_ops *ops;
	void *arg;
	pthread_t thread;
	bool running, stop;
	struct pollfd fd[4]; /* the first wakes the thread */
	unsigned int fds;
};

/* 0 or an errno.  The caller keeps ownership of sh, ops and arg. */
int storm_runner_init(struct storm_runner *r, struct storm_shared *sh,
		      const struct storm_runner_ops *ops, void *arg);
/* Both before the start: set the network; add a descriptor that wakes the
 * thread when it is readable. */
void storm_runner_net(struct storm_runner *r, struct storm_net *net);
void storm_runner_watch(struct storm_runner *r, int fd);
/* Locked.  Start the thread, with this name.  0 or an errno. */
int storm_runner_start(struct storm_runner *r, const char *name);
/* Wake the thread.  Any thread may call. */
void storm_runner_wake(struct storm_runner *r);
/* Not locked.  End the thread if it runs. */
void storm_runner_stop(struct storm_runner *r);
/* Close what storm_runner_init() opened.  The thread has ended, or never
 * ran. */
void storm_runner_clear(struct storm_runner *r);
/* Run timers and callbacks once, for a driver without threads.  Returns the
 * latest time of the next call. */
uint64_t storm_runner_turn(struct storm_runner *r);

#endif
