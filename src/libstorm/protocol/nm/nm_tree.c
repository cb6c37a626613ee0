/*
 * nm_tree.c - a node's place in the combining tree: its parent and its children.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdlib.h>

#include "nm_private.h"
#include "src/libstorm/base/auth_reason.h"
#include "src/libstorm/base/minmax.h"

struct storm_child *nm_child_of(struct nm_session *s, uint32_t node)
{
	return storm_child_find(s->tree.child, s->tree.children, node);
}

bool nm_child_gone(const struct nm_session *s, uint32_t node)
{
	for (uint32_t i = 0; i < s->tree.nfaults; i++)
		if (s->tree.fault[i].node == node)
			return true;
	return false;
}

bool nm_child_lost(struct nm_session *s, uint32_t node, enum storm_err why,
		   int sys)
{
	struct nm_tree *t = &s->tree;

	if (t->nfaults == RADIX_MAX)
		return false;
	t->fault[t->nfaults++] = (struct storm_fault) { node, why, sys };
	return true;
}

/* Some of those lost may not have been reported to the owner yet.  Now they may
 * have parents that would take as long again to miss them.  If there was an
 * epoch in between they may have returned. */
void nm_children_forget(struct nm_session *s, bool follows)
{
	struct nm_tree *t = &s->tree;
	uint32_t n = 0;

	for (uint32_t i = 0; follows && i < t->nfaults; i++)
		if (storm_tree_member(&t->shape, t->fault[i].node))
			t->fault[n++] = t->fault[i];
	t->nfaults = n;
}

void nm_children_open(struct nm_session *s)
{
	for (uint32_t i = 0; i < s->tree.children; i++) {
		struct storm_child *c = &s->tree.child[i];
		struct storm_addr to;
		size_t len;
		uint8_t *buf;
		int rc;

		if (c->invited || !nm_route(s, c->node, &to))
			continue;
		c->invited = true;
		s->open->late |= s->link.epoch > s->open->epoch;
		buf = storm_open_stream(s->open, c->node, &len);
		rc = buf ? s->link.t->ops->send_stream(s->link.t, &to,
						       s->link.session, c->node,
						       buf, len) :
			   -1;
		free(buf);
		if (rc)
			nm_child_lost(s, c->node, STORM_ELOST, -rc);
	}
}

void nm_children_tell(struct nm_session *s, uint64_t now)
{
	const struct storm_transport_ops *ops = s->link.t->ops;

	if (s->link.epoch != s->open->epoch || !ops->stream_state)
		return;
	for (uint32_t i = 0; i < s->tree.children; i++) {
		struct storm_child *c = &s->tree.child[i];

		if (!ops->stream_state(s->link.t, s->link.session, c->node))
			storm_child_told(c, now);
	}
}

/* As storm_child_cut(), and a connection that is known not to be made. */
static int nm_child_cut(struct nm_session *s, const struct storm_child *c,
			uint64_t now, uint64_t *next)
{
	const struct storm_transport_ops *ops = s->link.t->ops;
	int known = c->status.seen ? 0 : nm_known_find(s, c->node, now);
	int sys = storm_child_cut(c, known, now, next);
	uint64_t at = c->last_heard + STORM_CHILD_KNOWN;

	if (sys && !known)
		nm_known_add(s, c->node, sys, now);
	if (sys || c->heard || !nm_known_connection(known) ||
	    !ops->stream_state ||
	    ops->stream_state(s->link.t, s->link.session, c->node) !=
		    STORM_STREAM_CONNECTING)
		return sys;
	*next = storm_min(*next, now < at ? at : STORM_NEVER);
	return now < at ? 0 : known;
}

bool nm_children_cut(struct nm_session *s, uint64_t *next, uint64_t now)
{
	bool any = false;

	*next = STORM_NEVER;
	for (uint32_t i = 0; i < s->tree.children; i++) {
		struct storm_child *c = &s->tree.child[i];
		uint64_t again;
		int sys;

		if (nm_child_gone(s, c->node))
			continue;
		sys = nm_child_cut(s, c, now, &again);
		*next = storm_min(*next, again);
		any |= sys && nm_child_lost(s, c->node, STORM_ELOST, sys);
	}
	return any;
}

int nm_tree_rewire(struct nm_session *s, uint64_t now)
{
	struct nm_tree *t = &s->tree;
	uint32_t parent = storm_tree_parent(&t->shape, s->self);

	if (parent != t->parent) {
		t->parent = parent;
		nm_report_reset(s, now);
	}
	return storm_children_update(&t->child, &t->children, &t->shape,
				     s->self, now);
}

void storm_nm_stream_failed(struct storm_nm *nm, uint64_t session,
			    uint32_t node, enum storm_err why, int sys,
			    uint64_t now)
{
	struct nm_session *s = nm_find(nm, session);
	struct storm_child *c = s ? nm_child_of(s, node) : NULL;

	/* heard from: it has taken the OPEN, whatever came of the stream */
	if (!c || c->heard || nm_child_gone(s, node))
		return;
	if (why == STORM_EACCES)
		sys = storm_child_disbelieves(&s->tree.shape, node, sys);
	/* of a later epoch: its credential is as old as the domain */
	if (why == STORM_EAUTH && storm_auth_is_clock(sys) &&
	    s->link.epoch != s->open->epoch) {
		why = STORM_ELOST;
		sys = ECONNRESET;
	}
	if (why == STORM_ELOST && nm_known_connection(sys))
		nm_known_add(s, node, sys, now);
	if (nm_child_lost(s, node, why, sys))
		nm_status_update(s, false, now);
}
