/*
 * owner.c - the life of a domain's owner: it opens, takes what comes in, keeps
 * its timers, and closes.  It calls the parts; no part calls it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdlib.h>

#include "idset.h"
#include "owner_private.h"

#define PROBE_EVERY (12 * STORM_MS)
#define SUPER_PACKET 65280		/* one send, cut up by the kernel or the card */
#define STATE_EVERY (50 * STORM_MS)	/* while data flow */
#define SAID_AGAIN (5 * STORM_MS)	/* a child that old news has missed it */

/* ------------------------------------------------------------------ opening --- */

void owner_open_failed(struct storm_owner *o)
{
	struct storm_outcome out;

	o->phase = OWNER_FAILED;
	storm_faults_outcome(&o->faults, STORM_ABORTED, &out);
	o->ops.opened(o->arg, &out);
	owner_xfer_end_all(o);
}

static void opened(struct storm_owner *o, uint64_t now)
{
	struct storm_outcome out = { .state = STORM_DONE };

	o->phase = OWNER_OPEN;
	o->phase_at = now;
	o->tl.opened = now;
	o->stats.multicast = o->multicast;
	o->ops.opened(o->arg, &out);
	if (owner_is_cluster(o))
		owner_xfer_inherit(o, now);
	owner_xfer_advance(o, now);
}

static void all_answered(struct storm_owner *o, uint64_t now)
{
	uint32_t seg = o->sum.mtu;

	owner_ask_answered(o, now);
	o->chunk = seg - STORM_HEADER_LEN - STORM_DATA_HEADER_LEN -
		   STORM_TAG_LEN;
	o->batch = SUPER_PACKET / seg < STORM_BATCH ? SUPER_PACKET / seg :
							   STORM_BATCH;
	o->phase_at = now;
	if (o->conf.set.multicast && !(o->sum.flags & STORM_STATUS_MCAST)) {
		o->phase = OWNER_PROBING;
		owner_cast_state(o, 0);
		o->ask_at = now + PROBE_EVERY;
		return;
	}
	o->multicast = o->conf.set.multicast && o->tree.members;
	opened(o, now);
}

/* An answer came in, or a member went: what follows? */
static void advance(struct storm_owner *o, uint64_t now)
{
	owner_ask_sum(o);
	if (o->phase == OWNER_OPENING) {
		for (uint32_t i = 0; i < o->sum.nfaults; i++)
			if (storm_fault_of_session(o->sum.faults[i].why) &&
			    storm_tree_member(&o->tree,
					      o->sum.faults[i].node))
				storm_faults_add(&o->faults, o->sum.faults[i].node,
					  o->sum.faults[i].why,
					  o->sum.faults[i].sys);
		if (owner_is_cluster(o))
			owner_opening(o, now);
		else if (o->faults.count)
			owner_open_failed(o);
		if (o->phase == OWNER_OPENING && !o->sum.behind.count &&
		    !o->faults.count)
			all_answered(o, now);
		return;
	}
	if (o->phase == OWNER_PROBING &&
	    o->sum.flags & STORM_STATUS_MCAST) {
		o->multicast = true;
		opened(o, now);
	}
	if (o->phase != OWNER_OPEN)
		return;
	if (o->sum.fresh.count)		/* it came back before it was missed */
		owner_exclude_fresh(o, now);
	for (uint32_t i = 0; i < o->sum.nfaults; i++) {
		struct storm_fault f = o->sum.faults[i];

		if (storm_fault_of_session(f.why) &&
		    storm_tree_member(&o->tree, f.node)) {
			owner_exclude_one(o, f.node, f.why, f.sys, now);
			/* the sum is a new one, unless memory is short */
			if (!storm_tree_member(&o->tree, f.node))
				i = UINT32_MAX;
		}
	}
	owner_overdue(o, now);
	owner_compare_advance(o, now);
	owner_xfer_advance(o, now);
}

/* ------------------------------------------------------------------- input --- */

static void child_status(struct storm_owner *o, struct storm_child *c,
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
	    now >= o->said_at + SAID_AGAIN)
		owner_cast_again_node(o, c->node);
	if (o->phase == OWNER_OPEN && owner_ask_owes(o, c) &&
	    owner_round_heard(o, c, now))
		owner_ask_adopted(o);
	o->stats.repaired = o->sum.repaired > o->stats.repaired ?
			    o->sum.repaired : o->stats.repaired;
	advance(o, now);
}

/* Of who is no member only one thing is heard, and only in the epoch that he is
 * outside of now: then it is no message of a life before. */
