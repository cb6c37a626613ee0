/*
 * asker.h - a thread that asks the nodes of the cluster domain again and again, by
 * COMPARE-AND-WRITE: which of them missed strobes (missed.h), and do held jobs stand
 * (held.h).  A question may wait for its answer, which the strober's other threads
 * must not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_ASKER_H
#define STORM_ASKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "questions.h"

struct asker {
	pthread_mutex_t
		lock; /* the owner's, too, for what it shares with the thread */
	pthread_cond_t cond;
	pthread_t thread;
	bool running, stop;
	uint64_t turn; /* changes with what the thread asks about */
	storm_domain_t *domain;
};

#define ASKER_INIT                                \
	{                                         \
		.lock = PTHREAD_MUTEX_INITIALIZER \
	}

/* Start the thread, which runs until asker_pause() says no.  0 or an errno. */
int asker_start(struct asker *a, storm_domain_t *d, void *(*run)(void *) );
/* End it, if it runs, and wait for it, which may wait for the answer to a question.
 * Call it before the domain is destroyed. */
void asker_stop(struct asker *a);

/* Locked: what it asks about has changed; it does not pause any longer. */
void asker_renew(struct asker *a);
/* The thread: wait until then, or until `turn` is over.  False: it must end. */
bool asker_pause(struct asker *a, uint64_t turn, uint64_t until);

/* The thread: one question, about a variable of the domain.  arg is a struct
 * asker_question.  It fails if the thread must end. */
struct asker_question {
	struct asker *asker;
	uint32_t variable;
};
enum storm_compare asker_ask(void *arg, const struct storm_idset *P,
			     enum storm_relation rel, uint64_t value,
			     struct storm_outcome *out);

#endif
