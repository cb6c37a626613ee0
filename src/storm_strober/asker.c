/*
 * asker.c - see asker.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <time.h>

#include "asker.h"
#include "src/libstorm/program/domain_private.h"

int asker_start(struct asker *a, storm_domain_t *d, void *(*run)(void *) )
{
	pthread_condattr_t attr;
	int err;

	a->domain = d;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&a->cond, &attr);
	pthread_condattr_destroy(&attr);
	err = pthread_create(&a->thread, NULL, run, NULL);
	if (err)
		pthread_cond_destroy(&a->cond);
	a->running = !err;
	return err;
}

void asker_stop(struct asker *a)
{
	if (!a->running)
		return;
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_signal(&a->cond);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	pthread_cond_destroy(&a->cond);
	a->running = a->stop = false;
}

void asker_renew(struct asker *a)
{
	a->turn++;
	if (a->running)
		pthread_cond_signal(&a->cond);
}

bool asker_pause(struct asker *a, uint64_t turn, uint64_t until)
{
	const struct timespec ts = { .tv_sec = until / STORM_SEC,
				     .tv_nsec = until % STORM_SEC };
	int rc = 0;
	bool go;

	pthread_mutex_lock(&a->lock);
	while (!a->stop && a->turn == turn && rc != ETIMEDOUT)
		rc = until == STORM_NEVER ?
			     pthread_cond_wait(&a->cond, &a->lock) :
			     pthread_cond_timedwait(&a->cond, &a->lock, &ts);
	go = !a->stop;
	pthread_mutex_unlock(&a->lock);
	return go;
}

enum storm_compare asker_ask(void *arg, const struct storm_idset *P,
			     enum storm_relation rel, uint64_t value,
			     struct storm_outcome *out)
{
	const struct asker_question *q = arg;
	bool stop;

	pthread_mutex_lock(&q->asker->lock);
	stop = q->asker->stop;
	pthread_mutex_unlock(&q->asker->lock);
	if (stop)
		return STORM_FAILED;
	return domain_compare_within(q->asker->domain, P, q->variable, rel,
				     value, QUESTIONS_PATIENCE, out);
}
