/*
 * nm_repair.c - a transfer's lost chunks.  A node asks the tree parent for them,
 * then the grandparent, then the owner (nm_give.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/minmax.h"
#include "nm_private.h"

#define NACK_DELAY (3 * STORM_MS)      /* reordering tolerated before asking */
#define NACK_TAIL (20 * STORM_MS)      /* silence before the tail is lost */
#define NACK_LOOK STORM_MS	       /* for what is there already */
#define NACK_RTO_FIRST (40 * STORM_MS) /* until one is measured */
#define NACK_RTO_MIN (12 * STORM_MS)
#define NACK_RTO_MAX (400 * STORM_MS)
#define NACK_RANGES 128
#define NACK_BYTES (512u << 10) /* asked for at a time */

/* --------------------------------------------------------- when to ask --- */

void nm_repair_reset(struct nm_xfer *x)
{
	x->repair = (struct nm_repair) { .gap_at = STORM_NEVER,
					 .all_at = STORM_NEVER,
					 .rto = NACK_RTO_FIRST };
}

void nm_repair_end(struct nm_xfer *x)
{
	x->repair.all_at = x->repair.gap_at = STORM_NEVER;
}

void nm_repair_sent(struct nm_xfer *x, uint64_t now)
{
	struct nm_repair *r = &x->repair;

	if (!storm_chunkmap_full(&x->map) && r->all_at > now + NACK_TAIL)
		r->all_at = now + NACK_TAIL;
}

void nm_repair_written(struct nm_xfer *x, uint64_t now)
{
	struct nm_repair *r = &x->repair;

	if (storm_chunkmap_full(&x->map))
		return;
	if (r->all_at == STORM_NEVER)
		r->all_at = now + NACK_TAIL;
	if (r->gap_at == STORM_NEVER && x->map.prefix < x->map.high &&
	    x->map.high > r->high)
		r->gap_at = now + NACK_DELAY;
}

/* Repairs queue behind bulk data on their way: a node that asks again before they
 * can be here gets everything twice. */
void nm_repair_came(struct nm_xfer *x, uint64_t now)
{
	struct nm_repair *r = &x->repair;
	uint64_t rtt = now - r->sent_at;

	r->repaired++;
	if (!r->sent_at)
		return;
	r->sent_at = 0;
	r->rtt = r->rtt ? (3 * r->rtt + rtt) / 4 : rtt;
}

/* ----------------------------------------------------------------- asking --- */

/* The nearest node from here upwards that takes part in the transfer. */
static uint32_t nm_repair_taker(const struct nm_session *s, uint32_t node)
{
	while (node != STORM_NO_NODE &&
	       !storm_begin_names(&s->xfer.begin, node))
		node = storm_tree_parent(&s->tree.shape, node);
	return node;
}

/* The parent; its parent, then the owner, if that did not help. */
static uint32_t nm_repair_asked(const struct nm_session *s, uint64_t now)
{
	const struct nm_repair *r = &s->xfer.repair;
	uint32_t to = nm_repair_taker(s, s->tree.parent);

	if ((r->tries > 2 || now < s->status.direct_until) &&
	    to != STORM_NO_NODE)
		to = nm_repair_taker(s, storm_tree_parent(&s->tree.shape, to));
	return r->tries > 5 ? STORM_NO_NODE : to;
}

/* Ask for what is missing in [from, below). */
static void nm_repair_ask(struct nm_session *s, uint64_t from, uint64_t below,
			  uint64_t now)
{
	struct nm_xfer *x = &s->xfer;
	struct nm_repair *r = &x->repair;
	uint8_t body[4 + NACK_RANGES * 16];
	struct storm_out o = { body + 4, body + sizeof(body), false };
	struct storm_out head = { body, body + 4, false };
	size_t max = nm_body_max(s);
	uint64_t most = NACK_BYTES / x->map.chunk + 1;
	uint64_t first, last, asked = 0;
	uint32_t n = 0;

	while (n < NACK_RANGES && 4 + (n + 1) * 16 <= max && asked < most &&
	       storm_chunkmap_gap(&x->map, &from, below, &first, &last)) {
		if (last - first + 1 > most - asked)
			last = first + (most - asked) - 1;
		storm_put64(&o, first);
		storm_put64(&o, last);
		asked += last - first + 1;
		if (last >= r->high) {
			r->lost += last - first + 1;
			r->high = last + 1;
		}
		n++;
	}
	if (!n)
		return;
	storm_put32(&head, n);
	nm_send(s, STORM_MSG_NACK, x->op, body, (size_t) (o.p - body),
		nm_repair_asked(s, now));
	s->nm->stats.nacks_sent++;
	if (!r->sent_at)
		r->sent_at = now;
}

