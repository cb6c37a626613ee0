/*
 * event.h - an event behind storm_event_t: a word that an end's thread writes, and
 * anybody may poll or block on (TEST-EVENT, Algorithm 11).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EVENT_H
#define STORM_EVENT_H

#include "runner.h"

struct storm_event {
	struct storm_shared *sh;	/* outlives the end */
	/* An owner's, as long as it is PENDING; NULL: a node asked for it. */
	storm_domain_t *domain;
	bool forgotten;			/* nobody asks any more, and it is to come */
	enum storm_compare result;	/* of a node's comparison */
	struct storm_outcome out;
	uint64_t len;
	void *map;			/* to be unmapped; NULL: nothing is */
};

/* One more user of sh; locked.  NULL: no memory. */
storm_event_t *storm_event_create(struct storm_shared *sh, uint64_t len);
/* What the event holds, too; sh has one user less already. */
void storm_event_free(storm_event_t *e);
/* One that will never be; locked. */
void storm_event_drop(storm_event_t *e);
/* out is the event's from here on; locked. */
void storm_event_end(storm_event_t *e, const struct storm_outcome *out);

#endif
