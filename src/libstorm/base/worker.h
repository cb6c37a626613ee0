/*
 * worker.h - a thread for what may block (MUNGE, name services): a host of the
 * protocol gives it jobs, and takes the results back in its own loop.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_WORKER_H
#define STORM_WORKER_H

#include <pthread.h>
#include <stdbool.h>

struct storm_job {
	void (*work)(struct storm_job *j);	/* in the worker's thread */
	/* In storm_worker_finish(), frees the job.  Also for jobs that were
	 * never worked on when the worker stops (worked is then false). */
	void (*done)(void *host, struct storm_job *j);
	bool worked;
	struct storm_job *next;
};

struct storm_worker {
	int fd;			/* readable: there are results */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct storm_job *todo, **todo_end, *results, **results_end;
	unsigned int waiting, limit;
	bool stop;
};

/* 0 or an errno. */
int storm_worker_start(struct storm_worker *w, const char *name,
		       unsigned int limit);
/* Waits for the job under way; every job that was added is done() by then. */
void storm_worker_stop(struct storm_worker *w, void *host);
/* False when `limit` jobs are waiting already: the job is still the caller's.
 * Any thread; the two below, the host's. */
bool storm_worker_add(struct storm_worker *w, struct storm_job *j);
void storm_worker_finish(struct storm_worker *w, void *host);

#endif
