/*
 * worker.h - a thread for calls that may block (MUNGE, name services).  A host
 * of the protocol adds jobs and collects the results in its own loop.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_WORKER_H
#define STORM_WORKER_H

#include <pthread.h>
#include <stdbool.h>

struct storm_job {
	void (*work)(struct storm_job *j); /* in the worker's thread */
	/* Called in storm_worker_finish(); frees the job.  Called also by
	 * storm_worker_stop(), with worked false for jobs not begun. */
	void (*done)(void *host, struct storm_job *j);
	bool worked;
	struct storm_job *next;
};

struct storm_worker {
	int fd; /* readable: there are results */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct storm_job *todo, **todo_end, *results, **results_end;
	unsigned int waiting, limit;
	bool stop;
};

/* Start the thread, with this name.  At most limit jobs wait at a time.  0 or
 * an errno. */
int storm_worker_start(struct storm_worker *w, const char *name,
		       unsigned int limit);
/* Wait for the job under way, then call done() for every job that is left. */
void storm_worker_stop(struct storm_worker *w, void *host);
/* Add a job.  False if `limit` jobs are waiting: the caller still owns j.  Any
 * thread may call. */
bool storm_worker_add(struct storm_worker *w, struct storm_job *j);
/* Call done(host, job) for the finished jobs, whenever fd is readable.  Only
 * one thread, the host's, may call this and storm_worker_stop(). */
void storm_worker_finish(struct storm_worker *w, void *host);

#endif
