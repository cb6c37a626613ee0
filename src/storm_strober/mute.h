/*
 * mute.h - the members that hear nothing at all, as the last look of missed.h found
 * them, for the part of the strober that excludes such nodes.  A look takes seconds, and
 * the tree and its nodes change meanwhile.  So what a look found counts only in the
 * epoch in which the look began, for a while, and not for a node that has become
 * overdue or is back: it was silent, and hears again, perhaps.
 *
 * Initialize it to zeroes.  The caller has a lock for it.  Without memory a node is
 * found later.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_MUTE_H
#define STORM_MUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libstorm/storm.h"

struct mute {
	struct storm_idset now;	  /* as the last look found */
	struct storm_idset twice; /* of these: as the look before did, too */
	struct storm_idset moved; /* overdue or back since the look began */
	bool old;		  /* the look began in another epoch */
	uint64_t at;		  /* when the last look ended */
};

/* A look begins. */
void mute_look_begins(struct mute *m);
/* It has found these. */
void mute_look_ends(struct mute *m, const struct storm_idset *found,
		    uint64_t now);
/* A node has become overdue, or is back. */
void mute_node_moved(struct mute *m, uint32_t node);
/* Another epoch begins: nodes are excluded or join, and others have new places. */
void mute_epoch_begins(struct mute *m);
/* Add the nodes that hear nothing to *out; twice: only those of two looks in a row. */
void mute_nodes_get(const struct mute *m, bool twice, uint64_t now,
		    struct storm_idset *out);
void mute_list_clear(struct mute *m);

#endif
