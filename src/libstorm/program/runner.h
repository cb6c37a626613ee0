/*
 * runner.h - the thread that runs one end of the protocol: timers, descriptors
 * and what is to be told.  One lock guards the end; callers of the public
 * interface wait on one condition (storm_test_event() and its like).
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

/* What outlives an end as long as there are events or members of it. */
struct storm_shared {
	const struct storm_driver *driver;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	unsigned int users;
};

/* Of the driver that the settings ask for; one user.  NULL: no memory. */
struct storm_shared *storm_shared_create(const struct storm_settings *set);
/* Locked; unlocks it.  The last one frees it. */
void storm_shared_leave(struct storm_shared *sh);
/* Locked: wait until somebody broadcasts, or the deadline (CLOCK_MONOTONIC ns,
 * 0: none) is past: then false. */
bool storm_shared_wait(struct storm_shared *sh, uint64_t deadline);
/* The driver's time, and some of it passes: not locked. */
uint64_t storm_shared_now(const struct storm_shared *sh);
void storm_shared_sleep(const struct storm_shared *sh, uint64_t ns);

struct storm_runner_ops {
	/* All locked.  Timers: when to call again, at the latest. */
	uint64_t (*tick)(void *arg, uint64_t now);
	/* Make the callbacks that are due; unlocks meanwhile. */
	void (*tell)(void *arg);
};

struct storm_runner {
	struct storm_shared *sh;
	struct storm_net *net;
	const struct storm_runner_ops *ops;
	void *arg;
	pthread_t thread;
	bool running, stop;
	struct pollfd fd[4];	/* the first one wakes it */
	unsigned int fds;
};

/* 0 or an errno.  sh, ops and arg stay the caller's. */
int storm_runner_init(struct storm_runner *r, struct storm_shared *sh,
		      const struct storm_runner_ops *ops, void *arg);
/* Before the start: its place in the network, and other descriptors. */
void storm_runner_net(struct storm_runner *r, struct storm_net *net);
void storm_runner_watch(struct storm_runner *r, int fd);
/* Locked.  0 or an errno. */
int storm_runner_start(struct storm_runner *r, const char *name);
/* Any thread: there is something to do. */
void storm_runner_wake(struct storm_runner *r);
/* Not locked.  Ends the thread, if it runs. */
void storm_runner_stop(struct storm_runner *r);
void storm_runner_clear(struct storm_runner *r);
/* For drivers: timers and calls, and when to do so again. */
uint64_t storm_runner_turn(struct storm_runner *r);

#endif
