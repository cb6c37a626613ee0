/*
 * owner_request.c - operations whose initiator is a node (paper 2.4.1, where
 * any node may initiate one).  The owner alone orders them: a node sends its
 * operation as a REQUEST, and retransmits it until it has the RESULT.  The
 * owner keeps the last request of each node with its result: a REQUEST that
 * comes again is answered, and never executed again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "owner_private.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/wire/request.h"

static struct owner_request *owner_request_find(struct storm_owner *o,
						uint32_t node)
{
	struct owner_request *r = o->requests;

	while (r && r->node != node)
		r = r->next;
	return r;
}

static void owner_request_answer(struct storm_owner *o,
				 const struct owner_request *r)
{
	struct storm_addr to = owner_addr(o, r->node);

	if (r->result_len)
		storm_link_send(&o->link, STORM_MSG_RESULT, 0, r->id, r->result,
				r->result_len, &to, 1);
}

/* The request does not become an operation. */
static void owner_request_refuse(struct storm_owner *o, struct owner_request *r,
				 enum storm_err why)
{
	struct storm_fault f = { r->node, why, 0 };
	struct storm_outcome out = { STORM_ABORTED, &f, 1, 1 };

	r->result_len = storm_result_pack(STORM_FAILED, &out, r->result,
					  sizeof(r->result));
	owner_request_answer(o, r);
}

static void owner_request_ended(struct storm_owner *o, void *token,
				enum storm_compare result,
				struct storm_outcome *out)
{
	struct owner_request *r = token;

	r->result_len =
		storm_result_pack(result, out, r->result, sizeof(r->result));
	storm_outcome_clear(out);
	free(r->data);
	r->data = NULL;
	r->busy = false;
	if (r->gone)
		free(r);
	else
		owner_request_answer(o, r);
}

/* Only the owner writes files, with the rights of its user.  All bytes of any
 * other operation come with the request. */
static enum storm_err owner_request_check(const struct storm_owner *o,
					  const struct storm_begin *b,
					  size_t len)
{
	if ((int) b->to.kind == STORM_TARGET_FILE)
		return STORM_EACCES;
	if (b->size != len)
		return STORM_EINVAL;
	return o->phase == OWNER_OPEN ? STORM_OK : STORM_ECLOSED;
}

/* True: the operation waits in the queue. */
static bool owner_request_queue(struct storm_owner *o, struct owner_request *r,
				const uint8_t *body, size_t len)
{
	struct storm_begin b;
	const uint8_t *data;
	size_t n;
	struct storm_bytes from = { 0 };
	enum storm_err err;

	if (storm_request_unpack(&b, &data, &n, body, len, o->conf.count)) {
		o->link_stats.bad_wire++;
		owner_request_refuse(o, r, STORM_EINVAL);
		return false;
	}
	err = owner_request_check(o, &b, n);
	r->data = err ? NULL : malloc(n + 1);
	if (!r->data) {
		storm_begin_free(&b);
		owner_request_refuse(o, r, err ? err : STORM_ENOMEM);
		return false;
	}
	memcpy(r->data, data, n);
	r->busy = true;
	b.op = 0;
	from.buf = r->data;
	err = owner_xfer_queue(o, &b, &from, r, false, owner_request_ended);
	if (err) {
		r->busy = false;
		free(r->data);
		r->data = NULL;
		owner_request_refuse(o, r, err);
	}
	return !err;
}

bool owner_request(struct storm_owner *o, uint32_t node, uint64_t id,
		   const uint8_t *body, size_t len)
{
	struct owner_request *r = owner_request_find(o, node);

	if (!r) {
		r = calloc(1, sizeof(*r));
		if (!r)
			return false; /* it asks again */
		r->node = node;
		r->next = o->requests;
		o->requests = r;
	}
	if (id == r->id)
		owner_request_answer(o, r);
	if (id <= r->id || r->busy)
		return false;
	r->id = id;
	r->result_len = 0;
	return owner_request_queue(o, r, body, len);
}

/* The node left: what it asked for goes on, without a RESULT. */
void owner_request_forget(struct storm_owner *o, uint32_t node)
{
	struct owner_request **p = &o->requests, *r;

	while (*p && (*p)->node != node)
		p = &(*p)->next;
	r = *p;
	if (!r)
		return;
	*p = r->next;
	if (r->busy)
		r->gone = true;
	else
		free(r);
}

void owner_request_end_all(struct storm_owner *o)
{
	while (o->requests)
		owner_request_forget(o, o->requests->node);
}
