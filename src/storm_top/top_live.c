/*
 * top_live.c - see top_live.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "src/libstorm/base/clock.h"
#include "top_live.h"

#define GRACE 500 /* ms for a question that is under way when all ends */

struct top_asker {
	struct top_live *live;
	void (*ask)(struct top_known *k);
	pthread_t thread;
};

struct top_live {
	struct top_known *known;
	uint64_t delay; /* ns */
	int fd;
	pthread_mutex_t lock; /* protects stop */
	pthread_cond_t stopped;
	bool stop;
	struct top_asker asker[2];
};

/* True: it is time to ask again. */
static bool top_live_wait(struct top_live *l, uint64_t until)
{
	struct timespec at = { (time_t) (until / STORM_SEC),
			       (long) (until % STORM_SEC) };
	bool stop;

	pthread_mutex_lock(&l->lock);
	while (!l->stop &&
	       pthread_cond_timedwait(&l->stopped, &l->lock, &at) != ETIMEDOUT)
		;
	stop = l->stop;
	pthread_mutex_unlock(&l->lock);
	return !stop;
}

static void *top_live_main(void *arg)
{
	struct top_asker *a = arg;
	uint64_t next;

	do {
		next = storm_now() + a->live->delay;
		a->ask(a->live->known);
		(void) eventfd_write(a->live->fd, 1);
	} while (top_live_wait(a->live, next));
	return NULL;
}

struct top_live *top_live_start(struct top_known *k, double delay)
{
	struct top_live *l = calloc(1, sizeof(*l));
	pthread_condattr_t clock;
	sigset_t all, was;
	int err = 0;

	if (!l)
		return NULL;
	l->known = k;
	l->delay = (uint64_t) (delay * 1e9);
	l->asker[0] = (struct top_asker) { l, top_ask_agents, 0 };
	l->asker[1] = (struct top_asker) { l, top_ask_jobs, 0 };
	l->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->fd < 0) {
		free(l);
		return NULL;
	}
	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&l->stopped, &clock);
	pthread_condattr_destroy(&clock);
	/* signals are the main thread's */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	for (int i = 0; !err && i < 2; i++)
		err = pthread_create(&l->asker[i].thread, NULL, top_live_main,
				     &l->asker[i]);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	/* one that runs uses l, which stays: the program ends */
	errno = err;
	return err ? NULL : l;
}

int top_live_fd(const struct top_live *l)
{
	return l->fd;
}

bool top_live_stop(struct top_live *l)
{
	struct timespec until;
	bool ended = true;

	pthread_mutex_lock(&l->lock);
	l->stop = true;
	pthread_cond_broadcast(&l->stopped);
	pthread_mutex_unlock(&l->lock);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += GRACE * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	for (int i = 0; i < 2; i++)
		if (pthread_timedjoin_np(l->asker[i].thread, NULL, &until))
			ended = false;
	if (!ended)
		return false;
	close(l->fd);
	pthread_cond_destroy(&l->stopped);
	pthread_mutex_destroy(&l->lock);
	free(l);
	return true;
}
