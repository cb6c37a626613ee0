/*
 * nm_xfer.c - XFER-AND-SIGNAL at a node (Algorithm 10), and the slave's side
 * of the file transfer (Algorithm 7).  Data are staged: into memory, or into
 * a temporary file; they are shown, and the remote event signalled, only after
 * the owner's decision.  nm_data.c takes them in, nm_repair.c gets what was lost.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "nm_private.h"
#include "src/libstorm/base/minmax.h"

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
	storm_digest_destroy(x->digest);
	x->digest = NULL;
	free(x->part.buf);
	x->part.buf = NULL;
	x->part.op = 0;
	nm_give_end(x);
	storm_begin_free(&x->begin);
	storm_chunkmap_free(&x->map);
	storm_chunkmap_free(&x->written);
	x->mapped = false;
}

static void nm_xfer_ended(struct nm_session *s, uint64_t now)
{
	s->xfer.phase = STORM_PHASE_ENDED;
	nm_xfer_drop(s);
	nm_memory_settle(s);
	nm_status_update(s, false, now);
}

static void nm_xfer_begin_memory(struct nm_session *s)
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
	else if (!nm_memory_fits(s, size))
		nm_xfer_fail(s, STORM_EBUSY, 0);
	if (x->err)
		return;
	x->mem = malloc(size + 1);
	x->digest = storm_digest_create();
	if (!x->mem || !x->digest)
		nm_xfer_fail(s, STORM_ENOMEM, 0);
	else
		x->phase = STORM_PHASE_BEGUN;
	nm_memory_settle(s);
}

/* There is nothing to wait for: the answer is all that is staged. */
static void nm_xfer_begin_compare(struct nm_session *s)
{
	const struct storm_comparison *c = &s->xfer.begin.cmp;

	s->xfer.no =
		!storm_relation_holds(nm_variable(s, c->var), c->rel, c->value);
	s->xfer.phase = STORM_PHASE_STAGED;
}

static void nm_xfer_begin_kind(struct nm_session *s)
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
		nm_xfer_begin_compare(s);
		break;
	default:
		nm_xfer_begin_memory(s);
	}
}

void nm_xfer_forget(struct nm_session *s)
{
	nm_xfer_drop(s);
	memset(&s->xfer, 0, sizeof(s->xfer));
	nm_repair_reset(&s->xfer);
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
	if (!storm_begin_names(&x->begin, s->self))
		x->phase = STORM_PHASE_ENDED; /* it goes on without us */
	else
		nm_xfer_begin_kind(s);
	nm_xfer_cast(s, now);
	nm_status_update(s, false, now);
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
	 * last one, or the only one, shows where it belongs */
	if (x->part.op != op || x->part.count != parts) {
		free(x->part.buf);
		x->part.buf = calloc(1, NM_PARTS_BYTES);
		x->part.op = op;
		x->part.have = 0;
		x->part.len = 0;
		x->part.count = parts;
	}
	if (!x->part.buf)
		return;
	if (part + 1 < parts) {
		if ((size_t) (part + 1) * n > STORM_BEGIN_MAX)
			return;
		memcpy(x->part.buf + part * n, in->p, n);
		if (parts > 1 && part + 2 == parts)
			x->part.len = (uint32_t) ((part + 1) * n);
	} else {
		/* the last one is kept behind the room for all others */
		memcpy(x->part.buf + STORM_BEGIN_MAX, in->p,
		       storm_min(n, STORM_DATAGRAM_MAX));
		x->part.last_len = (uint32_t) n;
	}
	x->part.have |= 1u << part;
	if (x->part.have != (parts == 32 ? ~0u : (1u << parts) - 1))
		return;
	if (x->part.len + x->part.last_len > STORM_BEGIN_MAX) {
		s->nm->link_stats.bad_wire++;
		return;
	}
	memmove(x->part.buf + x->part.len, x->part.buf + STORM_BEGIN_MAX,
		x->part.last_len);
	err = storm_begin_unpack(&b, x->part.buf,
				 x->part.len + x->part.last_len,
				 s->open->count);
	if (err || b.op != op) {
		if (!err)
			storm_begin_free(&b);
		s->nm->link_stats.bad_wire++;
		return;
	}
	nm_xfer_begin(s, &b, now);
}

void storm_nm_begun(struct storm_nm *nm, uint64_t session, uint64_t op, int err,
		    int sys, uint64_t now)
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
		nm_xfer_ended(s, now);
		return;
	}
	nm_xfer_cast(s, now);
	nm_status_update(s, false, now);
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
	else if (!s->xfer.err) /* of a write */
		s->xfer.phase = STORM_PHASE_STAGED;
	if (s->xfer.decision == STORM_ABORT)
		nm_xfer_ended(s, now);
	else
		nm_status_update(s, false, now);
}

void storm_nm_written(struct storm_nm *nm, uint64_t session, uint64_t op,
		      uint64_t off, size_t len, int err, int sys, uint64_t now)
{
	struct nm_session *s = nm_find_host(nm, session);
	struct nm_xfer *x = s ? &s->xfer : NULL;
	uint64_t end = off + len;

	if (!s || x->op != op || !x->file)
		return;
	if (err)
		nm_xfer_fail(s, err, sys);
	for (; !err && x->mapped && off < end; off += x->written.chunk)
		if (!storm_chunkmap_has(&x->written, off / x->written.chunk))
			storm_chunkmap_set(&x->written, off / x->written.chunk);
	nm_status_update(s, false, now);
}

