/*
 * nm_memory.c - what a session takes of the node's memory.  Its owner chooses
 * how much that is: by its list of nodes, by transfers to memory, and by what it
 * says in the name of its nodes, whose keys it has.  So all that grows is counted,
 * and paid from the budget of the owner's user (base/budget.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "nm_private.h"
#include "src/libstorm/base/log_limit.h"
#include "src/libstorm/base/step_name.h"

/* Beside this: the host's state of a session, and what malloc() adds. */
#define HOST_BYTES 1024

static size_t memory_set(const struct storm_idset *s)
{
	return s->room * sizeof(*s->r);
}

static size_t memory_status(const struct storm_status *st)
{
	return memory_set(&st->behind) + memory_set(&st->overdue) +
	       memory_set(&st->unanswered) + memory_set(&st->fresh) +
	       memory_set(&st->gone);
}

static size_t memory_open(const struct storm_open *o)
{
	return sizeof(*o) + o->body_len + strlen(o->cred) + o->authority_len +
	       storm_nodes_bytes(&o->nodes) + memory_set(&o->excluded) +
	       memory_set(&o->begin.p);
}

static size_t memory_tree(const struct nm_tree *t)
{
	size_t n = memory_set(&t->shape.out);

	for (uint32_t i = 0; i < t->children; i++)
		n += sizeof(t->child[i]) + memory_status(&t->child[i].status) +
		     storm_report_rx_bytes(&t->child[i].rx);
	return n;
}

static size_t memory_heard(const struct nm_heard *h)
{
	size_t n = h->state.len + h->begin.len + memory_set(&h->cast.p) +
		   memory_set(&h->cast.cmp_p) + memory_set(&h->cast.excluded);

	for (int i = 0; i < STORM_REPORT_KINDS; i++)
		n += h->ack[i].len;
	return n;
}

/* A bit for each node, and the parts as they came. */
static size_t memory_excluded(const struct nm_session *s)
{
	const struct nm_excluded *x = &s->excluded;
	size_t n = x->state.len + memory_set(&x->cast.p) +
		   memory_set(&x->cast.cmp_p) + memory_set(&x->cast.excluded);

	if (x->set.bits)
		n += s->open->nodes.count / 8 + 1;
	for (int i = 0; i < x->set.parts; i++)
		n += x->part[i].len;
	return n;
}

static size_t memory_xfer(const struct nm_xfer *x)
{
	return memory_set(&x->begin.p) +
	       (x->begin.to.path ? strlen(x->begin.to.path) : 0) +
	       /* once it is decided, only the event is to come */
	       (x->mem && !x->decision ? x->begin.size : 0) +
	       (x->mapped ?
			(x->file ? 2 : 1) * storm_chunkmap_bytes(x->map.size,
								 x->map.chunk) :
			0) +
	       (x->give.queue ? GIVE_MAX * sizeof(*x->give.queue) : 0) +
	       (x->part.buf ? NM_PARTS_BYTES : 0);
}

static size_t memory_report(const struct nm_report *r)
{
	size_t n = storm_reports_bytes(&r->all) + storm_reports_bytes(&r->mine);

	for (int i = 0; i < STORM_REPORT_KINDS; i++)
		n += memory_set(&r->acked[i]);
	return n;
}

static uint64_t memory_session(const struct nm_session *s)
{
	return HOST_BYTES + sizeof(*s) + s->host.bytes + memory_open(s->open) +
	       storm_link_bytes(&s->link) + memory_tree(&s->tree) +
	       memory_heard(&s->heard) + memory_excluded(s) +
	       s->routes.room * sizeof(*s->routes.to) + memory_xfer(&s->xfer) +
	       memory_status(&s->status.sent) + memory_report(&s->report) +
	       nm_gather_bytes(s);
}

bool nm_memory_settle(struct nm_session *s)
{
	return storm_account_set(&s->account, memory_session(s));
}

bool nm_memory_fits(const struct nm_session *s, uint64_t bytes)
{
	return bytes <= storm_account_left(&s->account);
}

void nm_memory_check(struct nm_session *s, uint64_t now)
{
	struct storm_log_source from = storm_log_uid(s->open->uid);
	char step[STORM_STEP_NAME];

	if (s->closing || nm_memory_settle(s))
		return;
	storm_log_from(
		&from, STORM_LOG_WARN,
		"%s: its session takes more memory than uid %u may have, it is closed (MaxUserMemory, MaxMemory)",
		storm_step_name(&step, s->open->job_id, s->open->step_id),
		s->open->uid);
	s->fault = STORM_EBUSY;
	nm_status_update(s, true, now);
	s->closing = true;
}

int storm_nm_hold(struct storm_nm *nm, uint64_t session, int64_t bytes)
{
	struct nm_session *s = nm_find_host(nm, session);

	if (!s)
		return STORM_ENOENT;
	nm_memory_settle(s);
	if (bytes > 0 && !nm_memory_fits(s, (uint64_t) bytes))
		return STORM_EBUSY;
	s->host.bytes += (uint64_t) bytes;
	nm_memory_settle(s);
	return STORM_OK;
}
