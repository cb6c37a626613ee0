/*
 * owner.c - the life of a domain's owner: it opens, goes on with what answers and
 * timers allow, and closes.  It calls the parts; no part calls it.
 *
 * owner_input.c	what comes in from the network
 * owner.c		life, timers, operations one after the other
 * owner_open.c		the OPEN and its answers
 * owner_member.c	epochs: which nodes are excluded, and which join
 * owner_overdue.c	which members are slow
 * owner_compare.c	comparisons
 * owner_request.c	operations that nodes ask for
 * owner_xfer.c		the operation under way, and those that wait for it
 * owner_each.c		those of its nodes that it leaves out
 * owner_repair.c	DATA of it that were lost
 * owner_data.c		DATA of it: window and pace
 * owner_window.c	the nodes that the window waits for
 * owner_report.c	reports of termination, and their acknowledgement
 * owner_ask.c		what is asked of all nodes, and the sum of their answers
 * owner_cast.c		what is sent to all nodes
 * owner_round.c		nodes below silent ones
 *
 * Calls go down this list.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdlib.h>

#include "owner_private.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

#define STATE_EVERY (50 * STORM_MS) /* while data flow */

/* --------------------------------------------------------------- operations --- */

void owner_advance_operations(struct storm_owner *o, uint64_t now)
{
	while (o->phase == OWNER_OPEN && owner_xfer_advance(o, now)) {
		owner_admit(o, now);
		if (o->phase != OWNER_OPEN || !owner_xfer_begin(o, now))
			return;
	}
}

int storm_owner_xfer(struct storm_owner *o, const struct storm_idset *P,
		     const struct storm_target *to, const void *buf,
		     uint64_t len, void *token, uint64_t now)
{
	struct storm_bytes from = { .buf = buf };

	return storm_owner_xfer_from(o, P, to, &from, len, token, now);
}

int storm_owner_xfer_from(struct storm_owner *o, const struct storm_idset *P,
			  const struct storm_target *to,
			  const struct storm_bytes *from, uint64_t len,
			  void *token, uint64_t now)
{
	int err = owner_xfer_queue_target(o, P, to, from, len, token);

	if (!err)
		owner_advance_operations(o, now);
	return err;
}

int storm_owner_compare(struct storm_owner *o, const struct storm_idset *P,
			uint32_t var, enum storm_relation rel, uint64_t value,
			const struct storm_assign *write, void *token,
			uint64_t now)
{
	int err = owner_compare_queue(o, P, var, rel, value, write, token);

	if (err)
		return err;
	if (owner_compare_ordered(var, write))
		owner_advance_operations(o, now);
	else
		owner_compare_advance(o, now);
	return STORM_OK;
}

int storm_owner_compare_within(struct storm_owner *o,
			       const struct storm_idset *P, uint32_t var,
			       enum storm_relation rel, uint64_t value,
			       uint64_t limit, void *token, uint64_t now)
{
	int err =
		owner_compare_queue_within(o, P, var, rel, value, limit, token);

	if (!err)
		owner_compare_advance(o, now);
	return err;
}

int storm_owner_cut(struct storm_owner *o, const struct storm_idset *nodes,
		    bool relays, uint64_t now)
{
	struct storm_idset cut = { 0 };
	int err = STORM_ECLOSED;

	if (o->phase == OWNER_OPEN && owner_is_cluster(o))
		err = owner_cut_nodes(o, nodes, relays, &cut);
	if (!err && !cut.count)
		err = STORM_ENOENT;
	if (!err)
		err = owner_exclude(o, &cut, STORM_ELOST, ENOLINK, now);
	if (!err)
		owner_advance(o, now);
	storm_idset_clear(&cut);
	return err;
}

int storm_owner_nodes(const struct storm_owner *o, const struct storm_idset *P,
		      struct storm_idset *out)
{
	return P ? owner_set_copy(o, P, out) :
		   storm_tree_subtree(&o->tree, STORM_NO_NODE, out);
}

/* ------------------------------------------------------------------ answers --- */

