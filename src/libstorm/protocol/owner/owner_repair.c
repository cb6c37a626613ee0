/*
 * owner_repair.c - DATA that were lost.  What nodes ask for is gathered for a
 * moment.  A chunk that more than two of them lack goes to all by one multicast.
 * Any other goes to those that lack it, because each that receives it has to
 * unseal it.  Repairs wait for the network as other DATA do, and go before them.
 *
 * A path may carry them by multicast alone.  So once nothing moves though repairs were
 * sent, all go to the group for the rest of the transfer.  Multicast may also end: nodes
 * say that they hear it no more, or nothing moves by the group either.  Then all goes
 * down the tree and along the chain, for the rest of the session.
 *
 * A node that has left the window (owner_window.c) gets little of what it lacks as long
 * as others are sent to.  At the end it is one of those that all wait for; what it lacks
 * then is read anew.
 *
 * At the end of a transfer all wait for the last chunk of the last node.  What is
 * sent again then is little, and each round costs a round trip: it goes twice.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdlib.h>

#include "owner_private.h"
#include "src/libstorm/base/minmax.h"

#define GATHER (4 * STORM_MS)	   /* what others lack, too */
#define GATHER_LAST (1 * STORM_MS) /* while nothing else is sent */
#define AGAIN_AFTER (3 * STORM_MS)
#define FEW OWNER_AGAIN_MAX	    /* chunks, which may go twice */
#define VAIN_AFTER (600 * STORM_MS) /* a busy host can be late by half of it */
#define VAIN_GROUP (3 * STORM_SEC)
#define SERVE_BYTES (1u << 20)	  /* asked for by one NACK */
#define TRICKLE_BYTES (16u << 10) /* asked for so, beside others' DATA */

/* The nodes that lack a chunk: a node's number and one, or one of these. */
#define NOBODY 0
#define SEVERAL UINT32_MAX

void owner_repair_end(struct storm_owner *o)
{
	free(o->repair.want);
	memset(&o->repair, 0, sizeof(o->repair));
	o->repair.at = o->repair.again_at = STORM_NEVER;
}

/* ------------------------------------------------------------------- asked --- */

/* A node lacks only what has left the window for it, so a ring of the window's
 * size has room for all. */
static bool owner_repair_room(struct storm_owner *o)
{
	struct owner_repair *r = &o->repair;

	if (r->want)
		return true;
	r->room = storm_min(o->open->window / o->data.chunk + 2,
			    o->operations.first->chunks);
	r->want = calloc(r->room, sizeof(*r->want));
	return r->want;
}

/* All have what is below.  As long as it is sent, those that have left the window do not
 * count; nor do those, until others have shown it, that go on alone. */
static uint64_t owner_repair_floor(const struct storm_owner *o)
{
	const struct owner_xfer *x = o->operations.first;

	return (x->state == XFER_STAGING &&
				(o->window.slow.count || x->each.shown) ?
			x->least :
			x->progress) /
	       o->data.chunk;
}

static bool owner_repair_is_wanted(const struct owner_lack *w)
{
	return w->who[0] != NOBODY;
}

static bool owner_repair_is_for(const struct owner_lack *w, uint32_t who)
{
	return w->who[0] == who || w->who[1] == who;
}

/* Along the chain what goes to one node goes on to those behind it: to the first
 * of those that lack it. */
static void owner_repair_join(const struct storm_owner *o, struct owner_lack *w,
			      uint32_t who)
{
	if (who == NOBODY || owner_repair_is_for(w, who) ||
	    w->who[0] == SEVERAL)
		return;
	if (w->who[0] == NOBODY)
		w->who[0] = who;
	else if (!o->send.multicast)
		w->who[0] = storm_min(w->who[0], who);
	else if (w->who[1] == NOBODY && who != SEVERAL)
		w->who[1] = who;
	else
		*w = (struct owner_lack) { { SEVERAL, NOBODY } };
}

static void owner_repair_add(struct storm_owner *o, uint64_t i,
			     struct owner_lack lack)
{
	struct owner_repair *r = &o->repair;
	struct owner_lack *w = &r->want[i % r->room];

	if (!r->count) {
		r->low = i;
		r->high = i + 1;
	}
	/* one that has left may lack more than there is room for: it asks again */
	if (storm_max(r->high, i + 1) - storm_min(r->low, i) > r->room)
		return;
	r->count += !owner_repair_is_wanted(w);
	owner_repair_join(o, w, lack.who[0]);
	owner_repair_join(o, w, lack.who[1]);
	r->low = storm_min(r->low, i);
	r->high = storm_max(r->high, i + 1);
}

/* What all have written meanwhile is in the way of other chunks. */
static void owner_repair_pass(struct storm_owner *o)
{
	struct owner_repair *r = &o->repair;
	uint64_t floor = owner_repair_floor(o);

	for (; r->count && r->low < floor; r->low++) {
		struct owner_lack *w = &r->want[r->low % r->room];

		r->count -= owner_repair_is_wanted(w);
		*w = (struct owner_lack) { { NOBODY, NOBODY } };
	}
}

