/*
 * nm_xfer.c - XFER-AND-SIGNAL at a node (Algorithm 10), and the slave's side
 * of the file transfer (Algorithm 7).  Data are staged: into memory, or into
 * a temporary file; they are shown, and the remote event signalled, only after
 * the owner's decision.  How they come in is nm_data.c's.
 *
 * What is lost is asked for again from the tree parent, then the grandparent,
 * then the owner; whoever has it reads it back from its own temporary.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdlib.h>

#include "idset.h"
#include "nm_private.h"

#define NACK_LOOK STORM_MS		/* for what is there already */
#define NACK_RTO_FIRST (40 * STORM_MS)	/* until one is measured */
#define NACK_RTO_MIN (12 * STORM_MS)
#define NACK_RTO_MAX (400 * STORM_MS)
#define NACK_RANGES 128
#define NACK_BYTES (512u << 10)		/* asked for at a time */
#define SERVE_BYTES (1u << 20)		/* repaired for one NACK */

void nm_xfer_fail(struct nm_session *s, enum storm_err err, int sys)
{
	if (!s->xfer.err) {
		s->xfer.err = err;
		s->xfer.sys = sys;
	}
}

/* Let go of what the transfer holds; its number and end stay known. */
void nm_xfer_drop(struct nm_session *s)
{
	struct nm_xfer *x = &s->xfer;

	if (s->nm->stage_of == s)
		s->nm->stage_of = NULL;
	if (x->file)
		s->nm->ops.file_end(s->nm->host, x->file);
	x->file = NULL;
	free(x->mem);
	x->mem = NULL;
	free(x->part);
	x->part = NULL;
	x->part_op = 0;
	storm_begin_free(&x->begin);
	storm_chunkmap_free(&x->map);
	x->mapped = false;
}

static void ended(struct nm_session *s, uint64_t now)
{
	s->xfer.phase = STORM_PHASE_ENDED;
	nm_xfer_drop(s);
	nm_status(s, false, now);
}

static void begin_memory(struct nm_session *s)
{
	struct nm_xfer *x = &s->xfer;
	const struct storm_target *to = &x->begin.to;
	uint64_t size = x->begin.size;

	if (x->begin.to.kind == STORM_TARGET_SEGMENT) {
		const struct nm_segment *g = &s->nm->segment[to->segment];

		if (!g->base)
			nm_xfer_fail(s, STORM_ENOENT, 0);
		else if (to->offset > g->len || size > g->len - to->offset)
			nm_xfer_fail(s, STORM_ETOOBIG, 0);
	}
	if (size > MEMORY_MAX)
		nm_xfer_fail(s, STORM_ETOOBIG, 0);
	if (x->err)
		return;
	x->mem = malloc(size + 1);
	if (!x->mem)
		nm_xfer_fail(s, STORM_ENOMEM, 0);
	else
		x->phase = STORM_PHASE_BEGUN;
}

/* There is nothing to wait for: the answer is all that is staged. */
static void begin_compare(struct nm_session *s)
{
	const struct storm_comparison *c = &s->xfer.begin.cmp;

	s->xfer.no = !storm_relation_holds(nm_variable(s, c->var), c->rel,
					   c->value);
	s->xfer.phase = STORM_PHASE_STAGED;
}

static void begin(struct nm_session *s)
{
	struct nm_xfer *x = &s->xfer;

	switch ((int) x->begin.to.kind) {
	case STORM_TARGET_FILE:
		x->opening = true;
		s->nm->ops.file_begin(s->nm->host, s->host.ctx, s->host.session,
				      x->op, &x->begin.to, x->begin.size,
				      &x->file);
		break;
	case STORM_KIND_COMPARE:
		begin_compare(s);
		break;
	default:
		begin_memory(s);
	}
}

void nm_xfer_forget(struct nm_session *s)
{
	nm_xfer_drop(s);
	memset(&s->xfer, 0, sizeof(s->xfer));
	s->xfer.nack_at = s->xfer.gap_at = STORM_NEVER;
}

