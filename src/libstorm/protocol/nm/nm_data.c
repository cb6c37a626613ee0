/*
 * nm_data.c - DATA as they come to a node (Algorithm 7): unsealed, written, and
 * handed on where they go along the chain.  Where the paper's queue of chunks has
 * slots and an order, here every chunk is written at its offset as it comes, whole
 * runs at a time, and the temporary file is the queue: a late chunk delays nothing.
 *
 * What came at once, from one sender, is unsealed at once, by several cores where
 * one does not keep up, each datagram to where it goes if it goes on with the one
 * before: only what is sealed says whether it does.  Then one by one, in the order
 * they came, they are believed or not.  One that was forged is left out.  Of a file
 * what is behind it moves up in the run that is gathered.  Memory is unsealed to
 * where it stays, over nothing that is there already; once one did not go on with
 * the one before, whose places those behind it have is open, so these are unsealed
 * anew, one by one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "nm_private.h"

#define STAGE_SIZE (256u << 10)		/* bytes gathered for one write */
#define AHEAD_MAX 64			/* datagrams unsealed at once */
#define EXTRA (STORM_HEADER_LEN + STORM_DATA_HEADER_LEN + STORM_TAG_LEN)

struct nm_stage {
	/* what was unsealed ahead, of the datagrams that were given */
	const struct storm_rx *first;
	size_t count;
	struct storm_sealed ahead[AHEAD_MAX];
	bool alone;		/* nothing is, for the rest of what was given */
	/* of a file: the run, and behind it what was unsealed ahead */
	uint8_t run[STAGE_SIZE];
};

/* --------------------------------------------------------------- the run --- */

/* What was gathered; of memory it is where it belongs. */
static int nm_data_write(struct nm_session *s)
{
	struct storm_nm *nm = s->nm;

	return s->xfer.mem ? 0 :
	       nm->ops.file_write(nm->host, s->xfer.file, nm->stage_off,
				  nm->stage->run, nm->stage_len);
}

/* Write the run that was gathered. */
void nm_data_flush(struct storm_nm *nm, uint64_t now)
{
	struct nm_session *s = nm->stage_of;
	struct nm_xfer *x;
	uint64_t done;
	int sys;

	if (!s)
		return;
	nm->stage_of = NULL;
	x = &s->xfer;
	sys = nm_data_write(s);
	if (sys) {
		/* chunks stay unset: nobody is offered what is not there */
		nm_xfer_fail(s, STORM_ESYS, sys);
		nm_status_update(s, false, now);
		return;
	}
	done = nm->stage_off + nm->stage_len;
	for (uint64_t off = nm->stage_off; off < done; off += x->map.chunk)
		if (!storm_chunkmap_has(&x->map, off / x->map.chunk))
			storm_chunkmap_set(&x->map, off / x->map.chunk);
	nm_repair_written(x, now);
	nm_xfer_check_full(s, now);
	nm_status_update(s, false, now);
}

void nm_data_end(struct storm_nm *nm, uint64_t now)
{
	nm_data_relay(nm);
	nm_data_flush(nm, now);
	free(nm->stage);
	nm->stage = NULL;
}

static bool nm_data_have_stage(struct storm_nm *nm)
{
	if (nm->stage)
		return true;
	nm->stage = malloc(sizeof(*nm->stage));
	if (nm->stage) {
		nm->stage->first = NULL;
		nm->stage->count = 0;
		nm->stage->alone = false;
	}
	return nm->stage;
}

/* ------------------------------------------------------------- unsealing --- */

/* Has the same sealed it, in the same life, for the transfer under way? */
static bool nm_data_goes_with(const struct nm_session *s,
			      const struct storm_header *first,
			      const struct storm_rx *rx, struct storm_header *h)
{
	return !storm_header_unpack(h, rx->buf, rx->len) && rx->len >= EXTRA &&
	       h->type == STORM_MSG_DATA && h->op == s->xfer.op &&
	       h->session == first->session && h->sender == first->sender &&
	       !memcmp(h->incarnation, first->incarnation,
		       sizeof(h->incarnation));
}

/* Where it starts that goes on with what is there: in the run, or in memory. */
static uint64_t nm_data_guess(const struct nm_session *s)
{
	if (s->xfer.mem)
		return s->xfer.data_end;
	return s->nm->stage_of ? s->nm->stage_len : 0;
}

