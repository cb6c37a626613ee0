/*
 * collect.c - see collect.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "collect.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

int storm_collect_await(struct storm_collect *c, uint32_t node,
			struct storm_idset *asked, bool alone)
{
	if (c->count == c->room) {
		uint32_t room = c->room ? 2 * c->room : 8;
		void *p = realloc(c->from, room * sizeof(*c->from));

		if (!p) {
			storm_idset_clear(asked);
			return STORM_ENOMEM;
		}
		c->from = p;
		c->room = room;
	}
	c->from[c->count++] = (struct storm_collect_from) { .node = node,
							    .alone = alone,
							    .asked = *asked };
	c->left++;
	memset(asked, 0, sizeof(*asked));
	return STORM_OK;
}

static void collect_done(struct storm_collect *c, struct storm_collect_from *f)
{
	f->done = true;
	c->left--;
	storm_report_rx_reset(&f->rx);
}

/* Merge the table of a node.  The tree as both know it makes subtrees disjoint;
 * a table with nodes that are in the sum already would count them twice. */
static int collect_merge(struct storm_collect *c,
			 const struct storm_collect_from *f, size_t len)
{
	struct storm_idset nodes = { 0 }, twice = { 0 };
	struct storm_gathered t;
	int err = storm_gathered_unpack(&t, &f->asked, f->rx.buf, len);

	if (err)
		return err;
	err = storm_idset_minus(&f->asked, &t.missing, &nodes);
	if (!err)
		err = storm_idset_union(&twice, &nodes);
	if (!err)
		err = storm_idset_keep(&twice, &c->answered);
	if (!err && twice.count)
		err = STORM_EINVAL;
	if (!err)
		err = storm_gathered_merge(&c->sum, &t);
	if (!err)
		err = storm_idset_union(&c->answered, &nodes);
	storm_idset_clear(&nodes);
	storm_idset_clear(&twice);
	storm_gathered_clear(&t);
	return err;
}

int storm_collect_part(struct storm_collect *c, uint32_t node,
		       const uint8_t *body, size_t len, uint64_t max)
{
	struct storm_collect_from *f = NULL;
	size_t total = 0;
	int got;

	for (uint32_t i = 0; i < c->count; i++)
		if (c->from[i].node == node)
			f = &c->from[i];
	if (!f)
		return 0;
	if (f->done)
		return 2;
	got = storm_report_rx_part(&f->rx, body, len,
				   storm_min(max, STORM_GATHERED_MAX), &total);
	if (got != 1)
		return got < 0 ? -1 : 0;
	got = collect_merge(c, f, total) ? -1 : 1;
	collect_done(c, f);
	return got;
}

void storm_collect_stop(struct storm_collect *c)
{
	for (uint32_t i = 0; i < c->count; i++) {
		storm_report_rx_reset(&c->from[i].rx);
		storm_idset_clear(&c->from[i].asked);
	}
	c->count = c->left = 0;
}

void storm_collect_clear(struct storm_collect *c)
{
	storm_collect_stop(c);
	free(c->from);
	storm_idset_clear(&c->answered);
	storm_gathered_clear(&c->sum);
	memset(c, 0, sizeof(*c));
}

size_t storm_collect_bytes(const struct storm_collect *c)
{
	size_t n = c->room * sizeof(*c->from) + storm_gathered_bytes(&c->sum) +
		   c->answered.room * sizeof(*c->answered.r);

	for (uint32_t i = 0; i < c->count; i++)
		n += storm_report_rx_bytes(&c->from[i].rx) +
		     c->from[i].asked.room * sizeof(*c->answered.r);
	return n;
}

uint32_t storm_collect_height(const struct storm_tree *t, uint32_t node)
{
	uint32_t kids[STORM_RADIX_MAX], n = 0;

	/* the tree is a heap: the first child is above the deepest */
	while (storm_tree_children(t, node, kids)) {
		node = kids[0];
		n++;
	}
	return n;
}
