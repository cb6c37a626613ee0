/*
 * nm_admit.c - how a session begins and ends: an OPEN comes, the host checks it,
 * and the session takes its place in the tree.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "src/libstorm/base/idset.h"
#include "nm_private.h"

static void nm_session_free(struct nm_session *s)
{
	struct storm_nm *nm = s->nm;

	nm_request_end_all(s);
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
	nm->recent[nm->recent_at++ % 256] = s->link.session;
	storm_tree_free(&s->tree.shape);
	storm_link_free(&s->link);
	storm_open_free(s->open);
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

/* Known, under way or over?  The same OPEN is never taken twice. */
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
	if (nm_session_count(nm) >= nm->set.sessions_max) {
		storm_log(STORM_LOG_WARN, "OPEN refused: %u sessions are open",
			  nm->set.sessions_max);
		nm_stream_end(nm, stream, STORM_EAUTH);
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
	p->next = nm->pending;
	nm->pending = p;
	nm->ops.authenticate(nm->host, p->ticket, copy, len);
}

/* The stream whose OPEN this ticket is for; false: there is none. */
static bool nm_ticket_take(struct storm_nm *nm, uint64_t ticket,
			   uint64_t *stream)
{
	struct nm_pending **p = &nm->pending, *was;

	while (*p && (*p)->ticket != ticket)
		p = &(*p)->next;
	was = *p;
	if (!was)
		return false;
	*p = was->next;
	*stream = was->stream;
	free(was);
	return true;
}

/* The session begins, or goes on from the one of the owner before. */
static void nm_session_begin(struct nm_session *s, struct nm_session *before,
			     uint64_t now)
{
	struct storm_nm *nm = s->nm;
	struct storm_open_info info;

	if (before) {
		nm_data_flush(nm, now);
		nm_data_relay(nm);
	}
	nm_cluster_take(s, before);
	if (s->open->cluster && !storm_tree_member(&s->tree.shape, s->self))
		nm_cluster_excluded(s, s->link.epoch, now);
	if (s->host.refused) {
		nm->stats.opens_refused++;
	} else if (!s->host.ready) {
		storm_open_info(s->open, &info);
		nm->ops.session_open(nm->host, s->host.session, &info,
				     &s->host.ctx);
		s->host.ready = true;
	}
}

void storm_nm_admit(struct storm_nm *nm, uint64_t ticket, struct storm_open *o,
		    int err, uint64_t now)
{
	uint8_t inc[STORM_INCARNATION_LEN];
	struct nm_session *s, *before;
	uint64_t stream;

	if (!nm_ticket_take(nm, ticket, &stream)) {
		storm_open_free(o);
		return;
	}
	/* an owner that gave up meanwhile sends no CLOSE */
	if (!nm->t->ops->stream_waits(nm->t, stream)) {
		storm_open_free(o);
		nm_stream_end(nm, stream, STORM_EAUTH);
		return;
	}
	if (!o) {
		nm_stream_end(nm, stream,
			      err == STORM_EVERSION ? STORM_EVERSION :
						      STORM_EAUTH);
		return;
	}
	/* An owner that the host refuses owns no cluster domain: it takes
	 * nothing over, and its session ends when it is silent. */
	if (err)
		o->cluster = 0;
	before = nm_cluster_find(nm, o->cluster);
	if (before && o->epoch <= before->link.epoch) {
		storm_log(
			STORM_LOG_WARN,
			"cluster domain: an owner of epoch %u, but this node is in epoch %u",
			o->epoch, before->link.epoch);
		storm_open_free(o);
		nm_stream_end(nm, stream, STORM_ESUPERSEDED);
		return;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		goto no_session;
	s->nm = nm;
	s->open = o;
	s->self = o->self;
	s->host.session = o->session;
	s->tree.parent = STORM_NO_NODE;
	s->report.due_at = s->status.refine_at = STORM_NEVER;
	s->report.hold = HOLD_HASTE;
	s->request.tail = &s->request.first;
	nm_repair_reset(&s->xfer);
	s->heard.at = s->tree.checked_at = s->status.sent_at = now;
	s->host.refused = err; /* reported to the owner */
	if (storm_random(inc, sizeof(inc)) ||
	    storm_link_init(&s->link, nm->t, &nm->link_stats, o->key,
			    o->session, o->self, inc))
		goto no_link;
	s->link.epoch = o->epoch;
	if (o->multicast)
		storm_link_group(&s->link, &o->group);
	storm_tree_init(&s->tree.shape, o->count, o->radix);
	if (storm_tree_exclude(&s->tree.shape, &o->excluded))
		goto no_tree;
	/* the last of the list is the lowest */
	for (uint32_t up = o->count - 1; up != STORM_NO_NODE; s->tree.height++)
		up = storm_tree_parent(&s->tree.shape, up);
	if (storm_tree_member(&s->tree.shape, s->self) &&
	    nm_tree_rewire(s, now))
		goto no_tree;
	s->next = nm->sessions;
	nm->sessions = s;
	nm->stats.sessions_total++;
	nm_session_begin(s, before, now);
	nm_children_open(s);
	if (o->has_begin) {
		o->has_begin = false;
		nm_xfer_begin(s, &o->begin, now);
	}
	nm_status_update(s, false, now);
	nm->t->ops->end_stream(nm->t, stream, STORM_OK);
	return;
no_tree:
	storm_tree_free(&s->tree.shape);
	storm_link_free(&s->link);
no_link:
	free(s);
no_session:
	storm_open_free(o);
	nm_stream_end(nm, stream, STORM_ENOMEM);
}