static uint64_t nm_repair_rto(const struct nm_repair *r)
{
	uint64_t t = 2 * r->rtt + 4 * STORM_MS;

	if (!r->rtt)
		return NACK_RTO_FIRST;
	return storm_max(NACK_RTO_MIN, storm_min(t, NACK_RTO_MAX));
}

/* No DATA for longer than repairs take here: what the owner has sent is lost, it
 * is not on its way any more. */
static bool nm_repair_is_silent(const struct nm_xfer *x, uint64_t now)
{
	uint64_t tail = 2 * x->repair.rtt;

	if (tail < NACK_TAIL)
		tail = NACK_TAIL;
	if (tail > NACK_RTO_MAX)
		tail = NACK_RTO_MAX;
	return now >= x->data_at + tail;
}

/* A host that did not run for a while finds its time over and the data waiting in
 * its queues: it looks at those before it asks. */
static bool nm_repair_looks_first(struct nm_xfer *x, uint64_t now)
{
	struct nm_repair *r = &x->repair;

	if (!nm_repair_is_silent(x, now) || r->silent_have == x->map.have + 1)
		return false;
	r->silent_have = x->map.have + 1;
	r->all_at = now + NACK_LOOK;
	return true;
}

/* All that is missing, once more; from farther up if it did not help. */
static void nm_repair_ask_again(struct nm_session *s, uint64_t now)
{
	struct nm_xfer *x = &s->xfer;
	struct nm_repair *r = &x->repair;
	uint64_t below = x->map.high;

	if (nm_repair_looks_first(x, now))
		return;
	if (nm_repair_is_silent(x, now))
		below = x->sent / x->map.chunk + (x->sent % x->map.chunk != 0);
	else if (below > r->old)
		below = r->old; /* the newer ones were asked for just now */
	r->old = r->high;
	if (x->map.have > r->have || x->map.prefix >= below) {
		r->tries = 0;
		r->rto = nm_repair_rto(r);
	} else {
		r->tries++;
		r->rto = r->rto * 3 / 2 > NACK_RTO_MAX ? NACK_RTO_MAX :
							 r->rto * 3 / 2;
	}
	r->have = x->map.have;
	nm_repair_ask(s, 0, below, now);
	r->all_at = now + r->rto;
}

/* What the host has no room for would be sent in vain. */
static bool nm_repair_has_room(const struct nm_session *s)
{
	size_t size;

	return !nm_xfer_is_file(&s->xfer) ||
	       s->nm->ops.file_room(s->nm->host, s->xfer.file, &size);
}

uint64_t nm_repair_tick(struct nm_session *s, uint64_t now)
{
	const struct nm_xfer *x = &s->xfer;
	struct nm_repair *r = &s->xfer.repair;

	if (!x->mapped || x->err || x->decision ||
	    x->phase != STORM_PHASE_BEGUN)
		return STORM_NEVER;
	if (now >= storm_min(r->all_at, r->gap_at) && !nm_repair_has_room(s)) {
		r->all_at = now + NACK_RTO_MIN;
		r->gap_at = STORM_NEVER;
	} else if (now >= r->all_at) {
		nm_repair_ask_again(s, now);
		r->gap_at = STORM_NEVER;
	} else if (now >= r->gap_at) {
		nm_repair_ask(s, r->high, x->map.high, now);
		r->gap_at = STORM_NEVER;
		/* along a chain those before us come first: they ask too */
		if (r->all_at > now + r->rto ||
		    s->heard.cast.flags & STORM_CAST_CHAIN)
			r->all_at = now + r->rto;
	}
	return storm_min(r->gap_at, r->all_at);
}
