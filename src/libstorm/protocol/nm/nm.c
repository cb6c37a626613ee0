/*
 * nm.c - the Node Manager: what comes in, and its timers.
 * All that goes down is the owner's state, all that goes up is the cumulative
 * state of a subtree (nm_status.c); both are repeated until they are seen, and
 * nothing else is remembered about messages.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "nm_private.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/log_limit.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/base/step_name.h"

#define SAID_AGAIN (5 * STORM_MS)   /* a child that old news has missed it */
#define DIRECT_TIME (2 * STORM_SEC) /* to the owner, past a silent parent */

/* ------------------------------------------------------------ from the owner --- */

static void nm_session_fenced(struct nm_session *s)
{
	char step[STORM_STEP_NAME];

	storm_log(STORM_LOG_WARN, "%s: this node was excluded from its domain",
		  storm_step_name(&step, s->open->job_id, s->open->step_id));
	s->closing = true;
}

/* The owner asks: a child without an answer to its last question is silent. */
static void nm_asked(struct nm_session *s, bool directly, uint64_t now)
{
	struct nm_answer *a = &s->status;

	a->answering = true;
	if (directly)
		a->direct_until = now + DIRECT_TIME;
	if (now < a->asked_at + SAID_AGAIN) /* it comes twice */
		return;
	storm_children_asked(s->tree.child, s->tree.children, a->asked_at);
	a->asked_at = now;
	if (!directly)
		nm_children_tell(s, now);
}

static void nm_state_take(struct nm_session *s, struct storm_cast *c,
			  uint32_t epoch, uint64_t now)
{
	bool asked = c->flags & STORM_CAST_ASK, follows;

	if (c->version < s->heard.cast.version) {
		storm_cast_free(c);
		return;
	}
	storm_cast_free(&s->heard.cast);
	s->heard.cast = *c;
	if (c->flags & STORM_CAST_CLOSING) {
		/* decided is decided; a file's rename would come too late */
		if (s->xfer.begin.to.kind != STORM_TARGET_FILE &&
		    !s->member.outside)
			nm_xfer_cast(s, now);
		nm_report_release(s);
		s->closing = true;
		return;
	}
	s->member.orphan = false;
	if (storm_idset_has(&c->excluded, s->self)) {
		if (s->open->cluster)
			nm_cluster_excluded(s, epoch, now);
		else
			nm_session_fenced(s);
		return;
	}
	if (s->member.out_epoch) /* it waits to be welcome */
		return;
	if (epoch > s->link.epoch) {
		follows = epoch == s->link.epoch + 1;
		s->link.epoch = epoch;
		nm_gather_end(s); /* the owner asks again */
		if (storm_tree_exclude(&s->tree.shape,
				       &s->heard.cast.excluded) ||
		    nm_tree_rewire(s, now)) {
			nm_session_fenced(s);
			return;
		}
		nm_children_forget(s, follows);
		storm_idset_clear(
			&s->heard.cast.excluded); /* the tree has it */
		if (s->open->cluster)
			nm_children_open(s);
		asked = true;
	}
	if (asked)
		nm_asked(s, c->flags & STORM_CAST_DIRECT, now);
	if (!s->member.outside)
		nm_xfer_cast(s, now);
	nm_status_update(s, asked, now);
}

static void nm_said_resend(struct nm_session *s, struct nm_said *said,
			   uint32_t node, uint64_t now)
{
	struct storm_addr to;

	if (said->len && now >= said->at + SAID_AGAIN &&
	    nm_route(s, node, &to) && nm_relay_pays(s, said->len, now) &&
	    !s->link.t->ops->send(s->link.t, STORM_CONTROL, &to, said->buf,
				  said->len, said->len))
		s->nm->stats.relayed++;
}

/* Same sealed bytes to all children: only the owner's key made them. */
static void nm_relay_down(struct nm_session *s, const uint8_t *buf, size_t len,
			  uint64_t now)
{
	for (uint32_t i = 0; i < s->tree.children; i++) {
		struct storm_addr to;

		if (nm_route(s, s->tree.child[i].node, &to) &&
		    nm_relay_pays(s, len, now) &&
		    !s->link.t->ops->send(s->link.t, STORM_CONTROL, &to, buf,
					  len, len))
			s->nm->stats.relayed++;
	}
}