static void nm_xfer_signal(struct nm_session *s, const void *buf, size_t len)
{
	s->nm->ops.event(s->nm->host, s->host.ctx, s->host.session,
			 s->xfer.begin.to.remote_event, buf, len);
}

/* The decision is COMMIT: what is staged is shown, and then signalled. */
static void nm_xfer_show(struct nm_session *s, uint64_t now)
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
		return; /* and ended by storm_nm_applied() */
	case STORM_KIND_COMPARE:
		if (c->writes)
			s->var.global[c->write.var - STORM_GLOBAL(0)] =
				c->write.value;
		break;
	case STORM_TARGET_SEGMENT:
		at = (uint8_t *) g->base + to->offset;
		memcpy(at, x->mem, (size_t) x->begin.size);
		nm_xfer_signal(s, at, (size_t) x->begin.size);
		break;
	default:
		nm_xfer_signal(s, x->mem, (size_t) x->begin.size);
	}
	nm_xfer_ended(s, now);
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
		nm_xfer_signal(s, NULL, 0);
	nm_xfer_ended(s, now);
}

static void nm_xfer_decide(struct nm_session *s, enum storm_decision d,
			   uint64_t now)
{
	struct nm_xfer *x = &s->xfer;

	if (x->phase == STORM_PHASE_ENDED || x->decision)
		return;
	if (d == STORM_COMMIT && x->phase != STORM_PHASE_STAGED)
		return; /* cannot be: the owner saw us STAGED */
	x->decision = d;
	if (d == STORM_ABORT) {
		/* the host may be at it: its answer ends the transfer */
		if (!x->opening && !x->staging)
			nm_xfer_ended(s, now);
	} else {
		nm_xfer_show(s, now);
	}
}

/* What is there without a gap. */
void nm_xfer_hash(struct nm_xfer *x)
{
	uint64_t end = storm_chunkmap_progress(&x->map);

	storm_digest_add(x->digest, x->mem + x->hashed,
			 (size_t) (end - x->hashed));
	x->hashed = end;
}

/* Is it what the owner has sent?  A member that forges data has the key. */
static bool nm_xfer_is_genuine(struct nm_xfer *x, const struct storm_cast *c)
{
	uint8_t digest[STORM_DIGEST_LEN];

	return !x->begin.size || (storm_digest_end(x->digest, digest) &&
				  !memcmp(digest, c->digest, sizeof(digest)));
}

void nm_xfer_check_full(struct nm_session *s, uint64_t now)
{
	const struct storm_cast *c = &s->heard.cast;
	struct nm_xfer *x = &s->xfer;

	if (!x->mapped || !storm_chunkmap_full(&x->map) || x->err ||
	    x->phase != STORM_PHASE_BEGUN || x->staging || x->decision)
		return;
	nm_repair_end(x);
	/* it comes in the state that has the end */
	if (x->begin.size && (c->op != x->op || !c->has_digest))
		return;
	if (nm_xfer_is_file(x)) {
		x->staging = true;
		s->nm->ops.file_stage(s->nm->host, x->file, s->host.session,
				      x->op, x->begin.size ? c->digest : NULL);
	} else if (!nm_xfer_is_genuine(x, c)) {
		nm_xfer_fail(s, STORM_EVERIFY, 0);
		nm_status_update(s, false, now);
	} else {
		x->phase = STORM_PHASE_STAGED;
		nm_status_update(s, false, now);
	}
}

void nm_xfer_map(struct nm_session *s, uint32_t chunk)
{
	struct nm_xfer *x = &s->xfer;

	bool file = nm_xfer_is_file(x);
	uint64_t bytes = storm_chunkmap_bytes(x->begin.size, chunk);

	if (!nm_memory_fits(s, file ? 2 * bytes : bytes))
		nm_xfer_fail(s, STORM_EBUSY, 0);
	else if (storm_chunkmap_init(&x->map, x->begin.size, chunk) ||
		 (file &&
		  storm_chunkmap_init(&x->written, x->begin.size, chunk)))
		nm_xfer_fail(s, STORM_ENOMEM, 0);
	else
		x->mapped = true;
	nm_memory_settle(s);
}

/* The owner's state has changed, or was retransmitted. */
void nm_xfer_cast(struct nm_session *s, uint64_t now)
{
	const struct storm_cast *c = &s->heard.cast;
	struct nm_xfer *x = &s->xfer;

	/* a decision is for those that the state names: the others may be behind, and
	 * have one of their own */
	bool decided = c->decision &&
		       (!c->p.count || storm_idset_has(&c->p, s->self));

	/* Decided, and never heard of here: with COMMIT all that it was for have
	 * it staged, so it was not for this node; with ABORT it shall not begin
	 * any more.  The host may still be at the one before. */
	if (decided && c->op > x->op && !x->opening && !x->staging &&
	    !x->committing)
		nm_xfer_skip(s, c->op);
	if (c->op != x->op || !x->op)
		return;
	if (c->chunk && !x->mapped && x->phase == STORM_PHASE_BEGUN &&
	    c->size == x->begin.size)
		nm_xfer_map(s, c->chunk);
	if (x->mapped && c->sent > x->sent) {
		x->sent = c->sent;
		nm_repair_sent(x, now);
	}
	nm_repair_heard(x, c);
	nm_xfer_check_full(s, now);
	if (decided)
		nm_xfer_decide(s, c->decision, now);
}
