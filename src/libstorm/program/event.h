/*
 * event.h - the struct behind storm_event_t.  The thread of a domain or node
 * sets it; any thread may poll it or block on it (TEST-EVENT, Algorithm 11).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EVENT_H
#define STORM_EVENT_H

#include "runner.h"
#include "source.h"

struct storm_event {
	struct storm_shared *sh; /* outlives the domain or node */
	/* The owner's domain, while PENDING; NULL: a node requested it. */
	storm_domain_t *domain;
	bool forgotten;		   /* destroyed: free it when it ends */
	enum storm_compare result; /* of a node's comparison */
	struct storm_outcome out;
	struct storm_gathered gathered; /* of a gather, until it is taken */
	bool has_gathered;
	uint64_t len;
	struct source *source; /* of its bytes; NULL: memory of the caller */
};

/* Locked.  Create an event; it becomes a user of sh.  NULL: no memory. */
storm_event_t *storm_event_create(struct storm_shared *sh, uint64_t len);
/* Free the event and what it holds.  The caller has released its use of sh. */
void storm_event_free(storm_event_t *e);
/* Locked.  Free an event that has no waiter, and release its use of sh. */
void storm_event_drop(storm_event_t *e);
/* Locked.  Set the result and wake the waiters.  The event takes *out. */
void storm_event_end(storm_event_t *e, const struct storm_outcome *out);

#endif