void nm_xfer_skip(struct nm_session *s, uint64_t op)
{
	nm_xfer_forget(s);
	s->xfer.op = op;
	s->xfer.phase = STORM_PHASE_ENDED;
}

void nm_xfer_begin(struct nm_session *s, struct storm_begin *b, uint64_t now)
{
	struct nm_xfer *x = &s->xfer;

	/* a retry is answered, never done again */
	if (b->op <= x->op || s->member.outside) {
		storm_begin_free(b);
		return;
	}
	nm_xfer_forget(s);
	x->op = b->op;
	x->begin = *b;
	memset(b, 0, sizeof(*b));
	x->nack_rto = NACK_RTO_FIRST;
	if (!storm_begin_names(&x->begin, s->self))
		x->phase = STORM_PHASE_ENDED;	/* it goes on without us */
	else if (s->host.refused)
		nm_xfer_fail(s, s->host.refused, 0);
	else
		begin(s);
	nm_xfer_cast(s, now);
	nm_status(s, false, now);
}

void nm_xfer_part(struct nm_session *s, uint64_t op, struct storm_in *in,
		  uint64_t now)
{
	uint16_t part = storm_get16(in), parts = storm_get16(in);
	size_t n = (size_t) (in->end - in->p);
	struct nm_xfer *x = &s->xfer;
	struct storm_begin b;
	int err;

	if (in->bad || !parts || part >= parts || parts > 32 || !n) {
		s->nm->link_stats.bad_wire++;
		return;
	}
	if (op <= x->op)
		return;
	/* all parts but the last are of one length, so any of them but the
	 * last one, or the only one, tells where it belongs */
	if (x->part_op != op || x->parts != parts) {
		free(x->part);
		x->part = calloc(1, STORM_BEGIN_MAX + STORM_DATAGRAM_MAX);
		x->part_op = op;
		x->part_have = 0;
		x->part_len = 0;
		x->parts = parts;
	}
	if (!x->part)
		return;
	if (part + 1 < parts) {
		if ((size_t) (part + 1) * n > STORM_BEGIN_MAX)
			return;
		memcpy(x->part + part * n, in->p, n);
		if (parts > 1 && part + 2 == parts)
			x->part_len = (uint32_t) ((part + 1) * n);
	} else {
		/* the last one is kept behind the room for all others */
		memcpy(x->part + STORM_BEGIN_MAX, in->p,
		       n < STORM_DATAGRAM_MAX ? n : STORM_DATAGRAM_MAX);
		x->part_last = (uint32_t) n;
	}
	x->part_have |= 1u << part;
	if (x->part_have != (parts == 32 ? ~0u : (1u << parts) - 1))
		return;
	if (x->part_len + x->part_last > STORM_BEGIN_MAX) {
		s->nm->link_stats.bad_wire++;
		return;
	}
	memmove(x->part + x->part_len, x->part + STORM_BEGIN_MAX,
		x->part_last);
	err = storm_begin_unpack(&b, x->part, x->part_len + x->part_last,
				 s->open->count);
	if (err || b.op != op) {
		if (!err)
			storm_begin_free(&b);
		s->nm->link_stats.bad_wire++;
		return;
	}
	nm_xfer_begin(s, &b, now);
}

void storm_nm_begun(struct storm_nm *nm, uint64_t session, uint64_t op,
		    int err, int sys, uint64_t now)
{
	struct nm_session *s = nm_find_host(nm, session);

	if (!s || s->xfer.op != op || !s->xfer.opening)
		return;
	s->xfer.opening = false;
	if (err)
		nm_xfer_fail(s, err, sys);
	else
		s->xfer.phase = STORM_PHASE_BEGUN;
	if (s->xfer.decision == STORM_ABORT) {
		ended(s, now);
		return;
	}
	nm_xfer_cast(s, now);
	nm_status(s, false, now);
}

