/*
 * context_table.h - the network contexts of a cluster, and the step that leases
 * each (doc/protocol.md, "Network contexts").
 *
 * A context is an id from 1 to the number of contexts, the id'th multicast
 * group of the pool, and a random key.  A step leases one when it is created
 * and returns it when it has ended.  The parts of a heterogeneous step are
 * steps of slurmctld but one application: they share a context, which each of
 * them holds.
 *
 * A returned id is leased again as late as possible: datagrams that are still
 * in the network find no receiver.
 *
 * Pure: no Slurm type, no I/O, no lock.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CONTEXT_TABLE_H
#define STORM_CONTEXT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define CONTEXT_KEY_LEN 32
#define CONTEXT_PARTS 128 /* Slurm's limit of components */
#define CONTEXT_COUNT_MAX 1048576

/* A step, or a part of one.  Ids of steps are reused: after a requeue, or if a
 * slurmctld was killed before it saved a step. */
struct context_holder {
	uint32_t job; /* of a heterogeneous job its leader; never 0 */
	uint32_t step;
	uint32_t part; /* < CONTEXT_PARTS; 0 if there is one part */
};

/* The state of one id. */
struct context_lease {
	uint32_t id;
	uint32_t job, step;		   /* job 0: it is free */
	uint32_t group;			   /* IPv4, in the host's order */
	uint64_t held[CONTEXT_PARTS / 64]; /* by which parts */
	bool closed;	 /* a part has returned it: no part may join */
	uint64_t serial; /* unique for each lease; higher is later */
	uint8_t key[CONTEXT_KEY_LEN];
};

struct context_table;

/* Create a table of `count` contexts, whose groups begin at `group` (IPv4, in
 * the host's order).  NULL: no memory. */
struct context_table *context_table_create(uint32_t count, uint32_t group);
void context_table_destroy(struct context_table *t);

/* Change the number and the groups; leases stay as they are.  0, or -1: no
 * memory, and nothing has changed. */
int context_table_resize(struct context_table *t, uint32_t count,
			 uint32_t group);

/*
 * Lease a context to h.  If joint is set, it is the one that other parts of h's
 * step hold, unless one of them has returned it.  Otherwise it is a free one,
 * with this key; key NULL: none.  It is never an older lease of the same
 * holder.  NULL: none is left.  The result is the table's, and valid until the
 * next call.
 */
const struct context_lease *
context_table_lease(struct context_table *t, const struct context_holder *h,
		    bool joint, const uint8_t key[CONTEXT_KEY_LEN]);

/* Set the user whose step has the lease.  This is not saved: after a restart
 * the owner is unknown until it is set again. */
void context_table_owner(struct context_table *t, uint32_t id, uint32_t uid);
/* Set the owners that are unknown, of jobs whose user user() knows. */
typedef bool (*context_user_fn)(void *arg, uint32_t job, uint32_t *uid);
void context_table_find_owners(struct context_table *t, context_user_fn user,
			       void *arg);
/* How many leases the user has. */
uint32_t context_table_owned(const struct context_table *t, uint32_t uid);

/* h has ended.  Returns the lease's new state; NULL: h did not hold it. */
const struct context_lease *
context_table_return(struct context_table *t, uint32_t id, uint64_t serial,
		     const struct context_holder *h);

/*
 * After a restart, load the saved leases, in any order and each id once, and
 * then call context_table_loaded().  After that each step that slurmctld
 * recovers claims its lease.  Leases that nobody claims stay until
 * context_table_sweep().
 */
/* Load a lease.  0, or -1: invalid id, or no memory. */
int context_table_load(struct context_table *t, const struct context_lease *l);
void context_table_loaded(struct context_table *t);
/* h claims its lease.  False: another step has it, so h had ended. */
bool context_table_claim(struct context_table *t, uint32_t id, uint64_t serial,
			 uint32_t group, const struct context_holder *h);

/* Return the leases that nobody claimed, of jobs for which gone() is true.
 * Calls changed() for each. */
typedef bool (*context_gone_fn)(void *arg, uint32_t job);
typedef void (*context_changed_fn)(void *arg, const struct context_lease *l);
void context_table_sweep(struct context_table *t, context_gone_fn gone,
			 context_changed_fn changed, void *arg);

struct context_figures {
	uint32_t count; /* all contexts */
	uint32_t leased;
	uint32_t unclaimed; /* of these: by steps unknown to slurmctld */
};
struct context_figures context_table_figures(const struct context_table *t);

#endif
