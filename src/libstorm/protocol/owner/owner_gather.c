/*
 * owner_gather.c - a gather at the owner.  It asks the whole tree first.  What does
 * not answer in half of the time left is silent, and silences those below it.  So
 * the owner asks these itself then, in gathers of their own, until all have
 * answered or the deadline comes.
 *
 * Each gather is of nodes whose answers it does not have.  So what has come stays,
 * even when the tree changes meanwhile.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "owner_private.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

#define SLICE_MIN (5 * STORM_MS)
#define SLICE_MAX (250 * STORM_MS)
#define PAST_MAX 256	/* nodes that the owner asks itself at a time */
#define FAULTS_MAX 4096 /* named in the outcome; missing has all */

/* ------------------------------------------------------------------------ end --- */

static void owner_gather_free(struct owner_gather *g)
{
	storm_idset_clear(&g->p);
	storm_idset_clear(&g->asked);
	storm_idset_clear(&g->tried);
	storm_collect_clear(&g->c);
	free(g);
}

static void owner_gather_unqueue(struct storm_owner *o, struct owner_gather **p)
{
	struct owner_gathers *q = &o->gathers;
	struct owner_gather *g = *p;

	*p = g->next;
	if (!*p)
		q->tail = p;
	owner_gather_free(g);
}

/* Those that were asked for, members or not, without an answer. */
static int owner_gather_missing(const struct owner_gather *g,
				struct storm_idset *out)
{
	return storm_idset_minus(&g->p, &g->c.answered, out);
}

static void owner_gather_blame(const struct storm_owner *o,
			       const struct storm_idset *missing,
			       struct storm_outcome *out)
{
	uint64_t n = storm_idset_size(missing);
	uint64_t keep = storm_min(n, FAULTS_MAX);

	out->nfaults = (uint32_t) n;
	out->faults = keep ? calloc(keep, sizeof(*out->faults)) : NULL;
	for (uint32_t i = 0; out->faults && i < missing->count; i++)
		for (uint32_t k = missing->r[i].first;
		     k <= missing->r[i].last && out->faults_kept < keep; k++)
			out->faults[out->faults_kept++] = (struct storm_fault) {
				.node = k,
				.why = storm_tree_member(&o->tree, k) ?
					       STORM_ETIME :
					       STORM_ELOST
			};
}

/* The first of the queue has ended. */
static void owner_gather_end(struct storm_owner *o, enum storm_state state)
{
	struct owner_gather *g = o->gathers.first;
	struct storm_outcome out = { .state = state };
	struct storm_gathered t = g->c.sum;

	memset(&g->c.sum, 0, sizeof(g->c.sum));
	if (state == STORM_DONE) {
		storm_idset_clear(&t.missing);
		if (owner_gather_missing(g, &t.missing))
			out.state = STORM_ABORTED;
		else
			owner_gather_blame(o, &t.missing, &out);
	}
	if (out.state != STORM_DONE)
		storm_gathered_clear(&t);
	o->ops.gathered(o->arg, g->token, &t, &out);
	owner_gather_unqueue(o, &o->gathers.first);
}

void owner_gather_end_all(struct storm_owner *o)
{
	while (o->gathers.first)
		owner_gather_end(o, STORM_ABORTED);
}

static struct owner_gather **owner_gather_find(struct storm_owner *o,
					       const void *token)
{
	struct owner_gather **p = &o->gathers.first;

	while (*p && (*p)->token != token)
		p = &(*p)->next;
	return p;
}

bool owner_gather_forget(struct storm_owner *o, const void *token, bool tell)
{
	struct owner_gather **p = owner_gather_find(o, token);
	struct storm_outcome out = { .state = STORM_ABORTED };
	struct storm_gathered none = { 0 };

	if (!*p)
		return false;
	if (tell)
		o->ops.gathered(o->arg, (*p)->token, &none, &out);
	owner_gather_unqueue(o, p);
	return true;
}

/* ------------------------------------------------------------------------ ask --- */

/* Add what is asked of a node's subtree to those awaited, if it is any. */
static int owner_gather_await(struct storm_owner *o, struct owner_gather *g,
			      uint32_t node, bool alone)
{
	struct storm_idset sub = { 0 };
	int err = alone ? storm_idset_add(&sub, node, node) :
			  storm_tree_subtree(&o->tree, node, &sub);

	if (!err)
		err = storm_idset_keep(&sub, &g->asked);
	if (!err && sub.count)
		return storm_collect_await(&g->c, node, &sub, alone);
	storm_idset_clear(&sub);
	return err;
}

/* Pack the question for the nodes `asked` of all those in `of`.  0: it is too
 * long. */
