/*
 * tree.c - see tree.h.  Heap number 0 is the owner; position p has heap
 * number p + 1; the children of h are radix * h + 1 ... radix * h + radix.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "idset.h"
#include "minmax.h"
#include "tree.h"

/* The number of excluded ranges that begin before this node. */
static uint32_t tree_ranges_before(const struct storm_tree *t, uint32_t node)
{
	uint32_t lo = 0, hi = t->out.count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->out.r[mid].first < node)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* A node's position is the number of members before it. */
static uint64_t tree_heap_of(const struct storm_tree *t, uint32_t node)
{
	uint32_t i = tree_ranges_before(t, node);
	const struct storm_range *r;

	if (node == STORM_NO_NODE)
		return 0;
	if (!i)
		return (uint64_t) node + 1;
	r = &t->out.r[i - 1];
	return (uint64_t) t->before[i - 1] +
	       (node > r->last ? node - r->last - 1 : 0) + 1;
}

static uint32_t tree_node_of(const struct storm_tree *t, uint64_t heap)
{
	uint32_t pos = (uint32_t) (heap - 1), lo = 0, hi = t->out.count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->before[mid] <= pos)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? t->out.r[lo - 1].last + 1 + (pos - t->before[lo - 1]) : pos;
}

void storm_tree_init(struct storm_tree *t, uint32_t count, uint32_t radix)
{
	memset(t, 0, sizeof(*t));
	t->count = t->members = count;
	t->radix = radix;
}

static void tree_free_out(struct storm_tree *t)
{
	storm_idset_clear(&t->out);
	free(t->before);
	t->before = NULL;
}

int storm_tree_exclude(struct storm_tree *t, const struct storm_idset *out)
{
	struct storm_idset copy = { 0 };
	uint32_t *before = malloc((out->count + 1) * sizeof(*before)), gone = 0;

	if (!before || storm_idset_union(&copy, out)) {
		free(before);
		return STORM_ENOMEM;
	}
	for (uint32_t i = 0; i < copy.count; i++) {
		before[i] = copy.r[i].first - gone;
		gone += copy.r[i].last - copy.r[i].first + 1;
	}
	tree_free_out(t);
	t->out = copy;
	t->before = before;
	/* the heap number that a node after the last would have */
	t->members = (uint32_t) tree_heap_of(t, t->count) - 1;
	return STORM_OK;
}

void storm_tree_free(struct storm_tree *t)
{
	tree_free_out(t);
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
	uint32_t i = tree_ranges_before(t, first);

	/* the one before may reach up to it */
	for (i -= i > 0; i < t->out.count && first <= last; i++) {
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

uint32_t storm_tree_near(const struct storm_tree *t, uint32_t node,
			 uint32_t out[static STORM_TREE_NEAR])
{
	static const struct storm_idset all;

	out[0] = storm_tree_parent(t, node);
	out[1] = out[0] == STORM_NO_NODE ? STORM_NO_NODE :
					   storm_tree_parent(t, out[0]);
	out[2] = storm_tree_successor(t, node, &all);
	return 3 + storm_tree_children(t, node, out + 3);
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

uint32_t storm_tree_height(uint32_t count, uint32_t radix)
{
	uint64_t level = radix, all = radix;
	uint32_t height = 1;

	for (; all < count; height++) {
		level *= radix;
		all += level;
	}
	return height;
}
