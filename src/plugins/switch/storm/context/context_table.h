/*
 * context_table.h - the network contexts of a cluster: which is leased, and to
 * whom (architecture: Flows, "Context").
 *
 * A context is an id, 1 to the number of contexts, a multicast group, which is the
 * id'th of the pool, and a random key.  A step leases one when it is made and returns it
 * when it is gone.  The parts of a heterogeneous step are steps to slurmctld and
 * one application to itself: they share a context, which each of them holds.
 *
 * An id that was returned is leased again as late as can be: what is still on its
 * way in the network finds nobody.
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
#define CONTEXT_PARTS 128	/* Slurm's limit of components */
#define CONTEXT_COUNT_MAX 1048576

/* A step, or a part of one.  Names of steps come again: a job is requeued, a
 * slurmctld that was killed has forgotten one. */
struct context_holder {
	uint32_t job;		/* of a heterogeneous job its leader; never 0 */
	uint32_t step;
	uint32_t part;		/* < CONTEXT_PARTS; 0 where there is one */
};

/* What is known of one id. */
struct context_lease {
	uint32_t id;
	uint32_t job, step;	/* job 0: it is free */
	uint32_t group;		/* IPv4, in the host's order */
	uint64_t held[CONTEXT_PARTS / 64];	/* by which parts */
	bool closed;		/* a part has returned it: none joins */
	uint64_t serial;	/* of the lease, no other has it: higher is later */
	uint8_t key[CONTEXT_KEY_LEN];
};

struct context_table;

/* count contexts, whose groups begin at group. NULL: no memory. */
struct context_table *context_table_create(uint32_t count, uint32_t group);
void context_table_destroy(struct context_table *t);

/* Another number, or other groups, from now on: leases stay as they are.  0, or
 * -1: no memory, and nothing has changed. */
int context_table_resize(struct context_table *t, uint32_t count,
			 uint32_t group);

/*
 * A context for h: the one that other parts of its step have, if joint and none of
 * them has returned it; else a free one with this key.  NULL: none is left.  A
 * lease of the same holder, left over from another life, is not taken for this one.
 */
const struct context_lease *
context_table_lease(struct context_table *t, const struct context_holder *h,
		    bool joint, const uint8_t key[CONTEXT_KEY_LEN]);

/* h is gone.  What became of the lease; NULL: h did not hold this one. */
const struct context_lease *
context_table_return(struct context_table *t, uint32_t id, uint64_t serial,
		     const struct context_holder *h);

/*
 * After a restart: first what was saved, in any order and each id once, then
 * context_table_loaded(), then each step that is still known claims what it holds.
 * What nobody claims stays leased until context_table_sweep().
 */
/* -1: an id that cannot be, or no memory. */
int context_table_load(struct context_table *t, const struct context_lease *l);
void context_table_loaded(struct context_table *t);
/* False: someone else has it, so that h is a step that had gone. */
bool context_table_claim(struct context_table *t, uint32_t id, uint64_t serial,
			 uint32_t group, const struct context_holder *h);

/* Return what nobody has claimed of jobs that are gone, telling of each. */
typedef bool (*context_gone_fn)(void *arg, uint32_t job);
typedef void (*context_changed_fn)(void *arg, const struct context_lease *l);
void context_table_sweep(struct context_table *t, context_gone_fn gone,
			 context_changed_fn changed, void *arg);

struct context_figures {
	uint32_t count;		/* contexts that there are */
	uint32_t leased;
	uint32_t unclaimed;	/* of these: by steps that nobody knows */
};
struct context_figures context_table_figures(const struct context_table *t);

#endif