void storm_nm_staged(struct storm_nm *nm, uint64_t session, uint64_t op,
		     int err, int sys, uint64_t now)
{
	struct nm_session *s = nm_find_host(nm, session);

	if (!s || s->xfer.op != op || !s->xfer.staging)
		return;
	s->xfer.staging = false;
	if (err)
		nm_xfer_fail(s, err, sys);
	else
		s->xfer.phase = STORM_PHASE_STAGED;
	if (s->xfer.decision == STORM_ABORT)
		ended(s, now);
	else
		nm_status(s, false, now);
}

static void signal_event(struct nm_session *s, const void *buf, size_t len)
{
	s->nm->ops.event(s->nm->host, s->host.ctx, s->host.session,
			 s->xfer.begin.to.remote_event, buf, len);
}

/* The decision is COMMIT: what is staged is shown, and then signalled. */
static void show(struct nm_session *s, uint64_t now)
{
	struct nm_xfer *x = &s->xfer;
	const struct storm_target *to = &x->begin.to;
	const struct storm_comparison *c = &x->begin.cmp;
	const struct nm_segment *g = &s->nm->segment[to->segment];
	uint8_t *at;

	switch ((int) x->begin.to.kind) {
	case STORM_TARGET_FILE:
		x->committing = true;
		s->nm->ops.file_commit(s->nm->host, x->file, s->host.session,
				       x->op);
		return;		/* and ended by storm_nm_applied() */
	case STORM_KIND_COMPARE:
		if (c->writes)
			s->var.global[c->write.var - STORM_GLOBAL(0)] =
				c->write.value;
		break;
	case STORM_TARGET_SEGMENT:
		at = (uint8_t *) g->base + to->offset;
		memcpy(at, x->mem, (size_t) x->begin.size);
		signal_event(s, at, (size_t) x->begin.size);
		break;
	default:
		signal_event(s, x->mem, (size_t) x->begin.size);
	}
	ended(s, now);
}

void storm_nm_applied(struct storm_nm *nm, uint64_t session, uint64_t op,
		      int err, int sys, uint64_t now)
{
	struct nm_session *s = nm_find_host(nm, session);

	if (!s || s->xfer.op != op || !s->xfer.committing)
		return;
	s->xfer.committing = false;
	if (err)
		nm_xfer_fail(s, err, sys);
	else if (s->xfer.begin.to.remote_event)
		signal_event(s, NULL, 0);
	ended(s, now);
}

static void decide(struct nm_session *s, enum storm_decision d, uint64_t now)
{
	struct nm_xfer *x = &s->xfer;

	if (x->phase == STORM_PHASE_ENDED || x->decision)
		return;
	if (d == STORM_COMMIT && x->phase != STORM_PHASE_STAGED)
		return;		/* cannot be: the owner saw us STAGED */
	x->decision = d;
	if (d == STORM_ABORT) {
		/* the host may be at it: its answer ends the transfer */
		if (!x->opening && !x->staging)
			ended(s, now);
	} else {
		show(s, now);
	}
}

void nm_xfer_check_full(struct nm_session *s, uint64_t now)
{
	struct nm_xfer *x = &s->xfer;

	if (!x->mapped || !storm_chunkmap_full(&x->map) || x->err ||
	    x->phase != STORM_PHASE_BEGUN || x->staging || x->decision)
		return;
	x->nack_at = x->gap_at = STORM_NEVER;
	if (x->begin.to.kind == STORM_TARGET_FILE) {
		x->staging = true;
		s->nm->ops.file_stage(s->nm->host, x->file, s->host.session,
				      x->op);
	} else {
		x->phase = STORM_PHASE_STAGED;
		nm_status(s, false, now);
	}
}

void nm_xfer_map(struct nm_session *s, uint32_t chunk)
{
	if (storm_chunkmap_init(&s->xfer.map, s->xfer.begin.size, chunk))
		nm_xfer_fail(s, STORM_ENOMEM, 0);
	else
		s->xfer.mapped = true;
}

