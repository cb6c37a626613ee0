/*
 * gather.h - what the nodes of a run bring to its fences, until all are there.  A fence
 * is known by its ranks: a node comes to the next one of the same ranks when the one
 * before is over.  No I/O.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_LAUNCHER_GATHER_H
#define STORM_LAUNCHER_GATHER_H

#include <stddef.h>

#include "src/libstorm/storm.h"

#define GATHERS_MAX 1024 /* fences of a run at one time */

/* One fence that nodes have come to. */
struct gather {
	struct gather *next;
	struct storm_idset ranks;
	uint32_t want;		  /* nodes */
	struct storm_idset nodes; /* that have come: places among the run's */
	uint8_t *data;		  /* one behind the other, as they came */
	size_t len, room;
};

struct gathers {
	struct gather *first;
	uint32_t count;
};

enum gather_rc {
	GATHER_WAITS, /* for other nodes */
	GATHER_WHOLE, /* the caller frees it by gather_free() */
	GATHER_BAD, /* the node has no such rank, or comes twice; too many fences */
	GATHER_BIG, /* more than `most` bytes */
	GATHER_NOMEM
};

/* The nth of `nodes` nodes, of which each has ranks from rank[n] to that of the next,
 * brings data to the fence of these ranks.  Only with WHOLE *out is set. */
enum gather_rc gather_add(struct gathers *g, const uint32_t *rank,
			  uint32_t nodes, uint32_t nth,
			  const struct storm_idset *ranks, const uint8_t *data,
			  size_t len, size_t most, struct gather **out);
/* A rank of `gone`, for which others wait, and which cannot come.  False: there is
 * none. */
bool gather_is_vain(const struct gathers *g, const uint32_t *rank,
		    uint32_t nodes, const struct storm_idset *gone,
		    uint32_t *which);
/* NULL is allowed. */
void gather_free(struct gather *one);
void gathers_clear(struct gathers *g);

#endif
