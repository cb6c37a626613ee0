/*
 * tree.c - see tree.h.  Heap number 0 is the owner; position p has heap
 * number p + 1; the children of h are radix * h + 1 ... radix * h + radix.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "idset.h"
#include "tree.h"

int storm_tree_init(struct storm_tree *t, uint32_t count, uint32_t radix)
{
	struct storm_idset none = { 0 };

	memset(t, 0, sizeof(*t));
	t->count = count;
	t->radix = radix;
	t->node_at = calloc(count, sizeof(*t->node_at));
	t->pos_of = calloc(count, sizeof(*t->pos_of));
	if (!t->node_at || !t->pos_of) {
		storm_tree_free(t);
		return STORM_ENOMEM;
	}
	return storm_tree_exclude(t, &none);
}

int storm_tree_exclude(struct storm_tree *t, const struct storm_idset *out)
{
	t->members = 0;
	for (uint32_t i = 0; i < t->count; i++) {
		if (storm_idset_has(out, i)) {
			t->pos_of[i] = STORM_NO_NODE;
			continue;
		}
		t->pos_of[i] = t->members;
		t->node_at[t->members++] = i;
	}
	return STORM_OK;
}

void storm_tree_free(struct storm_tree *t)
{
	free(t->node_at);
	free(t->pos_of);
	memset(t, 0, sizeof(*t));
}

bool storm_tree_member(const struct storm_tree *t, uint32_t node)
{
	return node < t->count && t->pos_of[node] != STORM_NO_NODE;
}

static uint64_t heap_of(const struct storm_tree *t, uint32_t node)
{
	return node == STORM_NO_NODE ? 0 : (uint64_t) t->pos_of[node] + 1;
}

uint32_t storm_tree_parent(const struct storm_tree *t, uint32_t node)
{
	uint64_t up = (heap_of(t, node) - 1) / t->radix;

	return up ? t->node_at[up - 1] : STORM_NO_NODE;
}

uint32_t storm_tree_children(const struct storm_tree *t, uint32_t node,
			     uint32_t *out)
{
	uint64_t first = heap_of(t, node) * t->radix + 1;
	uint32_t n = 0;

	for (; n < t->radix && first + n <= t->members; n++)
		out[n] = t->node_at[first + n - 1];
	return n;
}

int storm_tree_subtree(const struct storm_tree *t, uint32_t node,
		       struct storm_idset *s)
{
	uint64_t lo = heap_of(t, node), hi = lo;

	if (!lo) {		/* the owner is not in the list */
		lo = 1;
		hi = t->radix;
	}
	while (lo <= t->members) {
		for (uint64_t h = lo; h <= hi && h <= t->members; h++) {
			int err = storm_idset_add(s, t->node_at[h - 1],
						  t->node_at[h - 1]);
			if (err)
				return err;
		}
		lo = lo * t->radix + 1;
		hi = hi * t->radix + t->radix;
	}
	return STORM_OK;
}

uint32_t storm_tree_successor(const struct storm_tree *t, uint32_t node)
{
	uint64_t h = heap_of(t, node) + 1;

	return h <= t->members ? t->node_at[h - 1] : STORM_NO_NODE;
}

bool storm_tree_above(const struct storm_tree *t, uint32_t up, uint32_t node)
{
	uint64_t top = heap_of(t, up), h = heap_of(t, node);

	while (h > top)
		h = (h - 1) / t->radix;
	return h == top;
}