/* The state counts, and all of it is here. */
static void nm_cast_state(struct nm_session *s, struct storm_cast *c,
			  uint32_t epoch, const struct storm_rx *rx,
			  uint64_t now)
{
	if (c->version >= s->heard.cast.version &&
	    !(c->flags & STORM_CAST_DIRECT))
		nm_said_keep(&s->heard.state, rx, now);
	nm_state_take(s, c, epoch, now);
	nm_excluded_pass(s, now);
}

/* The last part of the excluded nodes is here: the state that waited goes on,
 * and so do the nodes below. */
static void nm_cast_waited(struct nm_session *s, uint64_t now)
{
	struct nm_excluded *x = &s->excluded;
	struct storm_rx rx = { .buf = x->state.buf, .len = x->state.len };
	struct storm_cast c;

	if (!nm_excluded_take(s, &c))
		return;
	nm_cast_state(s, &c, x->epoch, &rx, now);
	if (x->flags & STORM_HDR_RELAY)
		nm_relay_down(s, rx.buf, rx.len, now);
}

/* False: it is not to be passed on now. */
static bool nm_cast_take(struct nm_session *s, const struct storm_header *h,
			 const struct storm_rx *rx, const uint8_t *body,
			 size_t len, uint64_t now)
{
	struct storm_in in = { body, body + len, false };
	bool here = h->epoch == s->link.epoch;
	struct storm_cast c;

	switch (storm_get8(&in)) {
	case STORM_CAST_STATE:
		if (storm_cast_unpack(&c, in.p, (size_t) (in.end - in.p),
				      s->open->count))
			break;
		if (!nm_excluded_fill(s, &c, h->epoch)) {
			nm_excluded_wait(s, &c, h->epoch, h->flags, rx, now);
			return false;
		}
		nm_cast_state(s, &c, h->epoch, rx, now);
		return true;
	case STORM_CAST_EXCLUDED:
		if (nm_excluded_part(s, &in, h, rx, now))
			nm_cast_waited(s, now);
		return here; /* or it goes with the epoch's tree */
	case STORM_CAST_BEGIN:
		if (s->tree.children && h->op > s->xfer.op)
			nm_said_keep(&s->heard.begin, rx, now);
		nm_xfer_part(s, h->op, &in, now);
		return true;
	case STORM_CAST_ACKED:
		if (s->tree.children && in.p < in.end &&
		    *in.p < STORM_REPORT_KINDS)
			nm_said_keep(&s->heard.ack[*in.p], rx, now);
		nm_report_acked(s, &in);
		return true;
	case STORM_CAST_WELCOME:
		nm_cluster_welcome(s, &in, h->epoch);
		return true;
	}
	s->nm->link_stats.bad_wire++;
	return true;
}

/* ---------------------------------------------------------- from the subtree --- */

/* The child sends in an epoch that is over. */
static void nm_child_missed(struct nm_session *s, uint32_t node, uint64_t now)
{
	if (now >= s->heard.state.at + SAID_AGAIN)
		nm_excluded_send(s, node, now);
	nm_said_resend(s, &s->heard.state, node, now);
}

static void nm_child_status(struct nm_session *s, struct storm_child *c,
			    const uint8_t *body, size_t len, uint64_t now)
{
	const struct storm_status *st = &c->status;
	int heard = storm_child_hear(c, body, len, s->open->count);

	if (heard < 0)
		s->nm->link_stats.bad_wire++;
	if (heard <= 0)
		return;
	if (st->seen) /* both ways */
		nm_known_forget(s, c->node, now);
	/* The child has missed the owner's state or a part of it: retransmit
	 * it, hop by hop, until every child has it. */
	if (st->op < s->xfer.op ||
	    (st->op == s->xfer.op && st->flags & STORM_STATUS_LACKS))
		nm_said_resend(s, &s->heard.begin, c->node, now);
	for (int k = 0;
	     st->flags & STORM_STATUS_UNACKED && k < STORM_REPORT_KINDS; k++)
		nm_said_resend(s, &s->heard.ack[k], c->node, now);
	if (st->seen < s->heard.cast.version)
		nm_said_resend(s, &s->heard.state, c->node, now);
	nm_status_update(s, false, now);
}

