/*
 * nm_excluded.c - the excluded nodes of an epoch, where they come in parts.  A
 * state that refers to parts which are not here yet waits for them: a node
 * cannot know its place in the epoch's tree before, nor whether it is in it.
 * Datagrams are kept as they came: the node's children in that tree need them,
 * too.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "nm_private.h"

#define LACKS_AFTER (300 * STORM_MS) /* the owner repeats them unasked before */

/* The state that waits, and its parts, are of another epoch, or not needed. */
static void nm_excluded_drop_state(struct nm_excluded *x)
{
	if (x->waits)
		storm_cast_free(&x->cast);
	x->waits = false;
	x->state.len = 0;
}

void nm_excluded_free(struct nm_excluded *x)
{
	nm_excluded_drop_state(x);
	storm_excluded_free(&x->set);
	for (int i = 0; i < STORM_EXCLUDED_PARTS; i++)
		free(x->part[i].buf);
	free(x->state.buf);
	memset(x, 0, sizeof(*x));
}

static void nm_excluded_epoch(struct nm_excluded *x, uint32_t epoch)
{
	if (epoch <= x->epoch)
		return;
	nm_excluded_free(x);
	x->epoch = epoch;
}

bool nm_excluded_fill(struct nm_session *s, struct storm_cast *c,
		      uint32_t epoch)
{
	struct nm_excluded *x = &s->excluded;

	/* it knows its place in this epoch already */
	if (!(c->flags & STORM_CAST_PARTS) || epoch == s->link.epoch ||
	    c->flags & STORM_CAST_CLOSING)
		return true;
	return epoch == x->epoch && storm_excluded_whole(&x->set) &&
	       !storm_excluded_set(&x->set, s->open->count, &c->excluded);
}

void nm_excluded_wait(struct nm_session *s, struct storm_cast *c,
		      uint32_t epoch, uint16_t flags, const struct storm_rx *rx,
		      uint64_t now)
{
	struct nm_excluded *x = &s->excluded;
	uint64_t since = x->waits ? x->since : now;

	nm_excluded_epoch(x, epoch);
	if (epoch < x->epoch || (x->waits && c->version < x->cast.version)) {
		storm_cast_free(c);
		return;
	}
	nm_excluded_drop_state(x);
	nm_said_keep(&x->state, rx, now);
	x->cast = *c;
	x->flags = flags;
	x->since = since;
	x->waits = true;
}

bool nm_excluded_part(struct nm_session *s, struct storm_in *in,
		      const struct storm_header *h, const struct storm_rx *rx,
		      uint64_t now)
{
	struct nm_excluded *x = &s->excluded;
	int part;

	/* nobody here needs it */
	if (h->epoch == s->link.epoch && !s->tree.children)
		return false;
	nm_excluded_epoch(x, h->epoch);
	if (h->epoch < x->epoch)
		return false;
	part = storm_excluded_take(&x->set, in->p, (size_t) (in->end - in->p),
				   s->open->count);
	if (part < 0) {
		s->nm->link_stats.bad_wire++;
		return false;
	}
	nm_said_keep(&x->part[part], rx, now);
	if (h->epoch > s->link.epoch)
		x->relay |= h->flags & STORM_HDR_RELAY;
	return x->waits && storm_excluded_whole(&x->set);
}

bool nm_excluded_take(struct nm_session *s, struct storm_cast *c)
{
	struct nm_excluded *x = &s->excluded;

	*c = x->cast;
	memset(&x->cast, 0, sizeof(x->cast));
	x->waits = false;
	if (nm_excluded_fill(s, c, x->epoch))
		return true;
	storm_cast_free(c);
	return false;
}

void nm_excluded_send(struct nm_session *s, uint32_t node, uint64_t now)
{
	struct nm_excluded *x = &s->excluded;
	struct storm_addr to;

	if (x->epoch != s->link.epoch || !storm_excluded_whole(&x->set) ||
	    !nm_route(s, node, &to))
		return;
	for (uint32_t i = 0; i < x->set.parts; i++)
		if (x->part[i].len && nm_relay_pays(s, x->part[i].len, now) &&
		    !s->link.t->ops->send(s->link.t, STORM_CONTROL, &to,
					  x->part[i].buf, x->part[i].len,
					  x->part[i].len))
			s->nm->stats.relayed++;
}

void nm_excluded_pass(struct nm_session *s, uint64_t now)
{
	struct nm_excluded *x = &s->excluded;

	if (x->waits && x->cast.version <= s->heard.cast.version)
		nm_excluded_drop_state(x);
	if (!x->relay || x->epoch != s->link.epoch)
		return;
	x->relay = false;
	for (uint32_t i = 0; i < s->tree.children; i++)
		nm_excluded_send(s, s->tree.child[i].node, now);
}

uint64_t nm_excluded_tick(struct nm_session *s, uint64_t now)
{
	struct nm_excluded *x = &s->excluded;

	if (!x->waits)
		return STORM_NEVER;
	if (now >= x->since + LACKS_AFTER) {
		nm_status_join(s, now);
		x->since = now;
	}
	return x->since + LACKS_AFTER;
}
