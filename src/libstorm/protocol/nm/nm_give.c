/*
 * nm_give.c - a node gives chunks of a transfer to nodes below it that miss them.
 * Those in memory go at once.  Those of a file are read back by the host, which
 * may take its time: runs wait in a queue, and one read is under way at a time.
 * What finds no place in the queue is asked for again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "nm_private.h"
#include "src/libstorm/base/minmax.h"

#define SERVE_BYTES (1u << 20)	  /* repaired for one NACK */
#define TRICKLE_BYTES (16u << 10) /* for one NACK, if others' DATA come first */
#define READ_BYTES (64u << 10)	  /* read back at a time */

/* What was read back, from off on. */
struct nm_piece {
	const uint8_t *buf;
	uint64_t off;
};

static int nm_give_get(void *arg, uint64_t off, void *buf, size_t len)
{
	const struct nm_piece *p = arg;

	memcpy(buf, p->buf + (off - p->off), len);
	return 0;
}

/* At most STORM_BATCH chunks.  False: they were not taken. */
static bool nm_give_send(struct nm_session *s, const struct nm_piece *p,
			 uint64_t first, uint64_t last, uint32_t to)
{
	const struct nm_xfer *x = &s->xfer;
	struct storm_addr addr;

	if (!nm_route(s, to, &addr) ||
	    storm_link_send_run(&s->link, 0, x->op, x->map.size, x->map.chunk,
				first, last, nm_give_get, (void *) p, &addr))
		return false;
	s->nm->stats.nacks_served += last - first + 1;
	s->xfer.repair.given += last - first + 1;
	return true;
}

/* ------------------------------------------------------------- from a file --- */

void nm_give_end(struct nm_xfer *x)
{
	free(x->give.queue);
	memset(&x->give, 0, sizeof(x->give));
}

/* False: the queue is full. */
static bool nm_give_queue(struct nm_xfer *x, uint64_t first, uint64_t last,
			  uint32_t to)
{
	struct nm_give *g = &x->give;

	if (!g->queue)
		g->queue = calloc(GIVE_MAX, sizeof(*g->queue));
	if (!g->queue || g->count == GIVE_MAX)
		return false;
	g->queue[g->count++] = (struct nm_given) { to, first, last };
	return true;
}

/* Read what the first of the queue ask for, as far as one read has it. */
static void nm_give_read(struct nm_session *s)
{
	const struct nm_xfer *x = &s->xfer;
	struct nm_give *g = &s->xfer.give;
	uint64_t first, below, end;
	uint32_t n;

	if (g->reading || !g->count)
		return;
	first = g->queue[0].first;
	below = g->queue[0].last + 1;
	for (n = 1; n < g->count; n++) {
		const struct nm_given *q = &g->queue[n];

		if (q->first < first ||
		    (q->last + 1 - first) * x->map.chunk > READ_BYTES)
			break;
		below = storm_max(below, q->last + 1);
	}
	end = storm_min(below * x->map.chunk, x->map.size);
	g->off = first * x->map.chunk;
	g->len = (size_t) (end - g->off);
	if (s->nm->ops.file_read(s->nm->host, x->file, g->off, g->len))
		g->reading = n;
	else
		g->count = 0;
}

void storm_nm_read(struct storm_nm *nm, uint64_t session, uint64_t op,
		   uint64_t off, const void *buf, size_t len)
{
	struct nm_session *s = nm_find_host(nm, session);
	struct nm_give *g = s ? &s->xfer.give : NULL;
	const struct nm_piece p = { buf, off };
	uint32_t n;

	if (!s || s->xfer.op != op || !g->reading || off != g->off ||
	    len != g->len)
		return;
	for (n = 0; buf && n < g->reading; n++) {
		const struct nm_given *q = &g->queue[n];

		if (!nm_give_send(s, &p, q->first, q->last, q->to))
			break;
	}
	if (n < g->reading) /* they will ask again */
		g->reading = g->count;
	g->count -= g->reading;
	memmove(g->queue, g->queue + g->reading, g->count * sizeof(*g->queue));
	g->reading = 0;
	nm_give_read(s);
	if (!g->reading)
		storm_link_rest(&s->link);
}