static void nm_control_take(struct nm_session *s, const struct storm_header *h,
			    struct storm_rx *rx, uint64_t now)
{
	struct storm_plain p;
	bool owner = h->sender == STORM_NO_NODE, down;
	struct storm_child *c = NULL;

	/* one that is out itself has no tree, and does not know who else is */
	if (!owner && (s->member.out_epoch ||
		       !storm_tree_member(&s->tree.shape, h->sender))) {
		s->nm->link_stats.fenced++;
		return;
	}
	if (owner &&
	    (h->epoch < s->link.epoch || h->epoch < s->member.in_epoch)) {
		s->nm->link_stats.fenced++;
		return;
	}
	/* it comes again, and would be taken for a replay then */
	if (h->type == STORM_MSG_GATHER && h->epoch != s->link.epoch)
		return;
	if (storm_link_open(&s->link, h, true, rx, &p))
		return;
	if (!owner)
		c = nm_child_of(s, h->sender);
	if (c)
		storm_child_alive(c, s->open->dead_timeout, s->open->heartbeat,
				  now);
	switch ((enum storm_msg) h->type) {
	case STORM_MSG_CAST:
		if (!owner)
			break;
		nm_group_heard(s, rx->group, now);
		s->heard.at = now;
		/* first the state, then on: an epoch brings its own tree */
		down = nm_cast_take(s, h, rx, p.body, p.len, now);
		nm_memory_check(s, now);
		/* Pass the end on in any case: a child that was admitted just
		 * now was not in the group yet.  (One that is not admitted
		 * yet finds its stream gone.) */
		if (s->closing)
			s->link.t->ops->drop_streams(s->link.t,
						     s->link.session);
		if ((h->flags & STORM_HDR_RELAY && down) || s->closing)
			nm_relay_down(s, rx->buf, rx->len, now);
		return;
	case STORM_MSG_STROBE:
		if (!owner || p.len > STORM_STROBE_MAX)
			break;
		if (h->flags & STORM_HDR_RELAY) /* they are waiting, too */
			nm_relay_down(s, rx->buf, rx->len, now);
		nm_strobe_take(s, h->op, rx, p.body, p.len, now);
		return;
	case STORM_MSG_GATHER:
		if (!owner)
			break;
		nm_gather_take(s, h, rx, p.body, p.len, now);
		nm_memory_check(s, now);
		return;
	case STORM_MSG_GATHERED:
		if (c && h->epoch == s->link.epoch)
			nm_gather_part(s, c->node, h->op, p.body, p.len, now);
		nm_memory_check(s, now);
		return;
	case STORM_MSG_GATHER_ACK:
		nm_gather_acked(s, h->sender, h->op);
		return;
	case STORM_MSG_STATUS:
		if (c && h->epoch == s->link.epoch)
			nm_child_status(s, c, p.body, p.len, now);
		else if (c && h->epoch < s->link.epoch)
			nm_child_missed(s, c->node, now);
		nm_memory_check(s, now);
		return; /* a former child: soft state, no harm */
	case STORM_MSG_NACK:
		if (!owner &&
		    storm_tree_above(&s->tree.shape, s->self, h->sender)) {
			/* the host may read back to the room that has the run */
			nm_data_end(s->nm, now);
			nm_give_nacked(s, h, &rx->from, p.body, p.len);
			return;
		}
		break;
	case STORM_MSG_REPORT:
		if (c)
			nm_report_part(s, c, p.body, p.len, now);
		nm_memory_check(s, now);
		return;
	case STORM_MSG_RESULT:
		if (owner)
			nm_request_result(s, h->op, p.body, p.len);
		return;
	case STORM_MSG_REPORT_ACK:
		if (h->sender == s->tree.parent)
			nm_report_hop_acked(s, p.body, p.len);
		return;
	default:
		break;
	}
	s->nm->link_stats.bad_wire++;
}

