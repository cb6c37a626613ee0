/*
 * worker.c - see worker.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "worker.h"

static void *worker_thread(void *arg)
{
	struct storm_worker *w = arg;
	const uint64_t one = 1;

	pthread_mutex_lock(&w->lock);
	while (!w->stop) {
		struct storm_job *j = w->todo;

		if (!j) {
			pthread_cond_wait(&w->cond, &w->lock);
			continue;
		}
		w->todo = j->next;
		if (!w->todo)
			w->todo_end = &w->todo;
		w->waiting--;
		pthread_mutex_unlock(&w->lock);
		j->work(j);
		pthread_mutex_lock(&w->lock);
		j->worked = true;
		j->next = NULL;
		*w->results_end = j;
		w->results_end = &j->next;
		if (write(w->fd, &one, sizeof(one)) < 0)
			continue; /* full: it is readable already */
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void worker_give_back(void *host, struct storm_job *j)
{
	while (j) {
		struct storm_job *next = j->next;

		j->done(host, j);
		j = next;
	}
}

void storm_worker_finish(struct storm_worker *w, void *host)
{
	struct storm_job *j;
	uint64_t n;

	if (read(w->fd, &n, sizeof(n)) != sizeof(n))
		return;
	pthread_mutex_lock(&w->lock);
	j = w->results;
	w->results = NULL;
	w->results_end = &w->results;
	pthread_mutex_unlock(&w->lock);
	worker_give_back(host, j);
}

int storm_worker_start(struct storm_worker *w, const char *name,
		       unsigned int limit)
{
	int rc;

	memset(w, 0, sizeof(*w));
	w->todo_end = &w->todo;
	w->results_end = &w->results;
	w->limit = limit;
	w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->fd < 0)
		return errno;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->cond, NULL);
	rc = pthread_create(&w->thread, NULL, worker_thread, w);
	if (!rc) {
		pthread_setname_np(w->thread, name);
		return 0;
	}
	pthread_cond_destroy(&w->cond);
	pthread_mutex_destroy(&w->lock);
	close(w->fd);
	return rc;
}

void storm_worker_stop(struct storm_worker *w, void *host)
{
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->cond);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	worker_give_back(host, w->results);
	worker_give_back(host, w->todo);
	pthread_cond_destroy(&w->cond);
	pthread_mutex_destroy(&w->lock);
	close(w->fd);
	w->fd = -1;
}

bool storm_worker_add(struct storm_worker *w, struct storm_job *j)
{
	bool ok;

	j->worked = false;
	j->next = NULL;
	pthread_mutex_lock(&w->lock);
	ok = w->waiting < w->limit;
	if (ok) {
		*w->todo_end = j;
		w->todo_end = &j->next;
		w->waiting++;
	}
	pthread_mutex_unlock(&w->lock);
	/* not before: the thread would wait for the lock at once */
	if (ok)
		pthread_cond_signal(&w->cond);
	return ok;
}
