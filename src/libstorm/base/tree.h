/*
 * tree.h - the combining tree: a heap over the domain's list without excluded
 * nodes; the owner is the root.  Also the chain that relays data, which is the
 * list itself.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_TREE_H
#define STORM_TREE_H

#include "src/libstorm/storm.h"

#define STORM_RADIX_MAX 64

struct storm_tree {
	uint32_t count; /* nodes in the list */
	uint32_t radix;
	uint32_t members;	/* not excluded */
	struct storm_idset out; /* excluded */
	uint32_t *before;	/* by range of out: members before it */
};

/* A tree of all count nodes, with at most radix children each; radix is at most
 * STORM_RADIX_MAX. */
void storm_tree_init(struct storm_tree *t, uint32_t count, uint32_t radix);
/* Exclude the nodes of out, and no others.  STORM_OK, or STORM_ENOMEM with the
 * tree unchanged.  out is copied. */
int storm_tree_exclude(struct storm_tree *t, const struct storm_idset *out);
void storm_tree_free(struct storm_tree *t);

bool storm_tree_member(const struct storm_tree *t, uint32_t node);
/* The parent of node, which must be a member.  STORM_NO_NODE: the owner. */
uint32_t storm_tree_parent(const struct storm_tree *t, uint32_t node);
/* Write the children of node to out, which has room for radix nodes.  Returns
 * their number.  node may be the owner. */
uint32_t storm_tree_children(const struct storm_tree *t, uint32_t node,
			     uint32_t *out);
/* Add node and all below it to s; for the owner, all members.  STORM_OK or
 * STORM_ENOMEM. */
int storm_tree_subtree(const struct storm_tree *t, uint32_t node,
		       struct storm_idset *s);
/* Write the nodes near node to out: its parent, the parent's parent
 * (STORM_NO_NODE: the owner, or none), its successor in the chain of all, and
 * its children.  Returns their number. */
#define STORM_TREE_NEAR (3 + STORM_RADIX_MAX)
uint32_t storm_tree_near(const struct storm_tree *t, uint32_t node,
			 uint32_t out[static STORM_TREE_NEAR]);
/* The successor of node in the chain of the members of p (empty: all).
 * STORM_NO_NODE at its end.  The owner's successor is the first of them. */
uint32_t storm_tree_successor(const struct storm_tree *t, uint32_t node,
			      const struct storm_idset *p);
/* Is up an ancestor of node, or node itself?  The owner is an ancestor of
 * all. */
bool storm_tree_above(const struct storm_tree *t, uint32_t up, uint32_t node);
/* Levels of a tree of so many nodes, the owner's not counted. */
uint32_t storm_tree_height(uint32_t count, uint32_t radix);

#endif