/* The owner's state has changed, or was said again. */
void nm_xfer_cast(struct nm_session *s, uint64_t now)
{
	const struct storm_cast *c = &s->heard.cast;
	struct nm_xfer *x = &s->xfer;

	/* Decided, and never heard of here: with COMMIT all that it was for have
	 * it staged, so it was not for this node; with ABORT it shall not begin
	 * any more.  The host may still be at the one before. */
	if (c->decision && c->op > x->op && !x->opening && !x->staging &&
	    !x->committing)
		nm_xfer_skip(s, c->op);
	if (c->op != x->op || !x->op)
		return;
	if (c->chunk && !x->mapped && x->phase == STORM_PHASE_BEGUN &&
	    c->size == x->begin.size)
		nm_xfer_map(s, c->chunk);
	if (x->mapped && c->sent > x->sent) {
		x->sent = c->sent;
		if (!storm_chunkmap_full(&x->map) &&
		    x->nack_at > now + NACK_TAIL)
			x->nack_at = now + NACK_TAIL;
	}
	nm_xfer_check_full(s, now);
	if (c->decision)
		decide(s, c->decision, now);
}

/* -------------------------------------------------------------- repair --- */

/* The nearest one from here upwards that takes part in the transfer. */
static uint32_t taker(const struct nm_session *s, uint32_t node)
{
	while (node != STORM_NO_NODE &&
	       !storm_begin_names(&s->xfer.begin, node))
		node = storm_tree_parent(&s->tree.shape, node);
	return node;
}

/* Ask for what is missing in [from, below). */
static void nack(struct nm_session *s, uint64_t from, uint64_t below,
		 uint64_t now)
{
	struct nm_xfer *x = &s->xfer;
	uint8_t body[4 + NACK_RANGES * 16];
	struct storm_out o = { body + 4, body + sizeof(body), false };
	struct storm_out head = { body, body + 4, false };
	size_t max = storm_body_max(s->open->mtu);
	uint64_t most = NACK_BYTES / x->map.chunk + 1;
	uint64_t first, last, asked = 0;
	uint32_t n = 0, to = s->tree.parent;

	while (n < NACK_RANGES && 4 + (n + 1) * 16 <= max && asked < most &&
	       storm_chunkmap_gap(&x->map, &from, below, &first, &last)) {
		if (last - first + 1 > most - asked)
			last = first + (most - asked) - 1;
		storm_put64(&o, first);
		storm_put64(&o, last);
		asked += last - first + 1;
		if (last >= x->nack_high) {
			x->lost += last - first + 1;
			x->nack_high = last + 1;
		}
		n++;
	}
	if (!n)
		return;
	storm_put32(&head, n);
	to = taker(s, to);
	if ((x->tries > 2 || now < s->status.direct_until) &&
	    to != STORM_NO_NODE)
		to = taker(s, storm_tree_parent(&s->tree.shape, to));
	if (x->tries > 5)
		to = STORM_NO_NODE;
	storm_link_send(&s->link, STORM_MSG_NACK, 0, x->op, body,
			(size_t) (o.p - body), nm_addr(s, to), 1);
	s->nm->stats.nacks_sent++;
	if (!x->nack_sent)
		x->nack_sent = now;
}

static uint64_t rto(const struct nm_xfer *x)
{
	uint64_t t = 2 * x->nack_rtt + 4 * STORM_MS;

	if (!x->nack_rtt)
		return NACK_RTO_FIRST;
	return t < NACK_RTO_MIN ? NACK_RTO_MIN :
	       t > NACK_RTO_MAX ? NACK_RTO_MAX : t;
}

/* Longer than repairs take here: what the owner has sent but nothing behind it has
 * come is lost, it is not on its way any more. */
static bool silent(const struct nm_xfer *x, uint64_t now)
{
	uint64_t tail = 2 * x->nack_rtt;

	if (tail < NACK_TAIL)
		tail = NACK_TAIL;
	if (tail > NACK_RTO_MAX)
		tail = NACK_RTO_MAX;
	return now >= x->data_at + tail;
}

/* A host that did not run for a while finds its time over and the data waiting in
 * its queues: those are looked at before anybody is asked. */