/* Room for it there; NULL: none, or it would be no chunk, or is one that is there. */
static uint8_t *nm_data_room_at(struct nm_session *s, uint64_t at, size_t len)
{
	const struct nm_xfer *x = &s->xfer;
	uint64_t i;

	if (!x->mem)
		return at + len <= STAGE_SIZE ? s->nm->stage->run + at : NULL;
	i = x->mapped ? storm_chunkmap_index(&x->map, at, len) : x->map.count;
	return i < x->map.count && !storm_chunkmap_has(&x->map, i) ?
	       x->mem + at : NULL;
}

/* This one, and of those behind it as many as go with it and have room. */
static void nm_data_unseal_ahead(struct nm_session *s,
				 const struct storm_header *first,
				 const struct storm_rx *rx, size_t n)
{
	struct storm_nm *nm = s->nm;
	struct nm_stage *g = nm->stage;
	uint64_t at = nm_data_guess(s);
	struct storm_header h;

	g->first = rx;
	g->count = 0;
	if (g->alone || !storm_link_can_ahead(&s->link, first, rx))
		return;
	if (n > AHEAD_MAX)
		n = AHEAD_MAX;
	for (size_t i = 0;
	     i < n && nm_data_goes_with(s, first, &rx[i], &h); i++) {
		size_t len = rx[i].len - EXTRA;
		uint8_t *room = nm_data_room_at(s, at, len);

		if (!room)
			break;
		g->ahead[g->count++] = (struct storm_sealed) {
			.hdr = rx[i].buf, .body = rx[i].buf + STORM_HEADER_LEN,
			.len = rx[i].len - STORM_HEADER_LEN,
			.sequence = h.sequence, .out = room,
		};
		at += len;
	}
	if (g->count)
		storm_link_ahead(&s->link, first, g->ahead, g->count);
}

static const struct storm_sealed *nm_data_ahead_of(struct nm_session *s,
						   const struct storm_header *h,
						   const struct storm_rx *rx,
						   size_t n)
{
	struct nm_stage *g = s->nm->stage;

	if (!g->first || rx >= g->first + g->count)
		nm_data_unseal_ahead(s, h, rx, n);
	return g->count ? &g->ahead[rx - g->first] : NULL;
}

/* A piece of the transfer, and its place. */
struct nm_chunk {
	uint64_t off;
	const uint8_t *at;
	size_t len;
	bool bad;
};

static struct nm_chunk nm_data_chunk_of(const struct storm_plain *p)
{
	struct storm_in in = { p->body, p->body + p->len, false };
	struct nm_chunk c = { .at = p->body, .len = p->len };

	if (p->ahead) {
		in.p = p->ahead->head;
		in.end = in.p + sizeof(p->ahead->head);
	}
	c.off = storm_get64(&in);
	c.bad = in.bad;
	if (!p->ahead) {
		c.at = in.p;
		c.len = (size_t) (in.end - in.p);
	}
	return c;
}

/* --------------------------------------------------------------- the chain --- */

/* Hand the run of datagrams on, as they came, sealed by whoever sent them. */
void nm_data_relay(struct storm_nm *nm)
{
	struct nm_session *s = nm->pass_of;
	uint32_t next;

	if (!s)
		return;
	nm->pass_of = NULL;
	next = storm_tree_successor(&s->tree.shape, s->self, &s->xfer.begin.p);
	if (next != STORM_NO_NODE &&
	    !nm->t->ops->send(nm->t, STORM_BULK, nm_addr(s, next), nm->pass,
			      nm->pass_len, nm->pass_seg))
		nm->stats.relayed += (nm->pass_len + nm->pass_seg - 1) /
				     nm->pass_seg;
}

static void nm_data_relay_add(struct nm_session *s, const struct storm_rx *rx)
{
	struct storm_nm *nm = s->nm;

	if (nm->pass_of == s && rx->buf == nm->pass + nm->pass_len &&
	    nm->pass_last == nm->pass_seg && rx->len <= nm->pass_seg &&
	    nm->pass_len / nm->pass_seg < STORM_BATCH) {
		nm->pass_len += rx->len;
		nm->pass_last = rx->len;
		return;
	}
	nm_data_relay(nm);
	nm->pass_of = s;
	nm->pass = rx->buf;
	nm->pass_len = nm->pass_seg = nm->pass_last = rx->len;
}

