/*
 * crew.c - see crew.h.
 *
 * Runs follow each other within microseconds while there is much to do, so who
 * has nothing to do looks for a while before he sleeps.  A run's pieces are
 * claimed by one number that has the run's own in it: who comes late to a run
 * that is over gets none of the next one by mistake.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "clock.h"
#include "crew.h"

#define LOOKS_FOR (100 * STORM_US)	/* without work, before sleep */
#define LOOKS 64			/* between two looks at the clock */
#define RESTS_AFTER 1000		/* looks for who is not done yet */

struct storm_crew {
	unsigned int size;
	pthread_t thread[STORM_CREW_MAX];
	pthread_mutex_t lock;
	pthread_cond_t cond;
	unsigned int sleeping;		/* by the lock */
	atomic_bool stop;
	/* the run in the upper half, pieces that nobody has claimed in the lower */
	_Atomic uint64_t claims;
	_Atomic uint32_t done;
	/* of the run, which ends after the last of its pieces */
	void (*work)(void *arg, unsigned int who, size_t i);
	void *arg;
};

struct hand {
	struct storm_crew *crew;
	unsigned int who;
};

/* Pieces of this run, as long as there are any. */
static void take_part(struct storm_crew *c, unsigned int who, uint32_t run)
{
	uint64_t claims = atomic_load(&c->claims);

	while (claims >> 32 == run && (uint32_t) claims) {
		if (!atomic_compare_exchange_weak(&c->claims, &claims,
						  claims - 1))
			continue;
		c->work(c->arg, who, (uint32_t) claims - 1);
		atomic_fetch_add(&c->done, 1);
		claims = atomic_load(&c->claims);
	}
}

static bool is_news(struct storm_crew *c, uint32_t run)
{
	return atomic_load(&c->claims) >> 32 != run || atomic_load(&c->stop);
}

/* Until there is another run than this one, or the end. */
static void look_out(struct storm_crew *c, uint32_t run)
{
	uint64_t end = storm_now() + LOOKS_FOR;

	do {
		for (int i = 0; i < LOOKS; i++) {
			if (is_news(c, run))
				return;
			sched_yield();
		}
	} while (storm_now() < end);
	pthread_mutex_lock(&c->lock);
	c->sleeping++;
	while (!is_news(c, run))
		pthread_cond_wait(&c->cond, &c->lock);
	c->sleeping--;
	pthread_mutex_unlock(&c->lock);
}

static void *helper(void *arg)
{
	struct hand h = *(struct hand *) arg;
	uint32_t run = 0;

	free(arg);
	for (;;) {
		look_out(h.crew, run);
		if (atomic_load(&h.crew->stop))
			return NULL;
		run = (uint32_t) (atomic_load(&h.crew->claims) >> 32);
		take_part(h.crew, h.who, run);
	}
}

static void wake(struct storm_crew *c)
{
	pthread_mutex_lock(&c->lock);
	if (c->sleeping)
		pthread_cond_broadcast(&c->cond);
	pthread_mutex_unlock(&c->lock);
}

/* Whose thread has real-time priority rests: else he might keep the one whom he
 * waits for from the core. */
static void await_rest(struct storm_crew *c, size_t n)
{
	const struct timespec rest = { .tv_nsec = 50000 };

	for (int looks = 0; atomic_load(&c->done) < n; looks++)
		if (looks < RESTS_AFTER)
			sched_yield();
		else
			nanosleep(&rest, NULL);
}

void storm_crew_run(struct storm_crew *c,
		    void (*work)(void *arg, unsigned int who, size_t i),
		    void *arg, size_t n)
{
	uint32_t run = (uint32_t) (atomic_load(&c->claims) >> 32) + 1;

	c->work = work;
	c->arg = arg;
	atomic_store(&c->done, 0);
	atomic_store(&c->claims, (uint64_t) run << 32 | (uint32_t) n);
	wake(c);
	take_part(c, 0, run);
	await_rest(c, n);
}

/* No signal is theirs. */
static bool add(struct storm_crew *c, unsigned int who)
{
	struct hand *h = malloc(sizeof(*h));
	sigset_t all, before;
	int err;

	if (!h)
		return false;
	*h = (struct hand) { c, who };
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&c->thread[who], NULL, helper, h);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		free(h);
	return !err;
}

struct storm_crew *storm_crew_start(unsigned int size)
{
	struct storm_crew *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->cond, NULL);
	if (size > STORM_CREW_MAX)
		size = STORM_CREW_MAX;
	for (c->size = 1; c->size < size; c->size++)
		if (!add(c, c->size))
			break;
	if (c->size > 1)
		return c;
	storm_crew_stop(c);
	return NULL;
}

void storm_crew_stop(struct storm_crew *c)
{
	if (!c)
		return;
	atomic_store(&c->stop, true);
	pthread_mutex_lock(&c->lock);
	pthread_cond_broadcast(&c->cond);
	pthread_mutex_unlock(&c->lock);
	for (unsigned int i = 1; i < c->size; i++)
		pthread_join(c->thread[i], NULL);
	pthread_cond_destroy(&c->cond);
	pthread_mutex_destroy(&c->lock);
	free(c);
}
