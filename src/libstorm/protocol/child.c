/*
 * child.c - see child.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdlib.h>

#include "child.h"
#include "src/libstorm/base/clock.h"

/* A firewall may let TCP pass and no datagram, or only those of one direction.
 * All this is less than the second that a user does not mind. */
#define CUT_TOLD 12		   /* states sent in vain: it is not loss */
#define CUT_AFTER (600 * STORM_MS) /* since the first of these states */
#define CUT_HEARD (300 * STORM_MS) /* since then, when the child still sends */
#define CUT_MORE 3		   /* states sent after what the child sent */

static const struct child_cut {
	uint32_t told;
	uint64_t after, heard;
} child_cut[2] = {
	{ CUT_TOLD, CUT_AFTER, CUT_HEARD },
	{ CUT_MORE, STORM_CHILD_KNOWN, STORM_CHILD_KNOWN / 2 }, /* known */
};

int storm_child_disbelieves(const struct storm_tree *t, uint32_t child,
			    int which)
{
	uint32_t near[STORM_TREE_NEAR], n;

	if (which < 1 || !storm_tree_member(t, child))
		return 0;
	n = storm_tree_near(t, child, near);
	if ((uint32_t) which > n || near[which - 1] == STORM_NO_NODE)
		return 0;
	return (int) near[which - 1] + 1;
}

struct storm_child *storm_child_find(struct storm_child *child, uint32_t count,
				     uint32_t node)
{
	for (uint32_t i = 0; i < count; i++)
		if (child[i].node == node)
			return &child[i];
	return NULL;
}

void storm_children_free(struct storm_child *child, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		storm_status_free(&child[i].status);
		storm_report_rx_reset(&child[i].rx);
	}
	free(child);
}

int storm_children_update(struct storm_child **child, uint32_t *count,
			  const struct storm_tree *t, uint32_t node,
			  uint64_t now)
{
	uint32_t *kids = calloc(t->radix, sizeof(*kids)), n;
	struct storm_child *c;

	if (!kids)
		return STORM_ENOMEM;
	n = storm_tree_children(t, node, kids);
	c = calloc(n ? n : 1, sizeof(*c));
	if (!c) {
		free(kids);
		return STORM_ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct storm_child *old =
			storm_child_find(*child, *count, kids[i]);

		if (old) {
			/* its subtree may have changed: hear it again */
			c[i].rx = old->rx; /* complete: no longer so */
			memset(&old->rx, 0, sizeof(old->rx));
			c[i].invited = old->invited;
			c[i].detector = old->detector;
		}
		c[i].node = kids[i];
		/* A silent child keeps its time: when two nodes die together,
		 * the second must not be noticed twice as late. */
		c[i].last_heard = old ? old->last_heard : now;
	}
	storm_children_free(*child, *count);
	free(kids);
	*child = c;
	*count = n;
	return STORM_OK;
}

int storm_child_hear(struct storm_child *c, const uint8_t *body, size_t len,
		     uint32_t count)
{
	struct storm_status st;

	if (storm_status_unpack(&st, body, len, count))
		return -1;
	if (c->heard && st.version <= c->status.version) {
		storm_status_free(&st);
		return 0;
	}
	storm_status_free(&c->status);
	c->status = st;
	c->heard = true;
	return 1;
}

void storm_child_alive(struct storm_child *c, uint64_t dead_timeout,
		       uint64_t heartbeat, uint64_t now)
{
	storm_detector_heard(&c->detector, now - c->last_heard, dead_timeout,
			     heartbeat);
	c->last_heard = now;
	c->silent = false;
	c->told_more = 0;
}

uint64_t storm_child_check(struct storm_child *c, uint64_t dead_timeout,
			   uint64_t heartbeat, uint64_t now)
{
	storm_detector_check(&c->detector, now - c->last_heard, dead_timeout,
			     heartbeat);
	return c->detector.overdue ?
		       STORM_NEVER :
		       c->last_heard + storm_detector_patience(&c->detector,
							       dead_timeout,
							       heartbeat);
}

void storm_children_asked(struct storm_child *child, uint32_t count,
			  uint64_t asked)
{
	for (uint32_t i = 0; asked && i < count; i++)
		if (child[i].last_heard < asked)
			child[i].silent = true;
}

void storm_child_told(struct storm_child *c, uint64_t now)
{
	if (c->status.seen)
		return;
	if (!c->told++)
		c->told_at = now;
	c->told_more++;
}

int storm_child_cut(const struct storm_child *c, bool known, uint64_t now,
		    uint64_t *next)
{
	const struct child_cut *cut = &child_cut[known];

	*next = STORM_NEVER;
	if (c->status.seen || c->told < cut->told)
		return 0;
	*next = c->told_at + cut->after;
	if (now < *next)
		return 0;
	*next = STORM_NEVER;
	if (!c->heard)
		return ECOMM;
	return c->last_heard >= c->told_at + cut->heard &&
			       c->told_more >= CUT_MORE ?
		       ENOLINK :
		       0;
}
