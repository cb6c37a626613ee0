/*
 * rota.h - decides whose turn it is: it makes strobes in time of a map (paper
 * section 2.1: the Machine Manager strobes).  Each zone goes through its cycle
 * of slots, a quantum each, at deadlines that do not drift.
 *
 * Maps may change more often than a cycle takes.  So that no job starves, the
 * first new slot after a change is that of the job that has waited longest.  A
 * job that runs continues to the end of its quantum.  A job that is held stands
 * from the first strobe of its map on, and this counts as waiting.  So when it
 * is released it has mostly waited longest.
 *
 * Pure: the caller passes the time (ns of CLOCK_MONOTONIC), and there is no
 * I/O.  Not thread-safe.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_ROTA_H
#define STORM_ROTA_H

#include "src/storm_common/gang_map.h"

struct rota;

/*
 * Make the rota of a map that all nodes have.  It continues the rota `before`
 * (NULL: there is none), which is not changed and may be destroyed.  *map is
 * taken over and left empty.  digest: gang_map_digest().  NULL: out of memory,
 * *map is unchanged.
 */
struct rota *rota_create(struct gang_map *map, uint64_t digest,
			 const struct rota *before, uint64_t now);
void rota_destroy(struct rota *r); /* NULL is fine */

const struct gang_map *rota_map(const struct rota *r);

/* When rota_next() has the next strobe; STORM_NEVER: no jobs share. */
uint64_t rota_due(const struct rota *r);

/* Set *out to the next strobe that is due.  False: none is due; call it until
 * then.  out->at: when the strobe's slot begins; 0: it has begun.  out->next:
 * the slot that is planned after it, which a change of the map or a pause may
 * cancel.  out->sent is left 0. */
bool rota_next(struct rota *r, uint64_t now, struct gang_strobe *out);

/* Make the strobes let everything run, until rota_continue(). */
void rota_pause(struct rota *r, uint64_t now);
void rota_continue(struct rota *r, uint64_t now);

/* The ns that job i of the map has had in its slots, over all maps. */
uint64_t rota_given(const struct rota *r, uint32_t i, uint64_t now);

/* The ns that it has stood outside its slots, over all maps. */
uint64_t rota_waited(const struct rota *r, uint32_t i, uint64_t now);

struct rota_stats {
	uint64_t switches; /* slots begun */
	uint64_t repeats;  /* strobes repeated */
	uint64_t late;	   /* quanta skipped by a late rota_next() */
};
void rota_stats(const struct rota *r, struct rota_stats *out);

#endif