static void owner_repair_due(struct storm_owner *o, uint64_t now)
{
	bool sending = o->operations.first->state == XFER_SENDING;

	if (o->repair.count)
		o->repair.at = storm_min(
			o->repair.at, now + (sending ? GATHER : GATHER_LAST));
}

/* ---------------------------------------------------------------- catching up --- */

static int owner_repair_get(void *arg, uint64_t off, void *buf, size_t len);

/* Send it some of what it asks for, as far as the network takes it: it asks again. */
static void owner_repair_catch_up(struct storm_owner *o, uint32_t node,
				  uint32_t n, struct storm_in *in)
{
	struct owner_xfer *x = o->operations.first;
	uint64_t left = storm_max(1, TRICKLE_BYTES / o->data.chunk);
	struct storm_addr to = owner_addr(o, node);

	for (; n && left; n--) {
		uint64_t first = storm_get64(in), last = storm_get64(in);

		if (in->bad || last < first || last >= x->chunks) {
			o->link_stats.bad_wire++;
			return;
		}
		last = storm_min(last, x->sent - 1);
		while (first <= last && left) {
			uint64_t pick[STORM_BATCH];
			size_t k = 0;

			for (; first <= last && k < o->data.batch && k < left;
			     first++)
				pick[k++] = first;
			if (storm_link_send_data(&o->link, 0, x->begin.op,
						 x->begin.size, o->data.chunk,
						 pick, k, owner_repair_get, x,
						 &to))
				return;
			o->stats.tx_repair += k;
			left -= k;
		}
	}
}

void owner_repair_nacked(struct storm_owner *o, const struct storm_header *h,
			 const uint8_t *body, size_t len, uint64_t now)
{
	struct owner_xfer *x = o->operations.first;
	struct storm_in in = { body, body + len, false };
	uint32_t n = storm_get32(&in);
	uint64_t left, floor;

	o->stats.nacks++;
	o->send.lossy = true;
	/* once it is decided no node needs more */
	if (!x || x->begin.op != h->op || x->state < XFER_SENDING ||
	    x->state == XFER_DECIDED || !x->sent || !owner_repair_room(o))
		return;
	if (x->state == XFER_SENDING && owner_window_has_left(o, h->sender)) {
		owner_repair_catch_up(o, h->sender, n, &in);
		return;
	}
	owner_repair_pass(o);
	floor = owner_repair_floor(o);
	left = SERVE_BYTES / o->data.chunk;
	for (; n && left; n--) {
		uint64_t first = storm_get64(&in), last = storm_get64(&in);

		if (in.bad || last < first || last >= x->chunks) {
			o->link_stats.bad_wire++;
			break;
		}
		last = storm_min(last, x->sent - 1);
		for (uint64_t i = storm_max(first, floor); i <= last && left;
		     i++, left--)
			owner_repair_add(o, i,
					 (struct owner_lack) {
						 { h->sender + 1, NOBODY } });
	}
	owner_repair_due(o, now);
}

/* A node that has the last chunk sees what it lacks of those before. */
void owner_repair_last(struct storm_owner *o, uint64_t now)
{
	const struct owner_xfer *x = o->operations.first;

	if (!o->send.lossy || !o->send.multicast || !x->chunks ||
	    !owner_repair_room(o))
		return;
	owner_repair_pass(o);
	owner_repair_add(o, x->chunks - 1,
			 (struct owner_lack) { { SEVERAL, NOBODY } });
	o->repair.at = storm_min(o->repair.at, now + AGAIN_AFTER);
}

/* ------------------------------------------------------------------ sending --- */

/* From `from` on, for the one that lacks the first: a batch.  Returns its
 * length. */
static size_t owner_repair_batch(const struct storm_owner *o, uint64_t *from,
				 uint64_t pick[static STORM_BATCH],
				 uint32_t *who)
{
	const struct owner_repair *r = &o->repair;
	size_t n = 0;

	while (*from < r->high &&
	       !owner_repair_is_wanted(&r->want[*from % r->room]))
		++*from;
	*who = *from < r->high ? r->want[*from % r->room].who[0] : NOBODY;
	for (uint64_t i = *from; *who && i < r->high && n < o->data.batch; i++)
		if (owner_repair_is_for(&r->want[i % r->room], *who))
			pick[n++] = i;
	return n;
}

static struct storm_addr owner_repair_addr(const struct storm_owner *o,
					   uint32_t who)
{
	return who == SEVERAL || o->repair.vain ? o->open->group :
						  owner_addr(o, who - 1);
}