static size_t owner_gather_pack(const struct storm_owner *o,
				const struct owner_gather *g, uint32_t root,
				bool alone, const struct storm_idset *asked,
				const struct storm_idset *of, uint8_t *body)
{
	struct storm_gather_ask a = { .root = root,
				      .flags = alone ? STORM_GATHER_ALONE : 0,
				      .slice = g->slice,
				      .query = g->query,
				      .len = g->len };
	size_t n = 0;

	/* all of them: none is named */
	if (storm_idset_covers(asked, of) || !storm_set_fill(asked, of, &a.p))
		n = storm_gather_ask_pack(&a, body, owner_cast_max(o));
	storm_idset_clear(&a.p);
	return n;
}

/* One of those that the owner awaits. */
static void owner_gather_ask(struct storm_owner *o, struct owner_gather *g,
			     const struct storm_collect_from *f)
{
	struct storm_addr to = owner_addr(o, f->node);
	/* by the group those below have it, or get it from their parents */
	bool relay = g->past || !owner_cast_by_group(o);
	uint8_t body[STORM_DATAGRAM_MAX];
	struct storm_idset of = { 0 };
	size_t n = 0;

	if (!(f->alone ? storm_idset_add(&of, f->node, f->node) :
			 storm_tree_subtree(&o->tree,
					    g->past ? f->node : STORM_NO_NODE,
					    &of)))
		n = owner_gather_pack(o, g, g->past ? f->node : STORM_NO_NODE,
				      f->alone, g->past ? &f->asked : &g->asked,
				      &of, body);
	if (n)
		storm_link_send(&o->link, STORM_MSG_GATHER,
				relay ? STORM_HDR_RELAY : 0, g->id, body, n,
				&to, 1);
	storm_idset_clear(&of);
}

static void owner_gather_ask_late(struct storm_owner *o, struct owner_gather *g,
				  uint64_t now)
{
	for (uint32_t i = 0; i < g->c.count; i++)
		if (!g->c.from[i].done)
			owner_gather_ask(o, g, &g->c.from[i]);
	g->c.ask_at = now + g->c.ask_every;
	g->c.ask_every = storm_min(2 * g->c.ask_every, STORM_COLLECT_AGAIN_MAX);
}

/* Another gather of the same question begins.  False: there is no time for it. */
static bool owner_gather_next(struct storm_owner *o, struct owner_gather *g,
			      bool past, uint64_t now)
{
	uint64_t levels = storm_collect_height(&o->tree, STORM_NO_NODE) + 1;
	uint64_t left = now < g->until ? g->until - now : 0;

	storm_collect_stop(&g->c);
	storm_idset_clear(&g->asked);
	g->past = past;
	g->slice = storm_min(left / (2 * levels), SLICE_MAX);
	g->epoch = o->link.epoch;
	g->id = ++o->gathers.made;
	g->c.ask_every = STORM_COLLECT_AGAIN;
	g->c.ask_at = now + g->c.ask_every;
	g->round_until = now + g->slice * levels;
	return g->slice >= SLICE_MIN && !owner_gather_missing(g, &g->asked);
}

/* Ask the whole tree.  False: nobody is to be asked, or they cannot be. */
static bool owner_gather_whole(struct storm_owner *o, struct owner_gather *g,
			       uint64_t now)
{
	uint8_t body[STORM_DATAGRAM_MAX];
	struct storm_idset all = { 0 };
	size_t n = 0;

	storm_idset_clear(&g->tried); /* in another tree */
	if (!owner_gather_next(o, g, false, now))
		return false;
	if (!storm_tree_subtree(&o->tree, STORM_NO_NODE, &all) &&
	    !storm_idset_keep(&g->asked, &all) && g->asked.count)
		n = owner_gather_pack(o, g, STORM_NO_NODE, false, &g->asked,
				      &all, body);
	storm_idset_clear(&all);
	for (uint32_t i = 0; n && i < o->children; i++)
		if (owner_gather_await(o, g, o->child[i].node, false))
			n = 0;
	if (!n || !g->c.left)
		return false;
	if (owner_cast_by_group(o))
		storm_link_send(&o->link, STORM_MSG_GATHER, 0, g->id, body, n,
				&o->open->group, 1);
	else
		owner_gather_ask_late(o, g, now);
	return true;
}

/* Is this node silent, or was it not heard because of one above it? */
static bool owner_gather_is_top(const struct storm_owner *o,
				const struct owner_gather *g, uint32_t node)
{
	uint32_t up = storm_tree_parent(&o->tree, node);

	return up == STORM_NO_NODE || !storm_idset_has(&g->asked, up);
}

/* Those below silent nodes, with their subtrees (first), or the topmost of the
 * silent nodes themselves. */
