/*
 * collect.h - the tables of a gather that come to a node, or to the owner, from
 * those below: which are awaited, what has come, and the sum of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_COLLECT_H
#define STORM_COLLECT_H

#include "src/libstorm/base/tree.h"
#include "src/libstorm/wire/gather.h"
#include "src/libstorm/wire/reports.h"

struct storm_collect_from {
	uint32_t node;
	bool done;
	bool alone;		  /* it answers for itself alone */
	struct storm_idset asked; /* of its subtree */
	struct storm_report_rx rx;
};
/* All zeroes: nothing is awaited. */
struct storm_collect {
	struct storm_collect_from *from;
	uint32_t count, room;
	uint32_t left;		     /* that are not done */
	struct storm_idset answered; /* nodes whose values are in sum */
	struct storm_gathered sum;
	uint64_t ask_at, ask_every; /* those that are not done, again */
};

/* When a question, or an answer, is sent again. */
#define STORM_COLLECT_AGAIN (25 * STORM_MS)
#define STORM_COLLECT_AGAIN_MAX (200 * STORM_MS)

/* Await a node with these of its subtree, which are taken over.  STORM_OK, or
 * STORM_ENOMEM: they are cleared. */
int storm_collect_await(struct storm_collect *c, uint32_t node,
			struct storm_idset *asked, bool alone);
/* A part of a table has come from this node; max: bytes that it may take.  1: the
 * node is done now; 2: it was before; 0: more is to come; -1: malformed, and if
 * it was whole, the node is done without an answer. */
int storm_collect_part(struct storm_collect *c, uint32_t node,
		       const uint8_t *body, size_t len, uint64_t max);
/* Await nobody any more.  What has been merged stays. */
void storm_collect_stop(struct storm_collect *c);
void storm_collect_clear(struct storm_collect *c);
size_t storm_collect_bytes(const struct storm_collect *c); /* of memory */
/* Levels below a node in the tree. */
uint32_t storm_collect_height(const struct storm_tree *t, uint32_t node);

#endif
