/*
 * nm_data.c - a node receives DATA (Algorithm 7): it unseals and writes them, and
 * relays them if they travel along the chain.  The paper's queue of chunks has
 * slots and an order.  Here every chunk is written at its offset as it comes, in
 * runs, and the temporary file is the queue: a late chunk delays nothing.
 *
 * Each chunk is unsealed to where it stays: for a file to the end of the run that
 * is being gathered, for memory to its place.  The first sealed bytes name that
 * place, and are not verified yet when they are used.  So nothing is unsealed over
 * bytes that are there already.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "nm_private.h"

/* --------------------------------------------------------------- the run --- */

/* Room for the next run of the file; none (NULL) of memory, which needs none. */
static void nm_data_make_room(struct nm_session *s)
{
	struct storm_nm *nm = s->nm;

	nm->stage_len = 0;
	nm->stage = s->xfer.file ? nm->ops.file_room(nm->host, s->xfer.file,
						     &nm->stage_room) :
				   NULL;
}

/* The run that was gathered is here: of a file it is written. */
static void nm_data_flush(struct storm_nm *nm, uint64_t now)
{
	struct nm_session *s = nm->stage_of;
	struct nm_xfer *x;
	uint64_t done;

	if (!s)
		return;
	nm->stage_of = NULL;
	nm->stage = NULL;
	x = &s->xfer;
	done = nm->stage_off + nm->stage_len;
	for (uint64_t off = nm->stage_off; off < done; off += x->map.chunk)
		if (!storm_chunkmap_has(&x->map, off / x->map.chunk))
			storm_chunkmap_set(&x->map, off / x->map.chunk);
	if (x->mem)
		nm_xfer_hash(x);
	else
		nm->ops.file_write(nm->host, x->file, nm->stage_off,
				   nm->stage_len,
				   storm_chunkmap_progress(&x->map));
	nm_repair_written(x, now);
	nm_xfer_check_full(s, now);
	if (x->mem) /* storm_nm_written() shows the same of a file */
		nm_status_update(s, false, now);
}

/* Is the chunk here (in the run, written, or in memory), so that it must be kept? */
static bool nm_data_is_there(const struct nm_session *s, uint64_t i)
{
	const struct storm_nm *nm = s->nm;
	uint64_t off = i * s->xfer.map.chunk;

	return storm_chunkmap_has(&s->xfer.map, i) ||
	       (nm->stage_of == s && off >= nm->stage_off &&
		off < nm->stage_off + nm->stage_len);
}

/* ------------------------------------------------------------- unsealing --- */

static uint64_t nm_data_offset_of(const uint8_t head[STORM_DATA_HEADER_LEN])
{
	struct storm_in in = { head, head + STORM_DATA_HEADER_LEN, false };

	return storm_get64(&in);
}

/* The place to unseal a chunk of len bytes to.  NULL: use other room, because it
 * is no chunk of the transfer, or is here already. */
static uint8_t *nm_data_place_of(void *arg, const uint8_t *head, size_t len)
{
	struct nm_session *s = arg;
	struct storm_nm *nm = s->nm;
	struct nm_xfer *x = &s->xfer;
	uint64_t off = nm_data_offset_of(head), i;

	if (!x->mem)
		return nm->stage && len <= nm->stage_room - nm->stage_len ?
			       nm->stage + nm->stage_len :
			       NULL;
	i = x->mapped ? storm_chunkmap_index(&x->map, off, len) : x->map.count;
	return i < x->map.count && !nm_data_is_there(s, i) ? x->mem + off :
							     NULL;
}

/* A piece of the transfer, and its place. */
struct nm_chunk {
	uint64_t off;
	const uint8_t *at;
	size_t len;
};

/* --------------------------------------------------------------- the chain --- */