/* ------------------------------------------------------------------ asked --- */

/* Those of [i, last] that are here, at most *left.  False: no more now. */
static bool nm_give_some(struct nm_session *s, uint64_t i, uint64_t last,
			 uint64_t *left, uint32_t to)
{
	struct nm_xfer *x = &s->xfer;
	const struct nm_piece all = { x->mem, 0 };
	uint64_t most = storm_min(READ_BYTES / x->map.chunk, STORM_BATCH);

	while (i <= last && *left) {
		uint64_t end = i;

		if (!storm_chunkmap_has(&x->map, i)) {
			i++;
			continue;
		}
		while (end < last && end - i + 1 < most &&
		       end - i + 1 < *left &&
		       storm_chunkmap_has(&x->map, end + 1))
			end++;
		if (!(x->mem ? nm_give_send(s, &all, i, end, to) :
			       nm_give_queue(x, i, end, to)))
			return false;
		*left -= end - i + 1;
		i = end + 1;
	}
	return true;
}

/* Chunks that may still be given.  An owner can ask in the name of any node, so
 * that what it asks for goes to that one.  So no more goes out than all the
 * children can lack, and as much again; beyond that a node asks the owner. */
static uint64_t nm_give_credit(const struct nm_session *s)
{
	const struct nm_xfer *x = &s->xfer;
	uint64_t most = x->map.have * (s->tree.children + 1) + STORM_BATCH;

	return x->repair.given < most ? most - x->repair.given : 0;
}

/* A user who owns the session has the key of all its nodes, and can ask in the name
 * of one from anywhere: it would get what it has not asked for.  So a node is only
 * given what it asks for from where its OPEN went. */
static bool nm_give_is_its_own(struct nm_session *s, uint32_t node,
			       const struct storm_addr *from)
{
	struct storm_addr to;

	return s->account.trusted || !from->port ||
	       (nm_route(s, node, &to) &&
		!memcmp(to.ip, from->ip, sizeof(to.ip)));
}

/* Chunks for one NACK.  As long as DATA come, a node that does not keep up must not take
 * the others' links: the owner's state is without it then. */
static uint64_t nm_give_most(const struct nm_session *s, uint32_t node)
{
	const struct storm_cast *c = &s->heard.cast;
	bool left = c->op == s->xfer.op && c->p.count &&
		    !storm_idset_has(&c->p, node);
	uint64_t bytes = left ? TRICKLE_BYTES : SERVE_BYTES;

	return storm_max(1, bytes / s->xfer.map.chunk);
}

void nm_give_nacked(struct nm_session *s, const struct storm_header *h,
		    const struct storm_addr *from, const uint8_t *body,
		    size_t len)
{
	const struct nm_xfer *x = &s->xfer;
	struct storm_in in = { body, body + len, false };
	uint32_t n = storm_get32(&in);
	uint64_t left;
	bool more = true;

	if (h->op != x->op || !x->mapped || (!x->mem && !x->file) ||
	    x->opening || x->err)
		return;
	if (!nm_give_is_its_own(s, h->sender, from)) {
		s->nm->link_stats.fenced++;
		return;
	}
	left = storm_min(nm_give_most(s, h->sender), nm_give_credit(s));
	for (; n && left && more; n--) {
		uint64_t i = storm_get64(&in), last = storm_get64(&in);

		if (in.bad || last < i || last >= x->map.count) {
			s->nm->link_stats.bad_wire++;
			break;
		}
		/* nm_repair_ask() asks for no more at once, and what is announced
		 * may be far more than anybody should look through */
		if (last - i >= STORM_CHUNKMAP_RUN)
			last = i + STORM_CHUNKMAP_RUN - 1;
		more = nm_give_some(s, i, last, &left, h->sender);
	}
	if (x->file)
		nm_give_read(s);
	if (!x->give.reading)
		storm_link_rest(&s->link);
}