void storm_nm_datagrams(struct storm_nm *nm, struct storm_rx *rx, size_t n,
			uint64_t now)
{
	struct storm_header h;
	struct nm_session *s = NULL;

	for (size_t i = 0; i < n; i++) {
		if (storm_header_unpack(&h, rx[i].buf, rx[i].len)) {
			nm->link_stats.bad_wire++;
			continue;
		}
		if (!s || s->link.session != h.session)
			s = nm_find(nm, h.session);
		if (!s || s->closing) {
			nm->link_stats.bad_session++;
			continue;
		}
		if (h.sender != STORM_NO_NODE && h.sender >= s->open->count) {
			nm->link_stats.bad_wire++;
			continue;
		}
		if (h.type == STORM_MSG_DATA)
			nm_data_take(s, &h, &rx[i], now);
		else if (h.type == STORM_MSG_PULSE)
			nm_pulse_take(s, &rx[i], now);
		else
			nm_control_take(s, &h, &rx[i], now);
	}
	nm_data_end(nm, now);
}

/* ------------------------------------------------------------------ timers --- */

/* Children send at least twice in a heartbeat.  A node that was stopped for a
 * while, or that does not hear the owner either, must not blame its children
 * for that silence. */
static uint64_t nm_children_check(struct nm_session *s, uint64_t now)
{
	uint64_t due = s->tree.checked_at + s->open->heartbeat;
	bool deaf = now > s->heard.at + s->open->dead_timeout / 2 &&
		    now > s->heard.at + 2 * s->open->heartbeat;
	uint64_t next;

	if (nm_children_cut(s, &next, now))
		nm_status_update(s, false, now);
	for (uint32_t i = 0; i < s->tree.children; i++) {
		struct storm_child *c = &s->tree.child[i];
		uint64_t t;

		if (now > due)
			c->last_heard += now - due;
		if (deaf || c->last_heard > now)
			c->last_heard = now;
		/* At the opening its first message may still be on its way.
		 * Later it was a member when it became our child; if it died
		 * just before, only we can notice. */
		if ((!c->heard && s->link.epoch == s->open->epoch) ||
		    nm_child_gone(s, c->node))
			continue;
		t = storm_child_check(c, s->open->dead_timeout,
				      s->open->heartbeat, now);
		next = storm_min(next, t); /* goes with the next STATUS */
		t = c->last_heard + s->open->dead_timeout;
		if (now < t) {
			next = storm_min(next, t);
		} else if (nm_child_lost(s, c->node, STORM_ELOST, 0)) {
			nm_status_update(s, false, now);
		}
	}
	s->tree.checked_at = now;
	return next;
}

/* Without multicast the owner is heard through those above, and of several
 * that are dead one below another each is found after the one above it. */
static uint64_t nm_owner_silence(const struct nm_session *s)
{
	bool relayed = s->heard.cast.flags & STORM_CAST_CHAIN;
	uint32_t height = storm_min(s->tree.height, s->tree.height_max);

	return (relayed ? height : 1) * s->open->dead_timeout +
	       3 * s->open->heartbeat;
}

/* It looks once in a heartbeat.  What is beyond that it stood, and so did the owner. */
static void nm_forgive_owner(struct nm_session *s, uint64_t now)
{
	uint64_t due = s->tree.checked_at + s->open->heartbeat;

	if (s->nm->stands && now > due)
		s->heard.at = storm_min(now, s->heard.at + (now - due));
}

/* The owner would wait for ever for what cannot go up: it hears that this node is
 * lost. */
static void nm_reports_too_long(struct nm_session *s, uint64_t now)
{
	struct storm_log_source from = storm_log_uid(s->open->uid);
	char step[STORM_STEP_NAME];

	storm_log_from(
		&from, STORM_LOG_ERROR,
		"%s: its reports are too many for a message, it is closed",
		storm_step_name(&step, s->open->job_id, s->open->step_id));
	s->fault = STORM_EBUSY;
	nm_status_update(s, true, now);
	s->closing = true;
}

