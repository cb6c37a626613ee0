/*
 * nm_request.c - a node as the initiator of operations: it sends them to the
 * owner one at a time, each again until the RESULT is there (owner_request.c).
 *
 * What was asked for and not answered when the domain is lost is UNKNOWN: the
 * owner may have decided it.  What was never sent is ABORTED.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "nm_private.h"
#include "src/libstorm/wire/request.h"

#define RETRY_FIRST (50 * STORM_MS)
#define RETRY_MAX (400 * STORM_MS)

struct nm_request {
	struct nm_request *next;
	uint64_t id; /* 0: not sent yet */
	void *token;
	size_t len;
	uint8_t body[];
};

static void nm_request_ended(struct nm_session *s, enum storm_compare result,
			     struct storm_outcome *out)
{
	struct nm_requests *q = &s->request;
	struct nm_request *r = q->first;

	q->first = r->next;
	if (!q->first)
		q->tail = &q->first;
	q->due_at = STORM_NEVER;
	s->nm->ops.requested(s->nm->host, s->host.ctx, r->token, result, out);
	free(r);
}

/* The first of the queue, if it is time. */
uint64_t nm_request_tick(struct nm_session *s, uint64_t now)
{
	struct nm_requests *q = &s->request;
	struct nm_request *r = q->first;

	if (!r || s->member.outside)
		return STORM_NEVER;
	if (!r->id) {
		r->id = ++q->last_id;
		q->due_at = now;
		q->rto = RETRY_FIRST;
	}
	if (now >= q->due_at) {
		storm_link_send(&s->link, STORM_MSG_REQUEST, 0, r->id, r->body,
				r->len, &s->open->owner, 1);
		q->due_at = now + q->rto;
		if (q->rto < RETRY_MAX)
			q->rto *= 2;
	}
	return q->due_at;
}

void nm_request_result(struct nm_session *s, uint64_t id, const uint8_t *body,
		       size_t len)
{
	enum storm_compare result;
	struct storm_outcome out;

	if (!s->request.first || s->request.first->id != id)
		return;
	if (storm_result_unpack(&result, &out, body, len)) {
		s->nm->link_stats.bad_wire++;
		return;
	}
	nm_request_ended(s, result, &out);
}

void nm_request_end_all(struct nm_session *s)
{
	const struct nm_request *r;

	while ((r = s->request.first)) {
		struct storm_outcome out = { .state = r->id ? STORM_UNKNOWN :
							      STORM_ABORTED };

		nm_request_ended(s, STORM_FAILED, &out);
	}
}

static int nm_request_queue(struct nm_session *s, struct storm_begin *b,
			    const void *buf, size_t len, void *token)
{
	uint8_t body[STORM_DATAGRAM_MAX];
	size_t n = storm_request_pack(b, buf, len, body, nm_body_max(s));
	struct nm_request *r;

	if (!n)
		return STORM_ETOOBIG;
	r = calloc(1, sizeof(*r) + n);
	if (!r)
		return STORM_ENOMEM;
	r->token = token;
	r->len = n;
	memcpy(r->body, body, n);
	*s->request.tail = r;
	s->request.tail = &r->next;
	return STORM_OK;
}

/* A session that the host knows: the host must learn how the request ended. */
static struct nm_session *nm_request_session(struct storm_nm *nm,
					     uint64_t session, int *err)
{
	struct nm_session *s = nm_find_host(nm, session);

	*err = !s || !s->host.ready ? STORM_ENOENT :
	       s->member.outside    ? STORM_ECLOSED :
				      STORM_OK;
	return s;
}

/* P is copied into the REQUEST, and nothing of it kept. */
static int nm_request_nodes(const struct nm_session *s,
			    const struct storm_idset *P,
			    struct storm_idset *out)
{
	memset(out, 0, sizeof(*out));
	if (!P)
		return STORM_OK;
	*out = *P;
	return storm_begin_check_set(P, s->open->count);
}

int storm_nm_xfer(struct storm_nm *nm, uint64_t session,
		  const struct storm_idset *P, const struct storm_target *to,
		  const void *buf, size_t len, void *token)
{
	struct storm_begin b = { .op = 1, .size = len, .to = *to };
	int err;
	struct nm_session *s = nm_request_session(nm, session, &err);

	if (err)
		return err;
	if ((to->kind != STORM_TARGET_MEMORY &&
	     to->kind != STORM_TARGET_SEGMENT) ||
	    to->segment >= STORM_SEGMENTS)
		return STORM_EINVAL;
	err = nm_request_nodes(s, P, &b.p);
	return err ? err : nm_request_queue(s, &b, buf, len, token);
}

int storm_nm_compare(struct storm_nm *nm, uint64_t session,
		     const struct storm_idset *P, uint32_t var,
		     enum storm_relation rel, uint64_t value,
		     const struct storm_assign *write, void *token)
{
	struct storm_begin b = {
		.op = 1, .cmp = { var, rel, value, write != NULL, { 0, 0 } }
	};
	int err;
	struct nm_session *s = nm_request_session(nm, session, &err);

	if (err)
		return err;
	if (!storm_var_known(var) || rel > STORM_NE ||
	    (write &&
	     (write->var < STORM_VARS || !storm_var_known(write->var))))
		return STORM_EINVAL;
	b.to.kind = (enum storm_target_kind) STORM_KIND_COMPARE;
	if (write)
		b.cmp.write = *write;
	err = nm_request_nodes(s, P, &b.p);
	return err ? err : nm_request_queue(s, &b, NULL, 0, token);
}
