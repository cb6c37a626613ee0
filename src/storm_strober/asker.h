/*
 * asker.h - a thread that asks the nodes of the cluster domain a question again
 * and again, by COMPARE-AND-WRITE: did they miss strobes (missed.h), do held
 * jobs stand (held.h)?  It may wait for an answer, which the strober's other
 * threads must not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_ASKER_H
#define STORM_ASKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/libstorm/function/questions.h"

struct asker {
	/* The file that has the asker uses the lock, too, for what it shares
	 * with the thread. */
	pthread_mutex_t lock;
	pthread_cond_t cond;
	pthread_t thread;
	bool running, stop;
	uint64_t turn; /* counts changes of what the thread asks about */
	storm_domain_t *domain;
};

#define ASKER_INIT                                \
	{                                         \
		.lock = PTHREAD_MUTEX_INITIALIZER \
	}

/* Start the thread.  run(a) must return when asker_pause() returns false.  0 or
 * an errno. */
int asker_start(struct asker *a, storm_domain_t *d, void *(*run)(void *) );
/* End the thread, if it runs.  This may have to wait for the answer to a
 * question.  Call it before the domain is destroyed. */
void asker_stop(struct asker *a);

/* Locked: what the thread asks about has changed, so end its pause. */
void asker_renew(struct asker *a);
/* In the thread: pause until `until` (storm_now(), ns), or until a->turn is not
 * `turn` any more.  False: the thread must end. */
bool asker_pause(struct asker *a, uint64_t turn, uint64_t until);

/* In the thread, a questions_ask_fn: ask one question about a variable of the
 * domain.  arg is a struct asker_question.  It fails if the thread must end. */
struct asker_question {
	struct asker *asker;
	uint32_t variable;
};
enum storm_compare asker_ask(void *arg, const struct storm_idset *P,
			     enum storm_relation rel, uint64_t value,
			     struct storm_outcome *out);

#endif