void owner_advance(struct storm_owner *o, uint64_t now)
{
	bool opening = o->phase == OWNER_OPENING;

	owner_ask_sum(o);
	if (owner_open_advance(o, now))
		owner_advance_operations(o, now);
	if (opening || o->phase != OWNER_OPEN)
		return;
	/* nodes that died and are there again, before they were missed */
	if (o->sum.fresh.count)
		owner_exclude_fresh(o, now);
	owner_exclude_lost(o, now);
	owner_overdue(o, now);
	owner_compare_advance(o, now);
	owner_advance_operations(o, now);
}

/* ------------------------------------------------------------------- timers --- */

/* An operation is decided, and nodes do not show it in time: they are no
 * members any more, or what comes next would come to them before this. */
static void owner_exclude_late(struct storm_owner *o, uint64_t now)
{
	struct storm_idset late = { 0 };

	if (!storm_idset_union(&late, &o->sum.behind) && late.count)
		owner_exclude(o, &late, STORM_ETIME, 0, now);
	storm_idset_clear(&late);
}

static uint64_t owner_tick_xfer(struct storm_owner *o, uint64_t now)
{
	struct owner_xfer *x = o->operations.first;
	uint64_t next, repair, window = STORM_NEVER;

	if (!x || o->phase != OWNER_OPEN)
		return STORM_NEVER;
	repair = owner_repair_tick(o, now);
	if (owner_xfer_send(o, &next, now))
		owner_advance_operations(o, now);
	next = storm_min(next, repair);
	if (o->operations.first == x && owner_window_tick(o, &window, now)) {
		owner_data_recover(o);
		owner_advance_operations(o, now);
	}
	next = storm_min(next, window);
	if (o->operations.first == x && owner_xfer_late(o, now)) {
		owner_exclude_late(o, now);
		if (o->operations.first == x)
			x->moved_at = now;
		owner_advance_operations(o, now);
	}
	if (o->operations.first == x && now >= owner_each_due(o))
		owner_advance_operations(o, now);
	if (o->operations.first == x)
		next = storm_min(next, owner_each_due(o));
	return o->operations.first != x ?
		       now :
		       storm_min(next, x->moved_at + o->conf.set.op_timeout);
}

/* While data flow, the state has how far they are, and answers come unasked.  As long
 * as more nodes answer the others are busy, too, and to be asked keeps all of them
 * busy.  Where datagrams are lost it may be the question that was. */
static uint64_t owner_tick_ask(struct storm_owner *o, uint64_t now)
{
	const struct owner_xfer *x = o->operations.first;

	if (!o->comparisons.first && !x)
		return STORM_NEVER;
	if (now >= o->send.again_at) {
		o->send.again_at = STORM_NEVER;
		owner_cast_state(o, 0);
	}
	if (now < o->ask.at)
		return storm_min(o->ask.at, o->send.again_at);
	if (x && x->state == XFER_SENDING && now < x->moved_at + STATE_EVERY) {
		owner_cast_state(o, 0);
		o->ask.at = now + STATE_EVERY;
	} else if (x && !o->send.lossy && now < x->moved_at + o->ask.every) {
		o->ask.at = x->moved_at + o->ask.every;
	} else {
		owner_xfer_ask(o);
		owner_ask_late(o, now);
	}
	return o->ask.at;
}

static uint64_t owner_tick_beat(struct storm_owner *o, uint64_t now)
{
	if (now < o->beat_at)
		return o->beat_at;
	owner_cast_state_whole(o);
	o->beat_at = now + o->conf.set.heartbeat;
	if (owner_is_cluster(o)) {
		owner_try_multicast(o, now);
		owner_invite_some(o, now);
	}
	return o->beat_at;
}