static int owner_gather_past_some(struct storm_owner *o, struct owner_gather *g,
				  bool tops)
{
	int err = STORM_OK;

	for (uint32_t i = 0; !err && i < g->asked.count; i++)
		for (uint32_t k = g->asked.r[i].first;
		     !err && k <= g->asked.r[i].last && g->c.count < PAST_MAX;
		     k++) {
			uint32_t up;

			if (!storm_tree_member(&o->tree, k) ||
			    storm_idset_has(&g->tried, k) ||
			    owner_gather_is_top(o, g, k) != tops)
				continue;
			up = storm_tree_parent(&o->tree, k);
			if (!tops && !storm_idset_has(&g->tried, up) &&
			    !owner_gather_is_top(o, g, up))
				continue;
			err = owner_gather_await(o, g, k, tops);
		}
	return err;
}

/* Go past silent nodes.  False: there are none that were not asked yet. */
static bool owner_gather_past(struct storm_owner *o, struct owner_gather *g,
			      uint64_t now)
{
	uint64_t height = 1;

	if (!owner_gather_next(o, g, true, now) ||
	    owner_gather_past_some(o, g, false) ||
	    owner_gather_past_some(o, g, true))
		return false;
	for (uint32_t i = 0; i < g->c.count; i++) {
		const struct storm_collect_from *f = &g->c.from[i];
		uint64_t h =
			f->alone ? 1 :
				   storm_collect_height(&o->tree, f->node) + 1;

		height = storm_max(height, h);
		if (storm_idset_add(&g->tried, f->node, f->node))
			return false;
	}
	g->round_until = now + g->slice * height;
	owner_gather_ask_late(o, g, now);
	return g->c.count;
}

/* ---------------------------------------------------------------------- queue --- */

int storm_owner_gather(struct storm_owner *o, const struct storm_idset *P,
		       const void *query, size_t len, uint64_t limit,
		       void *token, uint64_t now)
{
	struct owner_gather *g;
	int err;

	if (o->phase != OWNER_OPEN)
		return STORM_ECLOSED;
	if (len > STORM_GATHER_QUERY)
		return STORM_EINVAL;
	g = calloc(1, sizeof(*g));
	if (!g)
		return STORM_ENOMEM;
	err = owner_set_copy(o, P, &g->p);
	if (!err && len + storm_set_len(&g->p) + STORM_GATHER_ASK_FIXED >
			    owner_cast_max(o))
		err = STORM_ETOOBIG;
	if (err) {
		owner_gather_free(g);
		return err;
	}
	if (len)
		memcpy(g->query, query, len);
	g->len = (uint16_t) len;
	g->limit = storm_min(limit, o->conf.set.op_timeout);
	g->token = token;
	*o->gathers.tail = g;
	o->gathers.tail = &g->next;
	owner_gather_tick(o, now);
	return STORM_OK;
}

void owner_gather_part(struct storm_owner *o, uint32_t node, uint64_t id,
		       const uint8_t *body, size_t len, uint64_t now)
{
	struct owner_gather *g = o->gathers.first;
	struct storm_addr to = owner_addr(o, node);
	int got = 2; /* of an earlier one: it need not go on */

	if (id > o->gathers.made) {
		o->link_stats.bad_wire++;
		return;
	}
	if (g && g->id == id && g->epoch == o->link.epoch)
		got = storm_collect_part(&g->c, node, body, len, UINT64_MAX);
	if (got < 0)
		o->link_stats.bad_wire++;
	if (got)
		storm_link_send(&o->link, STORM_MSG_GATHER_ACK, 0, id, "", 0,
				&to, 1);
	if (got)
		owner_gather_tick(o, now);
}

/* Go on with the first of the queue.  False: it has ended. */
static bool owner_gather_advance(struct storm_owner *o, struct owner_gather *g,
				 uint64_t now)
{
	bool begun = g->id;

	if (!begun) {
		g->until = now + g->limit;
		if (!g->p.count &&
		    storm_tree_subtree(&o->tree, STORM_NO_NODE, &g->p)) {
			owner_gather_end(o, STORM_ABORTED);
			return false;
		}
	}
	if (begun && g->epoch == o->link.epoch && g->c.left &&
	    now < g->round_until)
		return true;
	if (!begun || g->epoch != o->link.epoch) {
		if (owner_gather_whole(o, g, now))
			return true;
	} else if (owner_gather_past(o, g, now)) {
		return true;
	}
	owner_gather_end(o, STORM_DONE);
	return false;
}

uint64_t owner_gather_tick(struct storm_owner *o, uint64_t now)
{
	struct owner_gather *g;

	while (o->phase == OWNER_OPEN && (g = o->gathers.first)) {
		if (!owner_gather_advance(o, g, now))
			continue;
		if (now >= g->c.ask_at)
			owner_gather_ask_late(o, g, now);
		return storm_min(g->round_until, g->c.ask_at);
	}
	return STORM_NEVER;
}
