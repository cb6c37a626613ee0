/*
 * nm_repair.c - a transfer's lost chunks.  With multicast and few nodes a node asks
 * the owner for them (owner_repair.c).  Else it asks the tree parent, then the
 * grandparent, then the owner (nm_give.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>

#include "nm_private.h"
#include "src/libstorm/base/minmax.h"

#define NACK_DELAY (3 * STORM_MS)      /* reordering tolerated before asking */
#define NACK_TAIL (20 * STORM_MS)      /* silence before the tail is lost */
#define NACK_QUIET (8 * STORM_MS)      /* silence before repairs are lost */
#define NACK_LOOK STORM_MS	       /* for what is there already */
#define NACK_RTO_FIRST (40 * STORM_MS) /* until one is measured */
#define NACK_RTO_MIN (12 * STORM_MS)
#define NACK_RTO_MAX (400 * STORM_MS)
#define NACK_RTO_NONE (50 * STORM_MS)
#define NACK_QUIET_NONE (50 * STORM_MS)
#define NACK_RANGES 128
#define NACK_AT_ONCE 4 /* datagrams */
#define OWNER_NODES 64 /* the owner repairs for no more by itself */
/* Only short datagrams of a transfer come.  The owner's states arrive, and this
 * node has asked the owner, too. */
#define CUT_TRIES 12
#define CUT_AFTER (500 * STORM_MS)
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

