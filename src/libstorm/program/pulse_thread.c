/*
 * pulse_thread.c - see pulse_thread.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "pulse_thread.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/base/thread.h"
#include "src/libstorm/wire/pulse.h"

/* It reads so many at a time; if as many were refused, it pauses. */
#define BATCH 64
#define PAUSE (5 * STORM_MS)
/* After a datagram it leaves those that follow unread for so long: a node above
 * others would wake up for each of their signs.  A sign that is taken so much later
 * is still one, and a node without children answers at once. */
#define GATHER (10 * STORM_MS)
#define WAIT_MAX STORM_SEC

struct storm_pulse_thread {
	const struct storm_driver *driver;
	struct storm_net *net;
	pthread_mutex_t *lock;
	struct storm_pulse_thread_ops ops;
	void *arg;
	int fd, wake;
	_Atomic bool stop;
	pthread_t thread;
};

static void pulse_thread_sleep(uint64_t ns)
{
	const struct timespec t = { .tv_nsec = (long) ns };

	nanosleep(&t, NULL);
}

/* Wait until then, or for what wakes it; gather: not for datagrams. */
static void pulse_thread_wait(struct storm_pulse_thread *t, uint64_t next,
			      bool gather)
{
	struct pollfd p[2] = { { .fd = t->wake, .events = POLLIN },
			       { .fd = t->fd, .events = POLLIN } };
	uint64_t now = storm_now(), ns = next <= now ? 0 : next - now, count;
	struct timespec ts;

	ns = storm_min(ns, gather ? GATHER : WAIT_MAX);
	ts.tv_sec = (time_t) (ns / STORM_SEC);
	ts.tv_nsec = (long) (ns % STORM_SEC);
	if (ppoll(p, gather ? 1 : 2, &ts, NULL) > 0 && p[0].revents &&
	    read(t->wake, &count, sizeof(count)) < 0)
		return;
}

/* Locked.  Returns how many came; *refused: how many of them do not count. */
static unsigned int pulse_thread_read(struct storm_pulse_thread *t,
				      unsigned int *refused)
{
	uint8_t buf[STORM_PULSE_LEN + 1];
	unsigned int n = 0;

	for (*refused = 0; n < BATCH; n++) {
		ssize_t len =
			t->driver->pulse->receive(t->net, buf, sizeof(buf));

		if (len < 0)
			break;
		*refused +=
			!t->ops.take(t->arg, buf, (size_t) len, storm_now());
	}
	return n;
}

static void *pulse_thread_run(void *arg)
{
	struct storm_pulse_thread *t = arg;
	unsigned int came, refused;
	uint64_t next;

	while (!t->stop) {
		pthread_mutex_lock(t->lock);
		came = pulse_thread_read(t, &refused);
		next = t->ops.tick(t->arg, storm_now());
		pthread_mutex_unlock(t->lock);
		if (t->ops.tell)
			t->ops.tell(t->arg);
		if (refused == BATCH)
			pulse_thread_sleep(PAUSE);
		pulse_thread_wait(t, next, came && came < BATCH);
	}
	return NULL;
}

struct storm_pulse_thread *
storm_pulse_thread_start(const struct storm_driver *driver,
			 struct storm_net *net, pthread_mutex_t *lock,
			 const struct storm_pulse_thread_ops *ops, void *arg,
			 int priority, int *refused)
{
	const struct sched_param p = { .sched_priority = priority };
	struct storm_pulse_thread *t = calloc(1, sizeof(*t));

	*refused = 0;
	if (!t)
		return NULL;
	t->driver = driver;
	t->net = net;
	t->lock = lock;
	t->ops = *ops;
	t->arg = arg;
	t->fd = driver->pulse ? driver->pulse->open(net) : -1;
	t->wake = t->fd < 0 ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->wake < 0 ||
	    storm_thread_start(&t->thread, pulse_thread_run, t)) {
		if (t->wake >= 0)
			close(t->wake);
		free(t);
		return NULL;
	}
	pthread_setname_np(t->thread, "storm_pulse");
	if (priority)
		*refused = pthread_setschedparam(
			t->thread, SCHED_FIFO | SCHED_RESET_ON_FORK, &p);
	return t;
}

void storm_pulse_thread_wake(struct storm_pulse_thread *t)
{
	const uint64_t one = 1;

	if (write(t->wake, &one, sizeof(one)) < 0)
		return; /* it is full, so the thread is awake */
}

void storm_pulse_thread_stop(struct storm_pulse_thread *t)
{
	if (!t)
		return;
	t->stop = true;
	storm_pulse_thread_wake(t);
	pthread_join(t->thread, NULL);
	close(t->wake);
	free(t);
}
