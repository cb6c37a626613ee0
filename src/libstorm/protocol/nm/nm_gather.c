/*
 * nm_gather.c - a node's part of a gather: it asks its host, awaits the tables of
 * its children, and sends the sum up.  A table is whole once it is sent: what
 * comes later is not in it, and the owner asks for that in another gather, of a
 * higher number.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "nm_private.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

#define ANSWER_TRIES 20 /* then the one above is gone, or asks anew */

void nm_gather_end(struct nm_session *s)
{
	struct nm_gather *g = &s->gather;

	storm_collect_clear(&g->c);
	storm_idset_clear(&g->asked);
	free(g->said.buf);
	free(g->answer);
	*g = (struct nm_gather) { .id = g->id };
}

size_t nm_gather_bytes(const struct nm_session *s)
{
	const struct nm_gather *g = &s->gather;

	return storm_collect_bytes(&g->c) + g->said.len + g->answer_len +
	       g->asked.room * sizeof(*g->asked.r);
}

/* --------------------------------------------------------------------- answer --- */

static void nm_gather_send(struct nm_session *s, uint64_t now)
{
	struct nm_gather *g = &s->gather;
	size_t max = nm_body_up(nm_body_max(s)) - STORM_REPORT_PART_HEADER;
	uint32_t parts = (uint32_t) ((g->answer_len + max - 1) / max);
	uint8_t body[STORM_DATAGRAM_MAX];

	for (uint32_t p = 0; p < parts; p++) {
		size_t off = (size_t) p * max;
		size_t n = storm_min(g->answer_len - off, max);
		struct storm_out o = { body, body + sizeof(body), false };

		storm_put64(&o, g->id);
		storm_put16(&o, (uint16_t) p);
		storm_put16(&o, (uint16_t) parts);
		storm_put32(&o, (uint32_t) max);
		storm_put(&o, g->answer + off, n);
		nm_send(s, STORM_MSG_GATHERED, g->id, body,
			(size_t) (o.p - body), g->to);
	}
	g->due_at = ++g->tries < ANSWER_TRIES ? now + g->every : STORM_NEVER;
	g->every = storm_min(2 * g->every, STORM_COLLECT_AGAIN_MAX);
}

/* All have answered, or there is no time left. */
static void nm_gather_finish(struct nm_session *s, uint64_t now)
{
	struct nm_gather *g = &s->gather;
	struct storm_idset *missing = &g->c.sum.missing;

	g->running = false;
	if (!storm_idset_minus(&g->asked, &g->c.answered, missing))
		g->answer = storm_gathered_pack(&g->c.sum, &g->c.answered,
						&g->answer_len);
	storm_collect_stop(&g->c);
	storm_gathered_clear(&g->c.sum);
	if (!g->answer) /* no memory: it counts as one that does not answer */
		return;
	g->every = STORM_COLLECT_AGAIN;
	nm_gather_send(s, now);
}

static void nm_gather_check(struct nm_session *s, uint64_t now)
{
	if (s->gather.running && !s->gather.own_due && !s->gather.c.left)
		nm_gather_finish(s, now);
}

/* What the host put in. */
static void nm_gather_own(struct nm_session *s,
			  const struct storm_gather_own *own)
{
	struct nm_gather *g = &s->gather;

	g->own_due = false;
	if (!storm_gathered_merge(&g->c.sum, &own->t))
		storm_idset_add(&g->c.answered, s->self, s->self);
}

void storm_nm_gathered(struct storm_nm *nm, uint64_t session, uint64_t id,
		       const struct storm_gather_own *own, uint64_t now)
{
	struct nm_session *s = nm_find_host(nm, session);

	if (!s || s->closing || !s->gather.running || !s->gather.own_due ||
	    s->gather.id != id)
		return;
	nm_gather_own(s, own);
	nm_gather_check(s, now);
}

static void nm_gather_ask_host(struct nm_session *s,
			       const struct storm_gather_ask *a)
{
	struct storm_gather_own own = { .self = s->self };
	const struct storm_nm_ops *ops = &s->nm->ops;

	s->gather.own_due = true;
	if (!s->host.ready || !ops->gather ||
	    ops->gather(s->nm->host, s->host.ctx, s->host.session, s->gather.id,
			a->query, a->len, &own))
		nm_gather_own(s, &own);
	storm_gathered_clear(&own.t);
}

/* ------------------------------------------------------------------- question --- */

/* The owner's own datagram: nobody else's would be believed. */
static void nm_gather_relay(struct nm_session *s, uint64_t now)
{
	struct nm_gather *g = &s->gather;
	struct storm_collect *c = &g->c;

	for (uint32_t i = 0; i < c->count && g->said.len; i++) {
		struct storm_addr to;

		if (!c->from[i].done && nm_route(s, c->from[i].node, &to) &&
		    nm_relay_pays(s, g->said.len, now) &&
		    !s->link.t->ops->send(s->link.t, STORM_CONTROL, &to,
					  g->said.buf, g->said.len,
					  g->said.len))
			s->nm->stats.relayed++;
	}
	c->ask_at = now + c->ask_every;
	c->ask_every = storm_min(2 * c->ask_every, STORM_COLLECT_AGAIN_MAX);
}