static uint64_t owner_tick_open(struct storm_owner *o, uint64_t now)
{
	uint64_t next, cut;
	bool out = owner_exclude_silent(o, now) || owner_exclude_lost(o, now);

	if (owner_exclude_cut(o, &cut, now) || out)
		owner_advance(o, now);
	o->ticked = now;
	if (o->phase != OWNER_OPEN)
		return STORM_NEVER;
	if (!o->tree.members && !owner_is_cluster(o)) {
		owner_xfer_end_all(o);
		owner_compare_end_all(o);
		owner_gather_end_all(o);
		return STORM_NEVER;
	}
	next = storm_min(cut, owner_overdue(o, now));
	if (!o->pulse.elsewhere)
		next = storm_min(next, owner_pulse_tick(o, now));
	next = storm_min(next, owner_announce_again(o, now));
	if (now < o->members.lost_at) /* more may be lost meanwhile */
		next = storm_min(next, o->members.lost_at);
	next = storm_min(next, owner_tick_xfer(o, now));
	next = storm_min(next, owner_compare_tick(o, now));
	next = storm_min(next, owner_gather_tick(o, now));
	next = storm_min(next, owner_tick_ask(o, now));
	next = storm_min(next, owner_report_tick(o, now));
	next = storm_min(next, owner_invite_returned(o, now));
	return storm_min(next, owner_tick_beat(o, now));
}

uint64_t storm_owner_tick(struct storm_owner *o, uint64_t now)
{
	enum owner_phase was = o->phase;
	uint64_t next = owner_open_tick(o, now);

	if (was == OWNER_OPENING || was == OWNER_PROBING) {
		if (o->phase == OWNER_OPEN)
			owner_advance_operations(o, now);
		if (was == OWNER_OPENING && o->phase != was)
			return o->phase == OWNER_FAILED ? STORM_NEVER : now;
		o->ticked = now;
		if (o->phase == was)
			return next;
	}
	return o->phase == OWNER_OPEN ? owner_tick_open(o, now) : STORM_NEVER;
}

/* --------------------------------------------------------------------- life --- */