void nm_repair_heard(struct nm_xfer *x, const struct storm_cast *c)
{
	const struct storm_idset *p = &x->begin.p;

	if (c->p.count && !c->decision &&
	    (!p->count || storm_idset_size(&c->p) < storm_idset_size(p)))
		x->repair.gap = true;
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

static uint64_t nm_repair_rto(uint64_t rtt)
{
	uint64_t t = 2 * rtt + 4 * STORM_MS;

	return storm_max(NACK_RTO_MIN, storm_min(t, NACK_RTO_MAX));
}

/* Repairs queue behind bulk data on their way: a node that asks again before they
 * can be here gets everything twice.  What takes so long shows one chunk that was
 * asked for once (Karn).  Until one has shown it, nm_repair_ask_again() takes
 * longer and longer.  relayed: it was not lost, just late. */
void nm_repair_came(struct nm_xfer *x, uint64_t i, bool relayed, uint64_t now)
{
	struct nm_repair *r = &x->repair;
	uint64_t rtt = now - r->sent_at;

	r->repaired += !relayed;
	if (!r->sent_at || i != r->probe)
		return;
	r->sent_at = 0;
	if (relayed)
		return;
	r->rtt = r->rtt ? (r->rtt + rtt) / 2 : rtt;
	r->rto = nm_repair_rto(r->rtt);
}

/* A range was asked for, from here on.  What was asked for before is no probe any
 * more: nobody knows which request brings it. */
static void nm_repair_asks(struct nm_repair *r, uint64_t first, uint64_t last,
			   uint64_t now)
{
	uint64_t fresh = storm_max(first, r->high);

	if (r->sent_at && first <= r->probe && r->probe <= last)
		r->sent_at = 0;
	if (last < fresh)
		return;
	if (!r->sent_at) {
		r->probe = fresh;
		r->sent_at = now;
	}
	r->lost += last - fresh + 1;
	r->high = last + 1;
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

/* One node did not relay what all behind it lack, those above here perhaps, too.  At the
 * end all is sent, and what does not come by one NACK is lacked there as well. */
static bool nm_repair_by_a_gap(const struct nm_xfer *x)
{
	return x->repair.gap ||
	       (x->sent == x->begin.size && x->repair.tries > 0);
}

/* The owner sends what several lack to all at once, and has it in memory.  Along the
 * chain it sends it to the first of them, which relays it.  Where they are many the nodes
 * above do their part of it. */
static bool nm_repair_by_owner(const struct nm_session *s)
{
	return (!(s->heard.cast.flags & STORM_CAST_CHAIN) ||
		nm_repair_by_a_gap(&s->xfer)) &&
	       s->tree.shape.members <= OWNER_NODES;
}

/* The parent; its parent, then the owner, if that did not help. */
static uint32_t nm_repair_asked(const struct nm_session *s, uint64_t now)
{
	const struct nm_repair *r = &s->xfer.repair;
	uint32_t to = nm_repair_taker(s, s->tree.parent);

	if ((r->tries > 2 || now < s->status.direct_until) &&
	    to != STORM_NO_NODE)
		to = nm_repair_taker(s, storm_tree_parent(&s->tree.shape, to));
	return r->tries > 5 || nm_repair_by_owner(s) ? STORM_NO_NODE : to;
}

/* What is asked for by one datagram. */
struct nm_nack {
	uint8_t body[4 + NACK_RANGES * 16];
	struct storm_out out;
	uint32_t n;
};

static void nm_repair_nack(struct nm_session *s, struct nm_nack *k,
			   uint64_t now)
{
	struct storm_out head = { k->body, k->body + 4, false };

	storm_put32(&head, k->n);
	nm_send(s, STORM_MSG_NACK, s->xfer.op, k->body,
		(size_t) (k->out.p - k->body), nm_repair_asked(s, now));
	s->nm->stats.nacks_sent++;
}

/* Ask for what is missing in [*from, below), as much as a datagram holds, and at
 * most *left chunks.  False: nothing is missing. */
static bool nm_repair_ask_some(struct nm_session *s, uint64_t *from,
			       uint64_t below, uint64_t *left, uint64_t now)
{
	struct nm_xfer *x = &s->xfer;
	struct nm_repair *r = &x->repair;
	struct nm_nack k = { .n = 0 };
	size_t max = nm_body_up(nm_body_max(s));
	uint64_t first, last;

	k.out = (struct storm_out) { k.body + 4, k.body + sizeof(k.body),
				     false };
	while (k.n < NACK_RANGES && 4 + (k.n + 1) * 16 <= max && *left &&
	       storm_chunkmap_gap(&x->map, from, below, &first, &last)) {
		last = storm_min(last, first + *left - 1);
		storm_put64(&k.out, first);
		storm_put64(&k.out, last);
		*left -= last - first + 1;
		nm_repair_asks(r, first, last, now);
		k.n++;
	}
	if (k.n)
		nm_repair_nack(s, &k, now);
	return k.n;
}

/* Ask for what is missing in [from, below). */
static void nm_repair_ask(struct nm_session *s, uint64_t from, uint64_t below,
			  uint64_t now)
{
	uint64_t left = NACK_BYTES / s->xfer.map.chunk + 1;

	for (int i = 0; i < NACK_AT_ONCE; i++) {
		if (!nm_repair_ask_some(s, &from, below, &left, now))
			return;
		s->xfer.repair.asked_at = now;
	}
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

/* None of several chunks has come, but for the last one, which may be short. */
static bool nm_repair_has_none(const struct nm_xfer *x)
{
	const struct storm_chunkmap *m = &x->map;

	return m->count > 1 &&
	       (!m->have ||
		(m->have == 1 && storm_chunkmap_has(m, m->count - 1)));
}

/* Whether any can come is to be known soon. */
static uint64_t nm_repair_rto_max(const struct nm_xfer *x)
{
	return nm_repair_has_none(x) ? NACK_RTO_NONE : NACK_RTO_MAX;
}

/* Something that was asked for is missing, and nothing at all comes: there is
 * nothing on its way any more. */
static uint64_t nm_repair_quiet_at(const struct nm_session *s)
{
	const struct nm_xfer *x = &s->xfer;
	const struct nm_repair *r = &x->repair;
	uint64_t quiet = NACK_QUIET;

	/* another node may take its time */
	if (x->map.prefix >= r->high || !nm_repair_by_owner(s))
		return STORM_NEVER;
	for (uint32_t i = 0; i < r->tries && quiet < r->rto; i++)
		quiet = quiet * 3 / 2;
	if (nm_repair_has_none(x))
		quiet = storm_min(quiet, NACK_QUIET_NONE);
	return storm_max(x->data_at, r->asked_at) + quiet;
}

/* A host that did not run for a while finds its time over and the data waiting in
 * its queues: it looks at those before it asks. */
static bool nm_repair_looks_first(struct nm_xfer *x, bool quiet, uint64_t now)
{
	struct nm_repair *r = &x->repair;

	if ((!quiet && !nm_repair_is_silent(x, now)) ||
	    r->silent_have == x->map.have + 1)
		return false;
	r->silent_have = x->map.have + 1;
	r->all_at = now + NACK_LOOK;
	return true;
}

/* The chunks that the owner has surely sent: it says how many now and then. */
static uint64_t nm_repair_sent_chunks(const struct nm_xfer *x)
{
	uint64_t said = x->sent / x->map.chunk + (x->sent % x->map.chunk != 0);

	return storm_max(said, storm_max(x->map.high, x->repair.high));
}

/* The owner is heard, by short datagrams, and no full one ever came: the path does not
 * carry them.  It is not loss: all that is missing was asked for again and again. */
static bool nm_repair_is_cut(struct nm_session *s, uint64_t now)
{
	struct nm_repair *r = &s->xfer.repair;

	if (!r->tries || !nm_repair_has_none(&s->xfer)) {
		r->vain = 0;
		return false;
	}
	/* an owner that does not run answers nothing either */
	if (s->heard.at < r->asked_at)
		return false;
	if (!r->vain++)
		r->vain_at = now;
	return r->vain >= CUT_TRIES && now >= r->vain_at + CUT_AFTER;
}

/* All that is missing, once more; from farther up if it did not help. */
static void nm_repair_ask_again(struct nm_session *s, uint64_t now)
{
	struct nm_xfer *x = &s->xfer;
	struct nm_repair *r = &x->repair;
	bool quiet = now >= nm_repair_quiet_at(s);
	uint64_t below = x->map.high;

	if (nm_repair_looks_first(x, quiet, now))
		return;
	if (nm_repair_is_silent(x, now))
		below = nm_repair_sent_chunks(x);
	else if (quiet)
		below = storm_max(below, r->high);
	else if (below > r->old)
		below = r->old; /* the newer ones were asked for just now */
	r->old = r->high;
	if (x->map.have > r->have || x->map.prefix >= below) {
		r->tries = 0;
	} else {
		r->tries++;
		r->rto = storm_min(r->rto * 3 / 2, nm_repair_rto_max(x));
	}
	r->have = x->map.have;
	if (nm_repair_is_cut(s, now)) {
		x->err = STORM_ETOOBIG;
		x->sys = EMSGSIZE;
		nm_status_update(s, false, now);
		return;
	}
	if (below >= x->map.high)
		r->gap_at = STORM_NEVER;
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
	uint64_t quiet_at;

	if (!x->mapped || x->err || x->decision ||
	    x->phase != STORM_PHASE_BEGUN)
		return STORM_NEVER;
	quiet_at = nm_repair_quiet_at(s);
	if (now >= storm_min(quiet_at, storm_min(r->all_at, r->gap_at)) &&
	    !nm_repair_has_room(s)) {
		r->all_at = now + NACK_RTO_MIN;
		r->asked_at = now;
		r->gap_at = STORM_NEVER;
	} else if (now >= r->gap_at) {
		nm_repair_ask(s, r->high, x->map.high, now);
		r->gap_at = STORM_NEVER;
		/* along a chain those before us come first: they ask too */
		if (r->all_at > now + r->rto ||
		    s->heard.cast.flags & STORM_CAST_CHAIN)
			r->all_at = now + r->rto;
	} else if (now >= storm_min(r->all_at, quiet_at)) {
		nm_repair_ask_again(s, now);
	}
	return storm_min(nm_repair_quiet_at(s),
			 storm_min(r->gap_at, r->all_at));
}