static void outsider(struct storm_owner *o, const struct storm_header *h,
		     const struct storm_rx *rx, uint64_t now)
{
	struct storm_plain p;
	struct storm_status st;

	if (!owner_is_cluster(o) || h->type != STORM_MSG_STATUS) {
		o->link_stats.fenced++;
		return;
	}
	p.ahead = NULL;
	if (storm_link_open(&o->link, h, false, rx, &p))
		return;
	if (storm_status_unpack(&st, p.body, p.len, o->conf.count)) {
		o->link_stats.bad_wire++;
		return;
	}
	if (st.flags & STORM_STATUS_JOIN && h->epoch == o->link.epoch) {
		storm_idset_add(&o->joining, h->sender, h->sender);
		o->joining_deaf |= !(st.flags & STORM_STATUS_MCAST);
	} else {
		owner_cast_again_node(o, h->sender);
	}
	storm_status_free(&st);
	owner_xfer_advance(o, now);
}

/* A member speaks in an epoch that is over: it has missed that there is another,
 * and perhaps that it is in. */
static void behind_the_times(struct storm_owner *o, uint32_t node,
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

static void datagram(struct storm_owner *o, struct storm_rx *rx, uint64_t now)
{
	uint32_t epoch = o->link.epoch;
	struct storm_plain p;
	struct storm_child *c;
	struct storm_header h;

	if (storm_header_unpack(&h, rx->buf, rx->len) ||
	    h.sender >= o->conf.count || h.type == STORM_MSG_DATA ||
	    h.type == STORM_MSG_CAST || h.type == STORM_MSG_REPORT_ACK ||
	    h.type == STORM_MSG_RESULT || h.type == STORM_MSG_STROBE) {
		o->link_stats.bad_wire++;
		return;
	}
	if (h.session != o->link.session) {
		o->link_stats.bad_session++;
		return;
	}
	if (owner_newborn(o, &h, rx, now)) {
		if (o->link.epoch != epoch)	/* whoever waits for it */
			advance(o, now);
		return;
	}
	if (!storm_tree_member(&o->tree, h.sender)) {
		outsider(o, &h, rx, now);
		return;
	}
	p.ahead = NULL;
	if (storm_link_open(&o->link, &h, true, rx, &p))
		return;
	c = storm_child_find(o->child, o->children, h.sender);
	if (!c && h.type == STORM_MSG_STATUS)
		c = owner_round_find(o, h.sender);
	if (c)
		storm_child_alive(c, o->conf.set.dead_timeout,
				  o->conf.set.heartbeat, now);
	if (h.type == STORM_MSG_STATUS && h.epoch < o->link.epoch &&
	    owner_is_cluster(o))
		behind_the_times(o, h.sender, p.body, p.len);
	if (h.type == STORM_MSG_NACK)
		owner_xfer_nacked(o, &h, p.body, p.len, now);
	else if (c && h.type == STORM_MSG_STATUS && h.epoch == o->link.epoch)
		child_status(o, c, p.body, p.len, now);
	else if (h.type == STORM_MSG_REQUEST)
		owner_request(o, h.sender, h.op, p.body, p.len, now);
	else if (c && h.type == STORM_MSG_REPORT)
		owner_report_part(o, c, p.body, p.len, now);
}

void storm_owner_datagrams(struct storm_owner *o, struct storm_rx *rx,
			   size_t n, uint64_t now)
{
	for (size_t i = 0; i < n; i++)
		if (o->phase > OWNER_NEW && o->phase < OWNER_FAILED)
			datagram(o, &rx[i], now);
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
	/* heard from: it has taken the OPEN, whatever came of the stream */
	if (session != o->link.session || o->phase != OWNER_OPENING || !c ||
	    c->heard)
		return;
	storm_faults_add(&o->faults, node, why, sys);
	/* told from the tick: the others' failures come along */
}

/* ------------------------------------------------------------------ timers --- */

/* Children that were heard and are silent since: it is they who are missing, and
 * not those below, of whom nobody tells any more. */
static void blame_silent(struct storm_owner *o, struct storm_idset *late,
			 uint64_t now)
{
	for (uint32_t i = 0; i < o->children; i++) {
		const struct storm_child *c = &o->child[i];
		struct storm_idset below = { 0 }, rest = { 0 };

		if (!c->heard ||
		    now < c->last_heard + o->conf.set.open_timeout / 2)
			continue;
		storm_faults_add(&o->faults, c->node, STORM_ELOST, 0);
		if (!storm_tree_subtree(&o->tree, c->node, &below) &&
		    !storm_idset_minus(late, &below, &rest)) {
			storm_idset_clear(late);
			*late = rest;
		} else {
			storm_idset_clear(&rest);
		}
		storm_idset_clear(&below);
	}
}

/* The cluster's domain goes on without them: first without those that have
 * nobody late above them, for the others may just not have been reached. */
static void keep_topmost(const struct storm_owner *o, struct storm_idset *late)
{
	struct storm_idset top = { 0 };

	for (uint32_t i = 0; i < late->count; i++)
		for (uint32_t n = late->r[i].first; n <= late->r[i].last; n++)
			if (!storm_idset_has(late,
					     storm_tree_parent(&o->tree, n)) &&
			    storm_idset_add(&top, n, n)) {
				storm_idset_clear(&top);
				return;
			}
	storm_idset_clear(late);
	*late = top;
}

static void open_late(struct storm_owner *o, uint64_t now)
{
	struct storm_idset late = { 0 };

	if (storm_idset_union(&late, &o->sum.behind))
		return;		/* no memory: at the next tick */
	blame_silent(o, &late, now);
	if (owner_is_cluster(o))
		keep_topmost(o, &late);
	owner_blame_late(&late, &o->faults);
	storm_idset_clear(&late);
	if (owner_is_cluster(o))
		owner_opening(o, now);
	else
		owner_open_failed(o);
}

static uint64_t min64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void silent_children(struct storm_owner *o, uint64_t now)
{
	uint64_t due = o->ticked + o->conf.set.heartbeat;

	/* While we were stopped (ctrl-Z), or had to wait for a processor, it
	 * is we who were silent. */
	for (uint32_t i = 0; now > due && i < o->children; i++)
		o->child[i].last_heard =
			min64(now, o->child[i].last_heard + now - due);
	for (uint32_t i = 0; i < o->children; i++) {
		if (now < o->child[i].last_heard + o->conf.set.dead_timeout)
			continue;
		owner_exclude_one(o, o->child[i].node, STORM_ELOST, 0, now);
		advance(o, now);
		return;		/* the others at the next tick */
	}
}

uint64_t storm_owner_tick(struct storm_owner *o, uint64_t now)
{
	uint64_t next = STORM_NEVER, t;

	if (o->phase == OWNER_OPENING) {
		if (o->faults.count)
			advance(o, now);
		t = o->phase_at + o->conf.set.open_timeout;
		if (o->phase == OWNER_OPENING && now >= t) {
			open_late(o, now);
			advance(o, now);
			t = o->phase_at + o->conf.set.open_timeout;
		}
		if (o->phase != OWNER_OPENING)
			return o->phase == OWNER_FAILED ? STORM_NEVER : now;
		if (now >= o->ask_at)
			owner_ask_late(o, now);
		o->ticked = now;
		return min64(t, o->ask_at);
	}
	if (o->phase == OWNER_PROBING) {
		t = o->phase_at + o->conf.set.multicast_timeout;
		if (now >= t) {
			storm_log(STORM_LOG_INFO, "multicast does not reach all nodes: data go along the chain");
			opened(o, now);
		} else if (now >= o->ask_at) {
			owner_ask_late(o, now);
			o->ask_at = now + PROBE_EVERY;
		}
		o->ticked = now;
		if (o->phase == OWNER_PROBING)
			return min64(t, o->ask_at);
	}
	if (o->phase != OWNER_OPEN)
		return STORM_NEVER;
	silent_children(o, now);
	o->ticked = now;
	if (o->phase != OWNER_OPEN)
		return STORM_NEVER;
	if (!o->tree.members && !owner_is_cluster(o)) {
		owner_xfer_end_all(o);
		owner_compare_end_all(o);
		return STORM_NEVER;
	}
	next = owner_overdue(o, now);
	next = min64(next, owner_xfer_tick(o, now));
	next = min64(next, owner_compare_tick(o, now));
	if (o->cmp || o->xfer) {
		bool busy = o->xfer && o->xfer->state == XFER_SENDING &&
			    now < o->xfer->moved_at + STATE_EVERY;

		if (now >= o->ask_at) {
			if (busy) {	/* tell how far it is, no more */
				owner_cast_state(o, 0);
				o->ask_at = now + STATE_EVERY;
			} else {
				owner_xfer_ask(o);
				owner_ask_late(o, now);
			}
		}
		next = min64(next, o->ask_at);
	}
	next = min64(next, owner_report_tick(o, now));
	next = min64(next, owner_invite_returned(o, now));
	if (now >= o->beat_at) {
		owner_cast_state(o, 0);
		o->beat_at = now + o->conf.set.heartbeat;
		if (owner_is_cluster(o)) {
			owner_try_multicast(o);
			owner_invite_some(o, now);
		}
	}
	return min64(next, o->beat_at);
}

/* --------------------------------------------------------------- operations --- */

int storm_owner_nodes(const struct storm_owner *o, const struct storm_idset *P,
		      struct storm_idset *out)
{
	return P ? owner_set_copy(o, P, out) :
		   storm_tree_subtree(&o->tree, STORM_NO_NODE, out);
}

int storm_owner_open(struct storm_owner *o, uint64_t now)
{
	struct storm_open *op = o->open;
	int err;

	if (o->phase != OWNER_NEW)
		return STORM_EINVAL;
	if (owner_is_cluster(o)) {
		o->heir = calloc(1, sizeof(*o->heir));
		if (!o->heir)
			return STORM_ENOMEM;
	} else if (o->xfer) {
		o->xfer->begin.op = ++o->ops_made;
		op->has_begin = true;
		op->begin = o->xfer->begin;	/* shares path and set */
	}
	err = storm_open_seal(op, o->conf.agent_uid);
	if (err)
		return err;
	{
		uint8_t inc[STORM_INCARNATION_LEN];

		err = storm_random(inc, sizeof(inc));
		if (!err)
			err = storm_link_init(&o->link, o->t, &o->link_stats,
					      op->key, op->session,
					      STORM_NO_NODE, inc);
		if (err)
			return err;
		if (op->multicast)
			storm_link_group(&o->link, &op->group);
	}
	err = storm_children_update(&o->child, &o->children, &o->tree,
				    STORM_NO_NODE, now);
	if (err)
		return err;
	err = owner_begin_epoch(o);
	if (err)
		return err;
	o->phase = OWNER_OPENING;
	o->phase_at = o->tl.open_sent = o->ticked = now;
	o->beat_at = now + o->conf.set.heartbeat;
	owner_open_children(o);
	owner_ask_sum(o);
	owner_ask_soon(o, now);
	return STORM_OK;
}

void storm_owner_close(struct storm_owner *o, uint64_t now)
{
	(void) now;
	/* nodes of the cluster domain wait for the next owner */
	if (o->phase > OWNER_NEW && o->phase < OWNER_CLOSED &&
	    o->link.session && !owner_is_cluster(o)) {
		if (o->xfer && !o->xfer->decision &&
		    o->xfer->state != XFER_QUEUED)
			o->cast.decision = STORM_ABORT;
		/* who has not let us in yet finds its stream gone ... */
		o->t->ops->drop_streams(o->t, o->link.session);
		owner_cast_state(o, STORM_CAST_CLOSING);
		owner_cast_state_relay(o, STORM_CAST_CLOSING, NULL);
		/* ... and a node that misses both its owner silent */
	}
	o->phase = OWNER_CLOSED;
	owner_xfer_end_all(o);
	owner_compare_end_all(o);
}

static struct storm_node *nodes_copy(const struct storm_node *from,
				     uint32_t count)
{
	struct storm_node *n = calloc(count, sizeof(*n));

	for (uint32_t i = 0; n && i < count; i++) {
		n[i].addr = from[i].addr;
		n[i].name = strdup(from[i].name);
		if (!n[i].name) {
			while (i--)
				free((char *) n[i].name);
			free(n);
			return NULL;
		}
	}
	return n;
}

static void add_to_address(struct storm_addr *a, unsigned int n)
{
	for (int i = STORM_ADDR_LEN - 1; n && i >= 0; i--) {
		n += a->ip[i];
		a->ip[i] = (uint8_t) n;
		n >>= 8;
	}
}

struct storm_owner *storm_owner_create(const struct storm_domain_conf *conf,
				       struct storm_transport *t,
				       const struct storm_addr *self,
				       const struct storm_owner_ops *ops,
				       void *arg, int *err)
{
	struct storm_owner *o = NULL;
	struct storm_open *op;
	size_t mtu = t->ops->mtu(t);
	size_t room = t->ops->room ? t->ops->room(t) : SIZE_MAX;
	uint8_t pick[4];

	*err = STORM_EINVAL;
	if (!conf->count || conf->count > STORM_NODES_MAX ||
	    conf->set.radix < 2 || conf->set.radix > 64 ||
	    !conf->set.groups || conf->set.groups > 64)
		return NULL;
	if (conf->set.dead_timeout < 2 * conf->set.heartbeat) {
		storm_log(STORM_LOG_ERROR, "dead_timeout (%lu ms) must be at least twice heartbeat (%lu ms), or a single lost datagram looks like death",
			  (unsigned long) (conf->set.dead_timeout / STORM_MS),
			  (unsigned long) (conf->set.heartbeat / STORM_MS));
		return NULL;
	}
	*err = STORM_ENOMEM;
	o = calloc(1, sizeof(*o));
	op = calloc(1, sizeof(*op));
	if (!o || !op)
		goto fail;
	o->open = op;
	o->conf = *conf;
	o->t = t;
	o->ops = *ops;
	o->arg = arg;
	o->xfer_tail = &o->xfer;
	o->cmp_tail = &o->cmp;
	o->acks_at = STORM_NEVER;
	o->rate = (double) conf->set.rate;
	op->job_id = conf->job_id;
	op->step_id = conf->step_id;
	op->step_het = conf->step_het;
	op->owner = *self;
	op->multicast = conf->set.multicast;
	op->radix = conf->set.radix;
	op->mtu = (uint32_t) (mtu < STORM_DATAGRAM_MAX ? mtu :
							STORM_DATAGRAM_MAX);
	op->window = conf->set.window < room ? conf->set.window :
		     room < STORM_WINDOW_MIN ? STORM_WINDOW_MIN : room;
	op->dead_timeout = conf->set.dead_timeout;
	op->op_timeout = conf->set.op_timeout;
	op->heartbeat = conf->set.heartbeat;
	op->cluster = conf->cluster;
	op->founding = conf->cluster && !conf->epoch;
	op->epoch = conf->cluster ? owner_first_epoch(conf->epoch) : 1;
	/* any group of the pool: strangers on it cost a look at the header */
	op->group = conf->set.group;
	op->group.port = conf->set.port;
	if (storm_random(pick, sizeof(pick)) ||
	    storm_random(op->nonce, sizeof(op->nonce)))
		goto fail;
	add_to_address(&op->group, pick[0] % conf->set.groups);
	if (conf->authority_len) {
		op->authority = malloc(conf->authority_len);
		if (!op->authority)
			goto fail;
		memcpy(op->authority, conf->authority, conf->authority_len);
		op->authority_len = conf->authority_len;
	}
	op->nodes = nodes_copy(conf->nodes, conf->count);
	if (!op->nodes)
		goto fail;
	op->count = conf->count;
	o->conf.nodes = op->nodes;
	o->conf.authority = op->authority;
	storm_tree_init(&o->tree, conf->count, conf->set.radix);
	if (conf->excluded &&
	    (storm_idset_union(&o->cast.excluded, conf->excluded) ||
	     storm_idset_union(&op->excluded, conf->excluded) ||
	     storm_tree_exclude(&o->tree, &o->cast.excluded)))
		goto no_set;
	o->conf.excluded = NULL;
	*err = STORM_OK;
	return o;
no_set:
	storm_idset_clear(&o->cast.excluded);
fail:
	if (o)
		o->open = NULL;
	storm_open_free(op);
	free(o);
	return NULL;
}

void storm_owner_destroy(struct storm_owner *o)
{
	if (!o)
		return;
	owner_xfer_end_all(o);
	owner_compare_end_all(o);
	owner_request_end_all(o);
	storm_children_free(o->child, o->children);
	storm_status_free(&o->sum);
	storm_reports_clear(&o->reports);
	storm_cast_free(&o->cast);
	storm_idset_clear(&o->joining);
	storm_idset_clear(&o->returned);
	storm_idset_clear(&o->answered);
	storm_idset_clear(&o->overdue);
	owner_round_end(o);
	free(o->heir);
	free(o->faults.f);
	storm_tree_free(&o->tree);
	storm_link_free(&o->link);
	memset(&o->open->begin, 0, sizeof(o->open->begin));	/* shared */
	storm_open_free(o->open);
	free(o);
}

void storm_owner_timeline(const struct storm_owner *o,
			  struct storm_timeline *out)
{
	*out = o->tl;
}

void storm_owner_stats(const struct storm_owner *o, struct storm_stats *out)
{
	*out = o->stats;
	out->tx_datagrams = o->link_stats.tx_datagrams;
	out->tx_bytes = o->link_stats.tx_bytes;
	out->rx_datagrams = o->link_stats.rx_datagrams;
	out->rx_bytes = o->link_stats.rx_bytes;
	out->bad_seal = o->link_stats.bad_seal;
	out->bad_wire = o->link_stats.bad_wire;
	out->bad_session = o->link_stats.bad_session;
	out->replayed = o->link_stats.replayed;
	out->fenced = o->link_stats.fenced;
	out->epoch = o->link.epoch;
}
