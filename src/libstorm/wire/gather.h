/*
 * gather.h - the messages of a gather, and the tables that they carry: merged in
 * any order and grouping they are the same, as long as all fits.  It has no I/O.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_GATHER_H
#define STORM_GATHER_H

#include "wire.h"

/* ------------------------------------------------------------- the question --- */

#define STORM_GATHER_ALONE \
	0x1 /* the root answers for itself, not its subtree */

struct storm_gather_ask {
	uint32_t root; /* this node answers to the owner itself; STORM_NO_NODE:
			  all answer to their parents */
	uint8_t flags;
	uint64_t slice; /* ns that a node waits for each level below it */
	const uint8_t *query;
	uint16_t len;
	struct storm_idset p; /* nodes asked; empty: all members */
};
#define STORM_GATHER_ASK_FIXED 15 /* bytes without query and p */
/* Returns the bytes written to buf; 0: more than max. */
size_t storm_gather_ask_pack(const struct storm_gather_ask *a, uint8_t *buf,
			     size_t max);
/* count: nodes in the domain.  STORM_OK: a->query points into buf, and the caller
 * clears a->p.  STORM_EINVAL: malformed, nothing to free. */
int storm_gather_ask_unpack(struct storm_gather_ask *a, const uint8_t *buf,
			    size_t len, uint32_t count);

/* --------------------------------------------------------------- the tables --- */

/* Distinct keys with a REST; more count as the empty key. */
#define STORM_GATHER_RESTS 64

/* What a node puts in for itself. */
struct storm_gather_own {
	struct storm_gathered t;
	uint32_t self;
};

/* Merge from, of other nodes, into a table; missing is left alone.  STORM_OK, or
 * STORM_ENOMEM: a part is merged. */
int storm_gathered_merge(struct storm_gathered *into,
			 const struct storm_gathered *from);
/* Pack a table over these nodes, all of whose values are in it, and what is
 * missing.  *len bytes, malloc()ed.  NULL: no memory. */
uint8_t *storm_gathered_pack(const struct storm_gathered *t,
			     const struct storm_idset *nodes, size_t *len);
/* The most bytes of such a table that is accepted. */
#define STORM_GATHERED_MAX (192u << 10)
/* Unpack the table of these nodes that were asked.  STORM_OK: the caller clears
 * t.  STORM_EINVAL: malformed; STORM_ENOMEM; nothing to free. */
int storm_gathered_unpack(struct storm_gathered *t,
			  const struct storm_idset *asked, const uint8_t *buf,
			  size_t len);
size_t storm_gathered_bytes(const struct storm_gathered *t); /* of memory */

/* out (empty before) = s with those of its gaps closed in which no node of `of`
 * is: what is also in `of` is s again.  STORM_OK or STORM_ENOMEM. */
int storm_set_fill(const struct storm_idset *s, const struct storm_idset *of,
		   struct storm_idset *out);

#endif