/* ---------------------------------------------------------------- receiving --- */

/* Is it for what is under way, and from one who may send it? */
static bool nm_data_is_wanted(struct nm_session *s,
			      const struct storm_header *h)
{
	const struct nm_xfer *x = &s->xfer;

	if (h->op != x->op || x->phase != STORM_PHASE_BEGUN || x->err ||
	    x->staging) {
		s->nm->stats.data_dup++;
		return false;
	}
	if (h->sender != STORM_NO_NODE &&
	    !storm_tree_member(&s->tree.shape, h->sender)) {
		s->nm->link_stats.fenced++;
		return false;
	}
	return true;
}

/* Its number; what is no chunk of the transfer has none. */
static bool nm_data_number_of(struct nm_session *s, const struct nm_chunk *c,
			      uint64_t *i)
{
	struct nm_xfer *x = &s->xfer;

	/* whoever missed the state that tells the chunk sees it here */
	if (!x->mapped && !c->bad && c->off < x->begin.size &&
	    c->len >= STORM_CHUNK_MIN && c->len < x->begin.size - c->off)
		nm_xfer_map(s, (uint32_t) c->len);
	if (!x->mapped)
		return false;
	*i = c->bad ? x->map.count :
		      storm_chunkmap_index(&x->map, c->off, c->len);
	if (*i == x->map.count)
		s->nm->link_stats.bad_wire++;
	return *i < x->map.count;
}

/* Where it belongs, if it is not there: what was unsealed ahead is there, or behind
 * it in the run, never before.  Of memory its place may be what those behind it were
 * unsealed to. */
static void nm_data_settle(struct nm_session *s, const struct nm_chunk *c)
{
	struct nm_stage *g = s->nm->stage;
	uint8_t *to = s->xfer.mem ? s->xfer.mem + c->off :
				    g->run + s->nm->stage_len;

	if (c->at == to)
		return;
	memmove(to, c->at, c->len);
	s->nm->stats.data_moved += c->len;
	if (s->xfer.mem) {
		g->alone |= g->count > 0;
		g->first = NULL;
		g->count = 0;
	}
}

/* To the end of the run, or the first of another one. */
static void nm_data_gather(struct nm_session *s, const struct nm_chunk *c,
			   bool run, uint64_t now)
{
	struct storm_nm *nm = s->nm;

	if (!run) {
		nm_data_flush(nm, now);
		if (s->xfer.err || s->xfer.staging)
			return;
		nm->stage_of = s;
		nm->stage_off = c->off;
		nm->stage_len = 0;
	}
	nm_data_settle(s, c);
	nm->stage_len += c->len;
	s->xfer.data_end = c->off + c->len;
}

void nm_data_take(struct nm_session *s, const struct storm_header *h,
		  const struct storm_rx *rx, size_t n, uint64_t now)
{
	struct storm_nm *nm = s->nm;
	struct nm_xfer *x = &s->xfer;
	struct storm_plain plain;
	struct nm_chunk c;
	uint64_t i;
	bool run;

	/* without memory it is as if it had been lost */
	if (!nm_data_is_wanted(s, h) || !nm_data_have_stage(nm))
		return;
	plain.ahead = nm_data_ahead_of(s, h, rx, n);
	if (storm_link_open(&s->link, h, true, rx, &plain))
		return;
	c = nm_data_chunk_of(&plain);
	if (!nm_data_number_of(s, &c, &i))
		return;
	run = nm->stage_of == s && c.off == nm->stage_off + nm->stage_len &&
	      nm->stage_len + c.len <= STAGE_SIZE;
	if (storm_chunkmap_has(&x->map, i) ||
	    (nm->stage_of == s && c.off >= nm->stage_off && !run &&
	     c.off < nm->stage_off + nm->stage_len)) {
		nm->stats.data_dup++;
		return;
	}
	x->data_at = now;
	nm->stats.data_new++;
	/* whoever sends again is not the owner, or sends to one node */
	if (i < x->repair.high && !rx->group && !(h->flags & STORM_HDR_RELAY)) {
		nm->stats.repaired++;
		nm_repair_came(x, now);
	}
	if (!rx->group &&
	    (h->flags & STORM_HDR_RELAY ||
	     s->heard.cast.flags & STORM_CAST_CHAIN))
		nm_data_relay_add(s, rx);
	nm_data_gather(s, &c, run, now);
}
