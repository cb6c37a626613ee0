/*
 * nm_admit.c - how a session begins and ends: an OPEN comes, the host checks it,
 * and the session takes its place in the tree.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "nm_private.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/log_limit.h"
#include "src/libstorm/base/minmax.h"

static void nm_session_free(struct nm_session *s)
{
	struct storm_nm *nm = s->nm;

	nm_request_end_all(s);
	nm_gather_end(s);
	nm_pulse_end(s);
	nm_xfer_drop(s);
	nm->t->ops->drop_streams(nm->t, s->link.session);
	if (s->host.ready)
		nm->ops.session_close(nm->host, s->host.ctx);
	storm_children_free(s->tree.child, s->tree.children);
	free(s->heard.state.buf);
	free(s->heard.begin.buf);
	for (int i = 0; i < STORM_REPORT_KINDS; i++)
		free(s->heard.ack[i].buf);
	for (int i = 0; i < STORM_REPORT_KINDS; i++)
		storm_idset_clear(&s->report.acked[i]);
	storm_reports_clear(&s->report.all);
	storm_reports_clear(&s->report.mine);
	storm_status_free(&s->status.sent);
	storm_cast_free(&s->heard.cast);
	nm_excluded_free(&s->excluded);
	if (!s->left)
		nm->recent[nm->recent_at++ % 256] = s->link.session;
	storm_tree_free(&s->tree.shape);
	free(s->routes.to);
	storm_link_free(&s->link);
	storm_open_free(s->open);
	storm_account_close(&s->account);
	free(s);
}

void nm_sessions_end(struct storm_nm *nm)
{
	struct nm_session **p = &nm->sessions;

	while (*p) {
		struct nm_session *s = *p;

		if (!s->closing) {
			p = &s->next;
			continue;
		}
		*p = s->next;
		nm_session_free(s);
	}
}

uint32_t nm_session_count(const struct storm_nm *nm)
{
	uint32_t n = 0;

	for (const struct nm_session *s = nm->sessions; s; s = s->next)
		n++;
	for (const struct nm_pending *p = nm->pending; p; p = p->next)
		n++;
	return n;
}

static void nm_stream_end(struct storm_nm *nm, uint64_t stream,
			  enum storm_err err)
{
	if (err)
		nm->stats.opens_refused++;
	nm->t->ops->end_stream(nm->t, stream, err);
}

/* Known, under way or over?  The same OPEN is never taken twice.  A cluster domain that
 * this node has left is as one that an earlier life knew: MUNGE finds repeats, and the
 * owner has it join anew. */
static bool nm_session_known(struct storm_nm *nm, uint64_t session)
{
	if (nm_find(nm, session))
		return true;
	for (struct nm_pending *p = nm->pending; p; p = p->next)
		if (p->session == session)
			return true;
	for (int i = 0; i < 256; i++)
		if (nm->recent[i] == session)
			return true;
	return false;
}

void storm_nm_stream(struct storm_nm *nm, uint64_t stream, const void *buf,
		     size_t len, uint64_t now)
{
	struct storm_addr from = { 0 };
	struct nm_pending *p;
	uint64_t session;
	void *copy;

	(void) now;
	if (storm_open_peek(buf, len, &session)) {
		nm_stream_end(nm, stream, STORM_EAUTH);
		return;
	}
	if (nm_session_known(nm, session)) {
		nm_stream_end(nm, stream, STORM_OK);
		return;
	}
	p = calloc(1, sizeof(*p));
	copy = malloc(len);
	if (!p || !copy) {
		free(p);
		free(copy);
		nm_stream_end(nm, stream, STORM_EAUTH);
		return;
	}
	memcpy(copy, buf, len);
	p->ticket = ++nm->tickets;
	p->session = session;
	p->stream = stream;
	p->len = len;
	p->next = nm->pending;
	nm->pending = p;
	if (nm->t->ops->stream_from)
		from = nm->t->ops->stream_from(nm->t, stream);
	nm->ops.authenticate(nm->host, p->ticket, &from, copy, len);
}