static uint64_t nm_session_tick(struct nm_session *s, uint64_t now)
{
	uint64_t next;

	if (!storm_reports_fit(&s->report.all)) {
		nm_reports_too_long(s, now);
		return now;
	}
	nm_forgive_owner(s, now);
	next = s->heard.at + nm_owner_silence(s);
	if (now >= next && !s->open->cluster) {
		struct storm_log_source from = storm_log_uid(s->open->uid);
		char step[STORM_STEP_NAME];

		storm_log_from(&from, STORM_LOG_INFO,
			       "%s: its owner is silent, domain closed",
			       storm_step_name(&step, s->open->job_id,
					       s->open->step_id));
		s->closing = true;
		return now;
	}
	if (now >= next) { /* what it knows is kept for the next owner */
		if (!s->member.orphan)
			storm_log(STORM_LOG_INFO,
				  "cluster domain: its owner is silent");
		s->member.orphan = true;
		next = STORM_NEVER;
	}
	next = storm_min(next, nm_cluster_tick(s, now));
	next = storm_min(next, nm_excluded_tick(s, now));
	next = storm_min(next, nm_children_check(s, now));
	next = storm_min(next, nm_repair_tick(s, now));
	next = storm_min(next, nm_request_tick(s, now));
	next = storm_min(next, nm_report_tick(s, now));
	next = storm_min(next, nm_gather_tick(s, now));
	next = storm_min(next, nm_status_tick(s, now));
	next = storm_min(next, nm_pulse_tick(s, now));
	return s->nm->stands ? storm_min(next, now + s->open->heartbeat) : next;
}

uint64_t storm_nm_tick(struct storm_nm *nm, uint64_t now)
{
	uint64_t next = nm_return_tick(nm, now);

	for (struct nm_session *s = nm->sessions; s; s = s->next)
		if (!s->closing)
			next = storm_min(next, nm_session_tick(s, now));
	nm_sessions_end(nm);
	return next;
}

/* -------------------------------------------------------------- the whole --- */

struct storm_nm *storm_nm_create(const struct storm_settings *set,
				 struct storm_transport *t,
				 const struct storm_nm_ops *ops, void *host,
				 int *err)
{
	struct storm_nm *nm = calloc(1, sizeof(*nm));

	*err = STORM_ENOMEM;
	if (!nm)
		return NULL;
	nm->set = *set;
	nm->t = t;
	nm->ops = *ops;
	nm->host = host;
	storm_budget_init(&nm->budget,
			  &(struct storm_limits) {
				  .bytes = set->memory_max,
				  .user_bytes = set->user_memory_max,
				  .sessions = set->sessions_max,
				  .user_sessions = set->user_sessions_max });
	*err = STORM_OK;
	return nm;
}

void storm_nm_stands(struct storm_nm *nm)
{
	nm->stands = true;
}

void storm_nm_destroy(struct storm_nm *nm)
{
	if (!nm)
		return;
	for (struct nm_session *s = nm->sessions; s; s = s->next)
		s->closing = true;
	nm_sessions_end(nm);
	nm_return_end(nm);
	storm_budget_free(&nm->budget);
	while (nm->pending) {
		struct nm_pending *p = nm->pending;

		nm->pending = p->next;
		free(p);
	}
	free(nm);
}

int storm_nm_leave(struct storm_nm *nm, uint64_t session, enum storm_err why,
		   int sys, uint64_t now)
{
	struct nm_session *s = nm_find_host(nm, session);

	if (!s || !s->open->cluster)
		return STORM_ENOENT;
	s->left = true;
	s->fault = why;
	s->fault_sys = sys;
	nm_status_update(s, true, now);
	s->closing = true;
	return STORM_OK;
}

int storm_nm_segment(struct storm_nm *nm, uint32_t segment, void *base,
		     size_t len)
{
	if (segment >= STORM_SEGMENTS)
		return STORM_EINVAL;
	nm->segment[segment] = (struct nm_segment) { base, base ? len : 0 };
	return STORM_OK;
}

void storm_nm_stats(const struct storm_nm *nm, struct storm_nm_stats *out)
{
	*out = nm->stats;
	out->sessions = nm_session_count(nm);
	out->rx_datagrams = nm->link_stats.rx_datagrams;
	out->rx_bytes = nm->link_stats.rx_bytes;
	out->tx_datagrams = nm->link_stats.tx_datagrams;
	out->tx_bytes = nm->link_stats.tx_bytes;
	out->bad_seal = nm->link_stats.bad_seal;
	out->bad_wire = nm->link_stats.bad_wire;
	out->bad_session = nm->link_stats.bad_session;
	out->replayed = nm->link_stats.replayed;
	out->fenced = nm->link_stats.fenced;
}
