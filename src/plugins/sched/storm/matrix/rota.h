/*
 * rota.h - whose turn it is: from a map to strobes in time (paper section 2.1:
 * the Machine Manager strobes).  Each zone goes through its cycle of slots, a
 * quantum each, at deadlines that do not drift.
 *
 * Maps may change more often than a cycle takes.  So that nobody waits for ever
 * then, the first slot to come after a change is that of the job that has waited
 * longest; and what runs goes on to the end of its quantum, if it has not ended
 * itself.
 *
 * Pure: told the time, it does no I/O.  Not thread-safe.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_ROTA_H
#define STORM_ROTA_H

#include "src/storm_common/gang_map.h"

struct rota;

/*
 * Of a map that all nodes have, in place of the rota `before` (NULL: the first
 * one), which is not changed and may be destroyed.  *map is taken over and left
 * empty.  NULL: no memory.
 */
struct rota *rota_create(struct gang_map *map, uint64_t digest,
			 const struct rota *before, uint64_t now);
void rota_destroy(struct rota *r);	/* NULL is fine */

const struct gang_map *rota_map(const struct rota *r);

/* When rota_next() has the next strobe; STORM_NEVER: nothing is shared. */
uint64_t rota_due(const struct rota *r);

/* The next strobe to be sent by now.  False: none is due. */
bool rota_next(struct rota *r, uint64_t now, struct gang_strobe *out);

/* Everything runs from now on, until rota_continue(): the strobes say so. */
void rota_pause(struct rota *r, uint64_t now);
void rota_continue(struct rota *r, uint64_t now);

/* ns for which the i-th job of the map has had its slots, in all maps. */
uint64_t rota_given(const struct rota *r, uint32_t i, uint64_t now);

struct rota_stats {
	uint64_t switches;	/* slots begun */
	uint64_t repeats;
	uint64_t late;		/* quanta that were skipped: nobody asked in time */
};
void rota_stats(const struct rota *r, struct rota_stats *out);

#endif