/* The stream whose OPEN, of *len bytes, this ticket is for; false: there is none. */
static bool nm_ticket_take(struct storm_nm *nm, uint64_t ticket,
			   uint64_t *stream, size_t *len)
{
	struct nm_pending **p = &nm->pending, *was;

	while (*p && (*p)->ticket != ticket)
		p = &(*p)->next;
	was = *p;
	if (!was)
		return false;
	*p = was->next;
	*stream = was->stream;
	*len = was->len;
	free(was);
	return true;
}

/* ---------------------------------------------------------------- admission --- */

/* Longer time-outs than these are the owner's wish, and not this node's: what the
 * owner leaves behind would stay for as long.  op_timeout is the owner's alone. */
#define DEAD_TIMEOUT_MOST (10 * STORM_SEC)
#define HEARTBEAT_MOST (2 * STORM_SEC)

static void nm_open_limit(const struct storm_nm *nm, struct storm_open *o)
{
	const struct storm_settings *set = &nm->set;

	o->dead_timeout =
		storm_min(o->dead_timeout,
			  storm_max(set->dead_timeout, DEAD_TIMEOUT_MOST));
	o->heartbeat = storm_min(o->heartbeat,
				 storm_max(set->heartbeat, HEARTBEAT_MOST));
}

static bool nm_trusts(const struct storm_nm *nm, uint32_t uid)
{
	return nm->ops.trusted ? nm->ops.trusted(nm->host, uid) : !uid;
}

/* The session begins, or goes on from the one of the owner before. */
static void nm_session_begin(struct nm_session *s, struct nm_session *before,
			     uint64_t now)
{
	struct storm_nm *nm = s->nm;
	struct storm_open *o = s->open;
	struct storm_open_info info;

	s->next = nm->sessions;
	nm->sessions = s;
	nm->stats.sessions_total++;
	if (before)
		nm_data_end(nm, now);
	nm_cluster_take(s, before);
	if (o->cluster && !storm_tree_member(&s->tree.shape, s->self))
		nm_cluster_excluded(s, s->link.epoch, now);
	if (!s->host.ready) {
		storm_open_info(o, &info);
		nm->ops.session_open(nm->host, s->host.session, &info,
				     &s->host.ctx);
		s->host.ready = true;
	}
	nm_children_open(s);
	if (o->has_begin) {
		o->has_begin = false;
		nm_xfer_begin(s, &o->begin, now);
	}
	nm_status_update(s, false, now);
}

static int nm_session_link(struct nm_session *s)
{
	const struct storm_open *o = s->open;
	uint8_t inc[STORM_INCARNATION_LEN];

	if (storm_random(inc, sizeof(inc)) ||
	    storm_link_init(&s->link, s->nm->t, &s->nm->link_stats, o->key,
			    o->session, o->self, inc))
		return STORM_ENOMEM;
	s->link.account = &s->account;
	s->link.epoch = o->epoch;
	if (o->multicast)
		storm_link_group(&s->link, &o->group);
	return STORM_OK;
}

static int nm_session_tree(struct nm_session *s, uint64_t now)
{
	const struct storm_open *o = s->open;
	struct nm_tree *t = &s->tree;

	t->parent = STORM_NO_NODE;
	t->height_max = storm_tree_height(o->count, s->nm->set.radix);
	storm_tree_init(&t->shape, o->count, o->radix);
	if (storm_tree_exclude(&t->shape, &o->excluded))
		return STORM_ENOMEM;
	/* the last of the list is the lowest */
	for (uint32_t up = o->count - 1; up != STORM_NO_NODE; t->height++)
		up = storm_tree_parent(&t->shape, up);
	return storm_tree_member(&t->shape, s->self) ? nm_tree_rewire(s, now) :
						       STORM_OK;
}

static int nm_session_limit(struct nm_session *s)
{
	const struct storm_open *o = s->open;
	struct storm_log_source from = storm_log_uid(o->uid);

	if (!storm_account_open(&s->account, &s->nm->budget, o->uid,
				nm_trusts(s->nm, o->uid))) {
		storm_log_from(
			&from, STORM_LOG_WARN,
			"OPEN of uid %u refused: too many sessions are open (MaxUserSessions, MaxSessions)",
			o->uid);
		return STORM_EBUSY;
	}
	if (nm_memory_settle(s))
		return STORM_OK;
	storm_log_from(
		&from, STORM_LOG_WARN,
		"OPEN of uid %u refused: its session would take too much memory (MaxUserMemory, MaxMemory)",
		o->uid);
	return STORM_EBUSY;
}