/* Relay the run of datagrams unchanged, under their sender's seal. */
static void nm_data_relay(struct storm_nm *nm)
{
	struct nm_session *s = nm->pass_of;
	struct storm_addr to;
	const struct storm_cast *c;
	uint32_t next;

	if (!s)
		return;
	nm->pass_of = NULL;
	c = &s->heard.cast;
	/* past those that do not keep up: the owner's state is without them */
	next = storm_tree_successor(&s->tree.shape, s->self,
				    c->op == s->xfer.op ? &c->p :
							  &s->xfer.begin.p);
	if (next != STORM_NO_NODE && nm_route(s, next, &to) &&
	    !nm->t->ops->send(nm->t, STORM_BULK, &to, nm->pass, nm->pass_len,
			      nm->pass_seg))
		nm->stats.relayed +=
			(nm->pass_len + nm->pass_seg - 1) / nm->pass_seg;
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

/* Does it belong to the transfer under way, from a sender that may send it? */
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

/* The number of the chunk; false: it is no chunk of the transfer. */
static bool nm_data_number_of(struct nm_session *s, const struct nm_chunk *c,
			      uint64_t *i)
{
	struct nm_xfer *x = &s->xfer;

	/* a node that missed the state with the chunk size finds it here */
	if (!x->mapped && c->off < x->begin.size && c->len >= STORM_CHUNK_MIN &&
	    c->len < x->begin.size - c->off)
		nm_xfer_map(s, (uint32_t) c->len);
	if (!x->mapped)
		return false;
	*i = storm_chunkmap_index(&x->map, c->off, c->len);
	if (*i == x->map.count)
		s->nm->link_stats.bad_wire++;
	return *i < x->map.count;
}

/* Move the chunk to its place if it is not there: the run may have changed. */
static void nm_data_settle(struct nm_session *s, const struct nm_chunk *c)
{
	struct storm_nm *nm = s->nm;
	uint8_t *to = s->xfer.mem ? s->xfer.mem + c->off :
				    nm->stage + nm->stage_len;

	if (c->at == to)
		return;
	memmove(to, c->at, c->len);
	nm->stats.data_moved += c->len;
}

/* Begin another run with the chunk.  False: there is no room for it. */
static bool nm_data_begin_run(struct nm_session *s, const struct nm_chunk *c,
			      uint64_t now)
{
	struct storm_nm *nm = s->nm;

	if (nm->stage_of) {
		nm_data_flush(nm, now);
		nm_data_make_room(s);
	}
	if (!s->xfer.mem && !nm->stage) {
		nm->stats.data_dropped++;
		return false;
	}
	nm->stage_of = s;
	nm->stage_off = c->off;
	nm->stage_len = 0;
	return true;
}

/* Add the chunk to the run, or begin another run with it. */
static void nm_data_gather(struct nm_session *s, const struct nm_chunk *c,
			   bool run, uint64_t now)
{
	struct storm_nm *nm = s->nm;

	if (!run && !nm_data_begin_run(s, c, now))
		return;
	nm_data_settle(s, c);
	nm->stage_len += c->len;
	if (!s->xfer.mem && nm->stage_room - nm->stage_len < s->xfer.map.chunk)
		nm_data_flush(nm, now);
}

void nm_data_take(struct nm_session *s, const struct storm_header *h,
		  const struct storm_rx *rx, uint64_t now)
{
	struct storm_nm *nm = s->nm;
	struct nm_xfer *x = &s->xfer;
	struct storm_plain plain;
	struct nm_chunk c;
	uint64_t i;
	bool run;

	if (!nm_data_is_wanted(s, h))
		return;
	if (nm->stage_of != s) {
		nm_data_flush(nm, now);
		nm_data_make_room(s);
	}
	if (storm_link_open_data(&s->link, h, rx, nm_data_place_of, s, &plain))
		return;
	c = (struct nm_chunk) { nm_data_offset_of(plain.head), plain.body,
				plain.len };
	if (!nm_data_number_of(s, &c, &i))
		return;
	run = nm->stage_of == s && c.off == nm->stage_off + nm->stage_len;
	/* Along the chain it is not passed on either: if the successor lacks it,
	 * it asks.  Else each repair would go to all behind. */
	if (nm_data_is_there(s, i)) {
		nm->stats.data_dup++;
		return;
	}
	x->data_at = now;
	nm->stats.data_new++;
	/* all that lacked below was asked for */
	if (i < x->repair.high) {
		bool relayed = h->flags & STORM_HDR_RELAY;

		nm->stats.repaired += !relayed;
		nm_repair_came(x, i, relayed, now);
	}
	if (!rx->group && (h->flags & STORM_HDR_RELAY ||
			   s->heard.cast.flags & STORM_CAST_CHAIN))
		nm_data_relay_add(s, rx);
	nm_data_gather(s, &c, run, now);
}

void nm_data_end(struct storm_nm *nm, uint64_t now)
{
	nm_data_relay(nm);
	nm_data_flush(nm, now);
	nm->stage = NULL;
}
