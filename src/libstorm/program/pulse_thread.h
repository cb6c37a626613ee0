/*
 * pulse_thread.h - the thread that gives and takes signs of life, with a
 * real-time priority if this process may have one.  An ordinary thread woke up
 * as much as 0.4 s late on a busy host, and would look dead for that long.
 *
 * The kernel lets pulses of one session alone to its socket, and it reads few of
 * what turns out to be forged.  So whatever is sent to this host, the thread
 * takes no more than a few hundredths of a processor.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PULSE_THREAD_H
#define STORM_PULSE_THREAD_H

#include <pthread.h>

#include "src/libstorm/transport/driver.h"

struct storm_pulse_thread;

struct storm_pulse_thread_ops {
	/* Both are called with the lock.  take: a datagram has come; false: it
	 * is refused.  tick: all that has come was taken; returns when to call
	 * it again, or STORM_NEVER. */
	bool (*take)(void *arg, const uint8_t *buf, size_t len, uint64_t now);
	uint64_t (*tick)(void *arg, uint64_t now);
	/* Called after each tick without the lock.  May be NULL. */
	void (*tell)(void *arg);
};

/* Start it.  driver, net, lock and arg must outlive it.  priority: of
 * SCHED_FIFO; 0: an ordinary thread.  *refused: an errno if it may not have
 * that, and is an ordinary thread.  NULL: there is none, which is logged. */
struct storm_pulse_thread *
storm_pulse_thread_start(const struct storm_driver *driver,
			 struct storm_net *net, pthread_mutex_t *lock,
			 const struct storm_pulse_thread_ops *ops, void *arg,
			 int priority, int *refused);
/* Have it call tick soon.  Any thread. */
void storm_pulse_thread_wake(struct storm_pulse_thread *t);
/* End and free it; NULL is allowed.  Not locked. */
void storm_pulse_thread_stop(struct storm_pulse_thread *t);

#endif