/* Takes o.  NULL, and *err: nothing of it is kept. */
static struct nm_session *nm_session_create(struct storm_nm *nm,
					    struct storm_open *o, uint64_t now,
					    int *err)
{
	struct nm_session *s = calloc(1, sizeof(*s));

	*err = STORM_ENOMEM;
	if (!s) {
		storm_open_free(o);
		return NULL;
	}
	nm_open_limit(nm, o);
	s->nm = nm;
	s->open = o;
	s->self = o->self;
	s->host.session = o->session;
	s->report.due_at = s->status.refine_at = STORM_NEVER;
	s->status.again_at = STORM_NEVER;
	s->report.hold = HOLD_HASTE;
	s->report.hold_most = HOLD_WELL;
	s->request.tail = &s->request.first;
	nm_repair_reset(&s->xfer);
	s->heard.at = s->tree.checked_at = s->status.sent_at = now;
	s->heard.group_at = now;
	*err = nm_session_limit(s);
	if (!*err)
		*err = nm_session_link(s);
	if (!*err)
		*err = nm_session_tree(s, now);
	if (!*err)
		return s;
	storm_children_free(s->tree.child, s->tree.children);
	storm_tree_free(&s->tree.shape);
	if (s->link.t)
		storm_link_free(&s->link);
	storm_account_close(&s->account);
	storm_open_free(o);
	free(s);
	return NULL;
}

/* An owner that comes later, in an epoch that has passed. */
static int nm_open_check_epoch(struct storm_nm *nm, const struct storm_open *o)
{
	const struct nm_session *before = nm_cluster_find(nm, o->cluster);
	struct storm_log_source from = storm_log_uid(o->uid);

	if (!before || o->epoch > before->link.epoch)
		return STORM_OK;
	storm_log_from(
		&from, STORM_LOG_WARN,
		"cluster domain: an owner of epoch %u, but this node is in epoch %u",
		o->epoch, before->link.epoch);
	return STORM_ESUPERSEDED;
}

static int nm_host_ready(struct storm_nm *nm, const struct storm_open *o)
{
	struct storm_open_info info;

	if (!nm->ops.ready)
		return STORM_OK;
	storm_open_info(o, &info);
	return nm->ops.ready(nm->host, &info);
}

int storm_nm_admit(struct storm_nm *nm, uint64_t ticket, struct storm_open *o,
		   int err, uint64_t now)
{
	struct nm_session *s = NULL;
	uint64_t stream;
	size_t len;

	if (!nm_ticket_take(nm, ticket, &stream, &len)) {
		storm_open_free(o);
		return STORM_ECLOSED;
	}
	/* an owner that gave up meanwhile sends no CLOSE */
	if (!nm->t->ops->stream_waits(nm->t, stream)) {
		storm_open_free(o);
		nm_stream_end(nm, stream, STORM_EAUTH);
		return STORM_ECLOSED;
	}
	if (!o) {
		if (err != STORM_EVERSION &&
		    STORM_REFUSAL_WHY(err) != STORM_EAUTH)
			err = STORM_EAUTH;
		nm_stream_end(nm, stream, err);
		return STORM_REFUSAL_WHY(err);
	}
	/* the sender is authentic: it is told, and EAUTH would tell nothing */
	if (err == STORM_EAUTH)
		err = STORM_EACCES;
	if (!err)
		err = nm_open_check_epoch(nm, o);
	if (!err)
		err = nm_host_ready(nm, o);
	if (err)
		storm_open_free(o);
	else
		s = nm_session_create(nm, o, now, &err);
	if (s) {
		s->open_bytes = len;
		nm_session_begin(s, nm_cluster_find(nm, o->cluster), now);
	}
	nm_stream_end(nm, stream, err);
	return STORM_REFUSAL_WHY(err);
}