/* The nodes of a subtree that are asked. */
static int nm_gather_below(struct nm_session *s, uint32_t node,
			   const struct storm_gather_ask *a,
			   struct storm_idset *out)
{
	int err = a->flags & STORM_GATHER_ALONE ?
			  storm_idset_add(out, node, node) :
			  storm_tree_subtree(&s->tree.shape, node, out);

	if (!err && a->p.count)
		err = storm_idset_keep(out, &a->p);
	return err;
}

static int nm_gather_await(struct nm_session *s,
			   const struct storm_gather_ask *a)
{
	for (uint32_t i = 0; i < s->tree.children; i++) {
		uint32_t node = s->tree.child[i].node;
		struct storm_idset asked = { 0 };

		if (nm_child_gone(s, node))
			continue;
		if (nm_gather_below(s, node, a, &asked)) {
			storm_idset_clear(&asked);
			return STORM_ENOMEM;
		}
		if (asked.count &&
		    storm_collect_await(&s->gather.c, node, &asked, false))
			return STORM_ENOMEM;
	}
	return STORM_OK;
}

static void nm_gather_begin(struct nm_session *s,
			    const struct storm_gather_ask *a, bool relay,
			    uint64_t now)
{
	struct nm_gather *g = &s->gather;
	bool root = a->root == s->self;

	g->to = root ? STORM_NO_NODE : s->tree.parent;
	if (nm_gather_below(s, s->self, a, &g->asked) || !g->asked.count)
		return;
	g->running = true;
	/* what there is no memory for is missing */
	if (!(root && a->flags & STORM_GATHER_ALONE))
		nm_gather_await(s, a);
	g->c.ask_every = STORM_COLLECT_AGAIN;
	if (relay)
		nm_gather_relay(s, now);
	g->c.ask_at = now + g->c.ask_every;
	g->until = now +
		   a->slice * storm_max(1, storm_collect_height(&s->tree.shape,
								s->self));
	if (storm_idset_has(&g->asked, s->self))
		nm_gather_ask_host(s, a);
	nm_gather_check(s, now);
}

void nm_gather_take(struct nm_session *s, const struct storm_header *h,
		    const struct storm_rx *rx, const uint8_t *body, size_t len,
		    uint64_t now)
{
	struct nm_gather *g = &s->gather;
	struct storm_gather_ask a;

	if (storm_gather_ask_unpack(&a, body, len, s->open->count)) {
		s->nm->link_stats.bad_wire++;
		return;
	}
	if (h->op == g->id && g->answer) {
		nm_gather_send(s, now); /* it is asked for again */
	} else if (h->op > g->id && !s->member.outside) {
		nm_gather_end(s);
		g->id = h->op;
		/* those below get it from here, also if this node is the root */
		nm_said_keep(&g->said, rx, now);
		nm_gather_begin(s, &a, h->flags & STORM_HDR_RELAY, now);
	}
	storm_idset_clear(&a.p);
}

void nm_gather_part(struct nm_session *s, uint32_t node, uint64_t id,
		    const uint8_t *body, size_t len, uint64_t now)
{
	struct nm_gather *g = &s->gather;
	int got;

	if (id > g->id) /* this node has not been asked yet */
		return;
	if (id < g->id || !g->running) { /* too late: it need not go on */
		nm_send(s, STORM_MSG_GATHER_ACK, id, "", 0, node);
		return;
	}
	got = storm_collect_part(&g->c, node, body, len,
				 storm_account_left(&s->account));
	if (got < 0)
		s->nm->link_stats.bad_wire++;
	if (got > 0)
		nm_send(s, STORM_MSG_GATHER_ACK, id, "", 0, node);
	nm_gather_check(s, now);
}

void nm_gather_acked(struct nm_session *s, uint32_t from, uint64_t id)
{
	struct nm_gather *g = &s->gather;

	if (id == g->id && g->answer && from == g->to)
		g->due_at = STORM_NEVER;
}

uint64_t nm_gather_tick(struct nm_session *s, uint64_t now)
{
	struct nm_gather *g = &s->gather;

	if (g->running && now >= g->until)
		nm_gather_finish(s, now);
	if (g->running) {
		if (g->c.left && now >= g->c.ask_at)
			nm_gather_relay(s, now);
		return storm_min(g->until,
				 g->c.left ? g->c.ask_at : STORM_NEVER);
	}
	if (!g->answer)
		return STORM_NEVER;
	if (now >= g->due_at)
		nm_gather_send(s, now);
	return g->due_at;
}