static bool looks_first(struct nm_xfer *x, uint64_t now)
{
	if (!silent(x, now) || x->silent_have == x->map.have + 1)
		return false;
	x->silent_have = x->map.have + 1;
	x->nack_at = now + NACK_LOOK;
	return true;
}

/* All that is missing, once more; from farther up if it did not help. */
static void nack_again(struct nm_session *s, uint64_t now)
{
	struct nm_xfer *x = &s->xfer;
	uint64_t below = x->map.high;

	if (looks_first(x, now))
		return;
	if (silent(x, now))
		below = x->sent / x->map.chunk + (x->sent % x->map.chunk != 0);
	else if (below > x->nack_old)
		below = x->nack_old;	/* the newer ones were asked for just now */
	x->nack_old = x->nack_high;
	if (x->map.have > x->have_at_nack || x->map.prefix >= below) {
		x->tries = 0;
		x->nack_rto = rto(x);
	} else {
		x->tries++;
		x->nack_rto = x->nack_rto * 3 / 2 > NACK_RTO_MAX ?
			      NACK_RTO_MAX : x->nack_rto * 3 / 2;
	}
	x->have_at_nack = x->map.have;
	nack(s, 0, below, now);
	x->nack_at = now + x->nack_rto;
}

static int get(void *arg, uint64_t off, void *buf, size_t len)
{
	struct nm_session *s = arg;

	if (s->xfer.mem) {
		memcpy(buf, s->xfer.mem + off, len);
		return 0;
	}
	return s->nm->ops.file_read(s->nm->host, s->xfer.file, off, buf, len);
}

/* A node below asks for chunks: give those that are here. */
void nm_xfer_nacked(struct nm_session *s, const struct storm_header *h,
		    const uint8_t *body, size_t len)
{
	struct nm_xfer *x = &s->xfer;
	struct storm_in in = { body, body + len, false };
	uint32_t n = storm_get32(&in);
	uint64_t left;

	if (h->op != x->op || !x->mapped || (!x->mem && !x->file) ||
	    x->opening)
		return;
	left = SERVE_BYTES / x->map.chunk;
	for (; n && left; n--) {
		uint64_t i = storm_get64(&in), last = storm_get64(&in);

		if (in.bad || last < i || last >= x->map.count) {
			s->nm->link_stats.bad_wire++;
			return;
		}
		/* nack() asks for no more at once, and what is announced may
		 * be far more than anybody should look through */
		if (last - i >= STORM_CHUNKMAP_RUN)
			last = i + STORM_CHUNKMAP_RUN - 1;
		while (i <= last && left) {
			uint64_t end = i;

			if (!storm_chunkmap_has(&x->map, i)) {
				i++;
				continue;
			}
			while (end < last && end - i + 1 < STORM_BATCH &&
			       end - i + 1 < left &&
			       storm_chunkmap_has(&x->map, end + 1))
				end++;
			if (storm_link_send_data(&s->link, 0, x->op,
						 x->map.size, x->map.chunk, i,
						 end, get, s,
						 nm_addr(s, h->sender)))
				return;
			s->nm->stats.nacks_served += end - i + 1;
			left -= end - i + 1;
			i = end + 1;
		}
	}
}

uint64_t nm_xfer_tick(struct nm_session *s, uint64_t now)
{
	struct nm_xfer *x = &s->xfer;

	if (!x->mapped || x->err || x->decision ||
	    x->phase != STORM_PHASE_BEGUN)
		return STORM_NEVER;
	if (now >= x->nack_at) {
		nack_again(s, now);
		x->gap_at = STORM_NEVER;
	} else if (now >= x->gap_at) {
		nack(s, x->nack_high, x->map.high, now);
		x->gap_at = STORM_NEVER;
		/* along a chain those before us come first: they ask too */
		if (x->nack_at > now + x->nack_rto ||
		    s->heard.cast.flags & STORM_CAST_CHAIN)
			x->nack_at = now + x->nack_rto;
	}
	return x->gap_at < x->nack_at ? x->gap_at : x->nack_at;
}
