/*
 * event.c - see event.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "src/libstorm/base/faults.h"

storm_event_t *storm_event_create(struct storm_shared *sh, uint64_t len)
{
	storm_event_t *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->sh = sh;
	e->len = len;
	sh->users++;
	return e;
}

void storm_event_free(storm_event_t *e)
{
	storm_outcome_clear(&e->out);
	storm_gathered_clear(&e->gathered);
	source_destroy(e->source);
	free(e);
}

void storm_event_drop(storm_event_t *e)
{
	e->sh->users--; /* the domain or node is a user, too */
	storm_event_free(e);
}

void storm_event_end(storm_event_t *e, const struct storm_outcome *out)
{
	e->out = *out;
	if (e->forgotten)
		storm_event_drop(e);
	else
		pthread_cond_broadcast(&e->sh->cond);
}

int storm_event_gathered(storm_event_t *e, struct storm_gathered *out)
{
	int err = STORM_ENOENT;

	pthread_mutex_lock(&e->sh->lock);
	if (e->has_gathered) {
		*out = e->gathered;
		memset(&e->gathered, 0, sizeof(e->gathered));
		e->has_gathered = false;
		err = STORM_OK;
	}
	pthread_mutex_unlock(&e->sh->lock);
	return err;
}

bool storm_test_event(storm_event_t *e, bool block, uint64_t deadline,
		      struct storm_outcome *out)
{
	struct storm_shared *sh = e->sh;
	bool done;

	pthread_mutex_lock(&sh->lock);
	while (block && e->out.state == STORM_PENDING &&
	       storm_shared_wait(sh, deadline))
		;
	done = e->out.state != STORM_PENDING;
	if (done)
		storm_outcome_copy(out, &e->out);
	pthread_mutex_unlock(&sh->lock);
	return done;
}
