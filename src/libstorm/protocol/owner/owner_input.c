/*
 * owner_input.c - what the owner takes from the network: which datagram of
 * which node counts, in which epoch, and which part of the owner it goes to.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "owner_private.h"
#include "src/libstorm/base/idset.h"

#define CAST_AGAIN (5 * STORM_MS) /* a child with an older state missed this */

static void owner_input_status(struct storm_owner *o, struct storm_child *c,
			       const uint8_t *body, size_t len, uint64_t now)
{
	int heard = storm_child_hear(c, body, len, o->conf.count);

	if (heard < 0)
		o->link_stats.bad_wire++;
	if (heard <= 0)
		return;
	if (c->status.flags & STORM_STATUS_UNACKED)
		owner_report_unacked(o, now);
	if (o->phase == OWNER_OPEN && c->status.seen < o->cast.version &&
	    now >= o->send.state_at + CAST_AGAIN)
		owner_cast_again_node(o, c->node);
	if (o->phase == OWNER_OPEN && owner_ask_owes(o, c) &&
	    owner_round_heard(o, c, now))
		owner_ask_adopted(o);
	o->stats.repaired = o->sum.repaired > o->stats.repaired ?
				    o->sum.repaired :
				    o->stats.repaired;
	owner_advance(o, now);
}

/* From a non-member accept only JOIN, and only in the current epoch: an older
 * one may come from a previous incarnation. */
static void owner_input_outsider(struct storm_owner *o,
				 const struct storm_header *h,
				 const struct storm_rx *rx, uint64_t now)
{
	struct storm_plain p;
	struct storm_status st;

	if (!owner_is_cluster(o) || h->type != STORM_MSG_STATUS) {
		o->link_stats.fenced++;
		return;
	}
	if (storm_link_open(&o->link, h, false, rx, &p))
		return;
	if (storm_status_unpack(&st, p.body, p.len, o->conf.count)) {
		o->link_stats.bad_wire++;
		return;
	}
	if (st.flags & STORM_STATUS_JOIN && h->epoch == o->link.epoch) {
		storm_idset_add(&o->members.joining, h->sender, h->sender);
		o->members.joining_deaf |= !(st.flags & STORM_STATUS_MCAST);
	} else {
		owner_cast_again_node(o, h->sender);
	}
	storm_status_free(&st);
	owner_advance_operations(o, now);
}

/* A member sends in an epoch that is over: it has missed that there is another,
 * and perhaps that it is in. */
static void owner_input_old_epoch(struct storm_owner *o, uint32_t node,
				  const uint8_t *body, size_t len)
{
	struct storm_status st;

	if (storm_status_unpack(&st, body, len, o->conf.count)) {
		o->link_stats.bad_wire++;
		return;
	}
	if (st.flags & STORM_STATUS_JOIN)
		owner_welcome(o, node);
	owner_cast_again_node(o, node);
	storm_status_free(&st);
}

static void owner_input_member(struct storm_owner *o,
			       const struct storm_header *h,
			       const struct storm_rx *rx, uint64_t now)
{
	struct storm_plain p;
	struct storm_child *c;

	if (storm_link_open(&o->link, h, true, rx, &p))
		return;
	c = storm_child_find(o->child, o->children, h->sender);
	if (!c && h->type == STORM_MSG_STATUS)
		c = owner_round_find(o, h->sender);
	if (c)
		storm_child_alive(c, o->conf.set.dead_timeout,
				  o->conf.set.heartbeat, now);
	if (h->type == STORM_MSG_STATUS && h->epoch < o->link.epoch)
		owner_input_old_epoch(o, h->sender, p.body, p.len);
	if (h->type == STORM_MSG_NACK)
		owner_repair_nacked(o, h, p.body, p.len, now);
	else if (c && h->type == STORM_MSG_STATUS && h->epoch == o->link.epoch)
		owner_input_status(o, c, p.body, p.len, now);
	else if (h->type == STORM_MSG_REQUEST &&
		 owner_request(o, h->sender, h->op, p.body, p.len))
		owner_advance_operations(o, now);
	else if (h->type == STORM_MSG_GATHERED && h->epoch == o->link.epoch)
		owner_gather_part(o, h->sender, h->op, p.body, p.len, now);
	else if (c && h->type == STORM_MSG_REPORT)
		owner_report_part(o, c, p.body, p.len, now);
}

static void owner_input_datagram(struct storm_owner *o, struct storm_rx *rx,
				 uint64_t now)
{
	uint32_t epoch = o->link.epoch;
	struct storm_header h;

	if (storm_header_unpack(&h, rx->buf, rx->len) ||
	    h.sender >= o->conf.count || h.type == STORM_MSG_DATA ||
	    h.type == STORM_MSG_CAST || h.type == STORM_MSG_REPORT_ACK ||
	    h.type == STORM_MSG_RESULT || h.type == STORM_MSG_STROBE ||
	    h.type == STORM_MSG_GATHER || h.type == STORM_MSG_GATHER_ACK) {
		o->link_stats.bad_wire++;
		return;
	}
	if (h.session != o->link.session) {
		o->link_stats.bad_session++;
		return;
	}
	if (h.type == STORM_MSG_PULSE) {
		owner_pulse_take(o, &h, rx->buf, rx->len, now);
		return;
	}
	if (owner_newborn(o, &h, rx, now)) {
		if (o->link.epoch != epoch) /* operations may wait for it */
			owner_advance(o, now);
		return;
	}
	if (storm_tree_member(&o->tree, h.sender))
		owner_input_member(o, &h, rx, now);
	else
		owner_input_outsider(o, &h, rx, now);
}

void storm_owner_datagrams(struct storm_owner *o, struct storm_rx *rx, size_t n,
			   uint64_t now)
{
	for (size_t i = 0; i < n; i++)
		if (o->phase > OWNER_NEW && o->phase < OWNER_FAILED)
			owner_input_datagram(o, &rx[i], now);
}

void storm_owner_stream_failed(struct storm_owner *o, uint64_t session,
			       uint32_t node, enum storm_err why, int sys,
			       uint64_t now)
{
	struct storm_child *c = storm_child_find(o->child, o->children, node);

	if (session == o->link.session && why == STORM_ESUPERSEDED &&
	    owner_is_cluster(o) && o->phase > OWNER_NEW &&
	    o->phase < OWNER_FAILED) {
		owner_superseded(o, now);
		return;
	}
	/* why it does not come back, which may be another reason than before */
	if (session == o->link.session && owner_is_cluster(o) &&
	    o->phase == OWNER_OPEN && o->ops.fault && node < o->conf.count &&
	    !storm_tree_member(&o->tree, node)) {
		const struct storm_fault f = { node, why, sys };

		o->ops.fault(o->arg, &f);
		return;
	}
	/* heard from: it has taken the OPEN, whatever came of the stream */
	if (session != o->link.session || o->phase != OWNER_OPENING || !c ||
	    c->heard)
		return;
	if (why == STORM_EACCES)
		sys = storm_child_disbelieves(&o->tree, node, sys);
	storm_faults_add(&o->faults, node, why, sys);
	/* acted on by the tick: the others' failures come along */
}