int storm_owner_open(struct storm_owner *o, uint64_t now)
{
	struct owner_xfer *x = o->operations.first;
	struct storm_open *op = o->open;
	int err;

	if (o->phase != OWNER_NEW)
		return STORM_EINVAL;
	if (owner_is_cluster(o)) {
		o->operations.heir = calloc(1, sizeof(*o->operations.heir));
		if (!o->operations.heir)
			return STORM_ENOMEM;
	} else if (x) {
		x->begin.op = ++o->operations.made;
		op->has_begin = true;
		op->begin = x->begin; /* shares path and set */
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
	owner_invite_children(o);
	owner_ask_sum(o);
	owner_ask_soon(o, now);
	return STORM_OK;
}

uint64_t storm_owner_session(const struct storm_owner *o)
{
	return o->link.session;
}

void storm_owner_close(struct storm_owner *o, uint64_t now)
{
	const struct owner_xfer *x = o->operations.first;

	(void) now;
	/* nodes of the cluster domain await the next owner */
	if (o->phase > OWNER_NEW && o->phase < OWNER_CLOSED &&
	    o->link.session && !owner_is_cluster(o)) {
		if (x && !x->decision && x->state != XFER_QUEUED)
			o->cast.decision = STORM_ABORT;
		/* a node that has not answered yet finds its stream gone */
		o->t->ops->drop_streams(o->t, o->link.session);
		owner_cast_state(o, STORM_CAST_CLOSING);
		/* it is not repeated: where multicast is in doubt, or nodes
		 * keep a process for files, it goes down the tree, too.  A node
		 * that misses it finds its owner silent */
		if (!o->send.multicast || o->send.lossy || o->send.files)
			owner_cast_state_relay(o, STORM_CAST_CLOSING, NULL);
	}
	o->phase = OWNER_CLOSED;
	owner_xfer_end_all(o);
	owner_compare_end_all(o);
	owner_gather_end_all(o);
}

static void owner_add_to_address(struct storm_addr *a, unsigned int n)
{
	for (int i = STORM_ADDR_LEN - 1; n && i >= 0; i--) {
		n += a->ip[i];
		a->ip[i] = (uint8_t) n;
		n >>= 8;
	}
}

static bool owner_conf_is_valid(const struct storm_domain_conf *conf)
{
	if (!conf->count || conf->count > STORM_NODES_MAX ||
	    conf->set.radix < 2 || conf->set.radix > 64 || !conf->set.groups ||
	    conf->set.groups > 64 || conf->last_report >= STORM_REPORT_KINDS)
		return false;
	if (conf->set.dead_timeout >= 2 * conf->set.heartbeat)
		return true;
	storm_log(
		STORM_LOG_ERROR,
		"dead_timeout (%lu ms) must be at least twice heartbeat (%lu ms), or a single lost datagram looks like death",
		(unsigned long) (conf->set.dead_timeout / STORM_MS),
		(unsigned long) (conf->set.heartbeat / STORM_MS));
	return false;
}

/* What its OPENs say.  STORM_OK, or an error; the caller frees *op in any case. */
static int owner_open_make(struct storm_open *op,
			   const struct storm_domain_conf *conf,
			   struct storm_transport *t,
			   const struct storm_addr *self)
{
	size_t mtu = t->ops->mtu(t);
	size_t room = t->ops->room ? t->ops->room(t) : SIZE_MAX;
	uint8_t pick[4];
	int err;

	op->job_id = conf->job_id;
	op->step_id = conf->step_id;
	op->step_het = conf->step_het;
	op->owner = *self;
	op->multicast = conf->set.multicast;
	op->radix = conf->set.radix;
	op->mtu = storm_min(mtu, STORM_DATAGRAM_MAX);
	op->window = conf->set.window < room ? conf->set.window :
		     room < STORM_WINDOW_MIN ? STORM_WINDOW_MIN :
					       room;
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
		return STORM_ENOMEM;
	owner_add_to_address(&op->group, pick[0] % conf->set.groups);
	if (conf->authority_len) {
		op->authority = malloc(conf->authority_len);
		if (!op->authority)
			return STORM_ENOMEM;
		memcpy(op->authority, conf->authority, conf->authority_len);
		op->authority_len = conf->authority_len;
	}
	err = storm_nodes_make(&op->nodes, conf->nodes, conf->count);
	if (err)
		return err;
	op->count = conf->count;
	if (conf->excluded && storm_idset_union(&op->excluded, conf->excluded))
		return STORM_ENOMEM;
	return STORM_OK;
}

struct storm_owner *storm_owner_create(const struct storm_domain_conf *conf,
				       struct storm_transport *t,
				       const struct storm_addr *self,
				       const struct storm_owner_ops *ops,
				       void *arg, int *err)
{
	struct storm_owner *o = NULL;
	struct storm_open *op;

	*err = STORM_EINVAL;
	if (!owner_conf_is_valid(conf))
		return NULL;
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
	o->operations.tail = &o->operations.first;
	o->comparisons.tail = &o->comparisons.first;
	o->gathers.tail = &o->gathers.first;
	o->reports.acks_at = o->send.again_at = STORM_NEVER;
	o->send.mtu = STORM_MTU_MIN;
	o->data.rate = (double) conf->set.rate;
	*err = owner_open_make(op, conf, t, self);
	if (*err)
		goto fail;
	*err = STORM_ENOMEM;
	o->conf.nodes = NULL;
	o->conf.authority = op->authority;
	storm_tree_init(&o->tree, conf->count, conf->set.radix);
	if (conf->excluded &&
	    (storm_idset_union(&o->cast.excluded, conf->excluded) ||
	     storm_tree_exclude(&o->tree, &o->cast.excluded)))
		goto no_set;
	o->conf.excluded = NULL;
	*err = STORM_OK;
	return o;
no_set:
	storm_idset_clear(&o->cast.excluded);
fail:
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
	owner_gather_end_all(o);
	owner_request_end_all(o);
	storm_children_free(o->child, o->children);
	storm_status_free(&o->sum);
	storm_reports_clear(&o->reports.got);
	owner_repair_end(o);
	owner_window_free(o);
	storm_cast_free(&o->cast);
	storm_idset_clear(&o->members.joining);
	storm_idset_clear(&o->returning.nodes);
	storm_idset_clear(&o->returning.answered);
	storm_idset_clear(&o->members.overdue);
	owner_round_end(o);
	owner_pulse_end(o);
	free(o->operations.heir);
	free(o->faults.f);
	storm_tree_free(&o->tree);
	storm_link_free(&o->link);
	memset(&o->open->begin, 0, sizeof(o->open->begin)); /* shared */
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
