/*
 * tree.h - the combining tree: heap-shaped over the domain's list, the owner
 * at the root, excluded nodes left out.  Also the relay's chain, which is the
 * list itself.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_TREE_H
#define STORM_TREE_H

#include "src/libstorm/storm.h"

struct storm_tree {
	uint32_t count;		/* nodes in the list */
	uint32_t radix;
	uint32_t members;	/* not excluded */
	struct storm_idset out;	/* excluded */
};

void storm_tree_init(struct storm_tree *t, uint32_t count, uint32_t radix);
/* All of out, and nobody else.  0, or ENOMEM and nothing is changed. */
int storm_tree_exclude(struct storm_tree *t, const struct storm_idset *out);
void storm_tree_free(struct storm_tree *t);

bool storm_tree_member(const struct storm_tree *t, uint32_t node);
/* STORM_NO_NODE: the owner.  node must be a member. */
uint32_t storm_tree_parent(const struct storm_tree *t, uint32_t node);
/* Fills up to radix nodes, returns how many; node may be the owner. */
uint32_t storm_tree_children(const struct storm_tree *t, uint32_t node,
			     uint32_t *out);
/* Adds node and all below it to s; of the owner, all members. */
int storm_tree_subtree(const struct storm_tree *t, uint32_t node,
		       struct storm_idset *s);
/* The next one of the chain over the nodes of p (empty: all); STORM_NO_NODE at
 * its end.  The owner's is the first member. */
uint32_t storm_tree_successor(const struct storm_tree *t, uint32_t node,
			      const struct storm_idset *p);
/* Is up an ancestor of node (the owner is everybody's)? */
bool storm_tree_above(const struct storm_tree *t, uint32_t up, uint32_t node);

#endif
