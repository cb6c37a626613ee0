/*
 * tree.c - see tree.h.  Heap number 0 is the owner; position p has heap
 * number p + 1; the children of h are radix * h + 1 ... radix * h + radix.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <string.h>

#include "idset.h"
#include "minmax.h"
#include "tree.h"

/* A node's position is its number less the excluded nodes before it.  The loop
 * is short: few ranges of nodes are excluded. */
static uint64_t tree_heap_of(const struct storm_tree *t, uint32_t node)
{
	uint32_t pos = node;

	if (node == STORM_NO_NODE)
		return 0;
	for (uint32_t i = 0; i < t->out.count && t->out.r[i].first < node;
	     i++) {
		const struct storm_range *r = &t->out.r[i];

		pos -= (r->last < node ? r->last + 1 : node) - r->first;
	}
	return (uint64_t) pos + 1;
}

static uint32_t tree_node_of(const struct storm_tree *t, uint64_t heap)
{
	uint32_t node = (uint32_t) (heap - 1);

	for (uint32_t i = 0; i < t->out.count && t->out.r[i].first <= node; i++)
		node += t->out.r[i].last - t->out.r[i].first + 1;
	return node;
}

void storm_tree_init(struct storm_tree *t, uint32_t count, uint32_t radix)
{
	memset(t, 0, sizeof(*t));
	t->count = t->members = count;
	t->radix = radix;
}

int storm_tree_exclude(struct storm_tree *t, const struct storm_idset *out)
{
	struct storm_idset copy = { 0 };
	int err = storm_idset_union(&copy, out);

	if (err)
		return err;
	storm_idset_clear(&t->out);
	t->out = copy;
	/* the heap number that a node after the last would have */
	t->members = (uint32_t) tree_heap_of(t, t->count) - 1;
	return STORM_OK;
}

void storm_tree_free(struct storm_tree *t)
{
	storm_idset_clear(&t->out);
	memset(t, 0, sizeof(*t));
}

bool storm_tree_member(const struct storm_tree *t, uint32_t node)
{
	return node < t->count && !storm_idset_has(&t->out, node);
}

uint32_t storm_tree_parent(const struct storm_tree *t, uint32_t node)
{
	uint64_t up = (tree_heap_of(t, node) - 1) / t->radix;

	return up ? tree_node_of(t, up) : STORM_NO_NODE;
}

uint32_t storm_tree_children(const struct storm_tree *t, uint32_t node,
			     uint32_t *out)
{
	uint64_t first = tree_heap_of(t, node) * t->radix + 1;
	uint32_t n = 0;

	for (; n < t->radix && first + n <= t->members; n++)
		out[n] = tree_node_of(t, first + n);
	return n;
}

/* Add the members among the nodes first to last to s. */
static int tree_add_members(const struct storm_tree *t, struct storm_idset *s,
			    uint32_t first, uint32_t last)
{
	for (uint32_t i = 0; i < t->out.count && first <= last; i++) {
		const struct storm_range *out = &t->out.r[i];
		int err;

		if (out->last < first)
			continue;
		if (out->first > last)
			break;
		err = out->first > first ?
			      storm_idset_add(s, first, out->first - 1) :
			      0;
		if (err)
			return err;
		first = out->last + 1;
	}
	return first <= last ? storm_idset_add(s, first, last) : 0;
}

int storm_tree_subtree(const struct storm_tree *t, uint32_t node,
		       struct storm_idset *s)
{
	uint64_t lo = tree_heap_of(t, node), hi = lo;

	if (!lo) { /* the owner is not in the list */
		lo = 1;
		hi = t->radix;
	}
	while (lo <= t->members) {
		int err = tree_add_members(
			t, s, tree_node_of(t, lo),
			tree_node_of(t, storm_min(hi, t->members)));

		if (err)
			return err;
		lo = lo * t->radix + 1;
		hi = hi * t->radix + t->radix;
	}
	return STORM_OK;
}

uint32_t storm_tree_successor(const struct storm_tree *t, uint32_t node,
			      const struct storm_idset *p)
{
	uint64_t h = tree_heap_of(t, node) + 1;

	while (h <= t->members && p->count &&
	       !storm_idset_has(p, tree_node_of(t, h)))
		h++;
	return h <= t->members ? tree_node_of(t, h) : STORM_NO_NODE;
}

bool storm_tree_above(const struct storm_tree *t, uint32_t up, uint32_t node)
{
	uint64_t top = tree_heap_of(t, up), h = tree_heap_of(t, node);

	while (h > top)
		h = (h - 1) / t->radix;
	return h == top;
}
