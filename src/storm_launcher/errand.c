/*
 * errand.c - see errand.h.  The thread begins with the first errand: a process that has
 * none has no thread for them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "errand.h"

struct errand_list {
	struct errand *first, **tail;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t some;
	struct errand_list wanted, finished;
	int event;
	bool thread;
} errands = { .lock = PTHREAD_MUTEX_INITIALIZER,
	      .some = PTHREAD_COND_INITIALIZER,
	      .event = -1 };

static void errand_list_init(struct errand_list *l)
{
	l->first = NULL;
	l->tail = &l->first;
}

static void errand_list_add(struct errand_list *l, struct errand *e)
{
	e->next = NULL;
	*l->tail = e;
	l->tail = &e->next;
}

static struct errand *errand_list_take(struct errand_list *l)
{
	struct errand *e = l->first;

	if (e)
		l->first = e->next;
	if (!l->first)
		l->tail = &l->first;
	return e;
}

static void *errands_run(void *arg)
{
	uint64_t one = 1;

	pthread_mutex_lock(&errands.lock);
	for (;;) {
		struct errand *e = errand_list_take(&errands.wanted);

		if (!e) {
			pthread_cond_wait(&errands.some, &errands.lock);
			continue;
		}
		pthread_mutex_unlock(&errands.lock);
		e->work(e);
		pthread_mutex_lock(&errands.lock);
		errand_list_add(&errands.finished, e);
		if (write(errands.event, &one, sizeof(one)) < 0)
			continue; /* the counter is full: it wakes anyway */
	}
	return arg;
}

int errands_init(void)
{
	errand_list_init(&errands.wanted);
	errand_list_init(&errands.finished);
	errands.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return errands.event;
}

/* Signals are the loop's. */
static int errands_start(void)
{
	sigset_t all, before;
	pthread_t thread;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, NULL, errands_run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err) {
		errno = err;
		return -1;
	}
	pthread_detach(thread);
	errands.thread = true;
	return 0;
}

int errands_give(struct errand *e)
{
	if (!errands.thread && errands_start())
		return -1;
	pthread_mutex_lock(&errands.lock);
	errand_list_add(&errands.wanted, e);
	pthread_cond_signal(&errands.some);
	pthread_mutex_unlock(&errands.lock);
	return 0;
}

void errands_take(void)
{
	struct errand *e;
	uint64_t count;

	if (read(errands.event, &count, sizeof(count)) < 0)
		return; /* nothing has finished since */
	for (;;) {
		pthread_mutex_lock(&errands.lock);
		e = errand_list_take(&errands.finished);
		pthread_mutex_unlock(&errands.lock);
		if (!e)
			return;
		e->done(e);
	}
}