/* They are sent. */
static void owner_repair_sent(struct storm_owner *o, const uint64_t *pick,
			      size_t n, uint32_t who, bool once)
{
	struct owner_repair *r = &o->repair;

	for (size_t k = 0; k < n; k++) {
		struct owner_lack *w = &r->want[pick[k] % r->room];

		if (once && r->again_count < OWNER_AGAIN_MAX)
			r->again[r->again_count++] =
				(struct owner_wanted) { pick[k],
							{ { who, NOBODY } } };
		if (w->who[0] == who)
			w->who[0] = w->who[1];
		w->who[1] = NOBODY;
		r->count -= !owner_repair_is_wanted(w);
	}
	o->stats.tx_repair += n;
	/* they are not paced, and new data do not pay for all of them */
	if (o->data.rate > 0)
		o->data.tokens -= (double) n * o->data.chunk;
	if (o->data.tokens < -(double) OWNER_BURST)
		o->data.tokens = -(double) OWNER_BURST;
}

/* A chunk that is sent again (storm_chunk_fn). */
static int owner_repair_get(void *arg, uint64_t off, void *buf, size_t len)
{
	const uint8_t *at = owner_data_bytes(arg, off, len);

	if (!at)
		return EIO;
	memcpy(buf, at, len);
	return 0;
}

/* All that is wanted.  False: the network takes no more now, or the bytes cannot
 * be had. */
static bool owner_repair_send(struct storm_owner *o, bool once, uint64_t now)
{
	struct owner_xfer *x = o->operations.first;
	uint64_t pick[STORM_BATCH], from = o->repair.low;
	uint32_t who;
	size_t n;

	while ((n = owner_repair_batch(o, &from, pick, &who))) {
		struct storm_addr to = owner_repair_addr(o, who);
		int rc = storm_link_send_data(&o->link, 0, x->begin.op,
					      x->begin.size, o->data.chunk,
					      pick, n, owner_repair_get, x,
					      &to);

		if (rc == -EAGAIN || rc > 0)
			return false;
		if (!o->tl.repair_first)
			o->tl.repair_first = now;
		o->tl.repair_last = now;
		owner_repair_sent(o, pick, n, who, once);
	}
	return true;
}

/* What was sent once, unless all have it. */
static void owner_repair_again(struct storm_owner *o)
{
	struct owner_repair *r = &o->repair;
	uint64_t floor = owner_repair_floor(o);

	for (uint32_t i = 0; i < r->again_count; i++)
		if (r->again[i].chunk >= floor)
			owner_repair_add(o, r->again[i].chunk,
					 r->again[i].lack);
	r->again_count = 0;
	r->again_at = STORM_NEVER;
}

/* Nodes ask again for what they lack, as they do along the chain. */
static void owner_repair_leave_group(struct storm_owner *o, uint64_t now)
{
	struct owner_repair *r = &o->repair;

	o->send.multicast = o->stats.multicast = false;
	o->send.doubted = o->open->cluster;
	memset(r->want, 0, r->room * sizeof(*r->want));
	r->count = r->again_count = 0;
	r->at = r->again_at = STORM_NEVER;
	r->vain = false;
	/* what the group lost says nothing of the chain's pace */
	o->data.rate = (double) o->conf.set.rate;
	owner_data_recover(o);
	owner_log_deaf(
		o,
		"multicasts do not reach all nodes any more: data go along the chain");
	owner_ask_new(o, now);
}

/* Nothing moves though repairs were sent.  True: multicast is given up. */
static bool owner_repair_in_vain(struct storm_owner *o, uint64_t now)
{
	struct owner_repair *r = &o->repair;
	uint64_t moved = o->operations.first->moved_at;

	if (!o->send.multicast || o->tl.repair_last <= moved ||
	    now < moved + VAIN_AFTER)
		return false;
	r->vain = true;
	if (o->sum.flags & STORM_STATUS_MCAST && now < moved + VAIN_GROUP)
		return false;
	owner_repair_leave_group(o, now);
	return true;
}

uint64_t owner_repair_tick(struct storm_owner *o, uint64_t now)
{
	struct owner_repair *r = &o->repair;
	const struct owner_xfer *x = o->operations.first;
	bool again = now >= r->again_at, last, sent;

	if (!r->want || x->state == XFER_DECIDED)
		return STORM_NEVER;
	owner_repair_pass(o);
	if (again)
		owner_repair_again(o);
	if (!again && now < r->at)
		return storm_min(r->at, r->again_at);
	if (owner_repair_in_vain(o, now))
		return now;
	last = x->state == XFER_STAGING && !again && r->count <= FEW;
	/* what the network has no room for stays due: it goes before new DATA */
	sent = owner_repair_send(o, last, now);
	r->at = sent ? STORM_NEVER : now;
	if (last && r->again_count)
		r->again_at = storm_min(r->again_at, now + AGAIN_AFTER);
	return storm_min(sent ? STORM_NEVER : now + STORM_MS, r->again_at);
}
