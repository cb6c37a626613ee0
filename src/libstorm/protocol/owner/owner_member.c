/*
 * owner_member.c - membership: exclusion and JOIN, each with an epoch of its
 * own, and an owner's beginning and end in the cluster domain.
 *
 * An epoch of the cluster domain is saved before any node receives it, together
 * with the set of excluded nodes, and only if no other epoch was saved since.
 * So at most one owner can begin epochs, and the next owner knows whose state
 * counts.  The first epoch of a takeover is greater than any that the previous
 * owner could reach by incrementing its own.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdlib.h>

#include "owner_private.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

#define EPOCHS_OF_AN_OWNER 0xffffu
#define AGAIN_FIRST (40 * STORM_MS)
#define LOST_FIRST (20 * STORM_MS)
#define INVITED_AT_A_TIME 8
#define DEAF_BEATS 2
#define INVITED_EVERY (100 * STORM_MS) /* of nodes that ask for it */
/* A node that asks again so soon may not have had the last one, or is a
 * replay. */
#define INVITED_AGAIN (200 * STORM_MS)
/* All wait while MUNGE makes a credential: not more often than is of use. */
#define RENEW_EVERY (10 * STORM_SEC)

bool owner_is_cluster(const struct storm_owner *o)
{
	return o->open->cluster;
}

uint32_t owner_first_epoch(uint32_t saved)
{
	return (saved | EPOCHS_OF_AN_OWNER) + 1;
}

void owner_fail(struct storm_owner *o)
{
	bool opening = o->phase < OWNER_OPEN;
	struct storm_outcome out;

	o->phase = OWNER_FAILED;
	if (opening) {
		storm_faults_outcome(&o->faults, STORM_ABORTED, &out);
		o->ops.opened(o->arg, &out);
	}
	owner_xfer_end_all(o);
	owner_compare_end_all(o);
	owner_gather_end_all(o);
}

/* Another owner has the domain now, or nothing can be saved any more: nothing
 * that this owner sends from now on would be right. */
static void owner_epoch_lost(struct storm_owner *o)
{
	storm_log(
		STORM_LOG_ERROR,
		"cluster domain: epoch %u could not be saved: another owner has taken over",
		o->link.epoch + 1);
	if (o->phase < OWNER_OPEN)
		storm_faults_add(&o->faults, STORM_NO_NODE, STORM_ESUPERSEDED,
				 0);
	owner_fail(o);
}

static int owner_epoch_save(struct storm_owner *o, uint32_t was, uint32_t epoch,
			    const struct storm_idset *excluded)
{
	if (!owner_is_cluster(o) || !o->conf.save)
		return STORM_OK;
	return o->conf.save(o->conf.arg, was, epoch, excluded) ?
		       STORM_ESUPERSEDED :
		       STORM_OK;
}

int owner_begin_epoch(struct storm_owner *o)
{
	int err = owner_epoch_save(o, o->conf.epoch, o->open->epoch,
				   &o->cast.excluded);

	if (!err)
		o->link.epoch = o->open->epoch;
	return err;
}

/* Send OPEN to a node; 0 or a negative errno.  late: it may have been a member
 * before. */
static int owner_invite_one(struct storm_owner *o, uint32_t node, bool late)
{
	struct storm_addr to = owner_addr(o, node);
	size_t len;
	uint8_t *buf;
	int rc;

	o->open->late = late || o->link.epoch > o->open->epoch;
	buf = storm_open_stream(o->open, node, &len);
	rc = buf ? o->t->ops->send_stream(o->t, &to, o->open->session, node,
					  buf, len) :
		   -ENOMEM;

	free(buf);
	return rc;
}

/* OPEN goes to every child that has not had it: in the cluster domain a node
 * may come under another parent before it has received OPEN. */
void owner_invite_children(struct storm_owner *o)
{
	for (uint32_t i = 0; i < o->children; i++) {
		struct storm_child *c = &o->child[i];
		int rc;

		if (c->invited)
			continue;
		c->invited = true;
		rc = owner_invite_one(o, c->node, false);
		if (rc)
			storm_faults_add(&o->faults, c->node, STORM_ELOST, -rc);
	}
}

/* The next epoch, with these nodes outside. */
static int owner_epoch_next(struct storm_owner *o, struct storm_idset *excluded,
			    uint64_t now)
{
	if (owner_epoch_save(o, o->link.epoch, o->link.epoch + 1, excluded)) {
		storm_idset_clear(excluded);
		owner_epoch_lost(o);
		return STORM_ESUPERSEDED;
	}
	if (storm_tree_exclude(&o->tree, excluded)) {
		storm_idset_clear(excluded);
		return STORM_ENOMEM;
	}
	storm_idset_clear(&o->cast.excluded);
	o->cast.excluded = *excluded;
	o->link.epoch++;
	o->members.epoch_at = now;
	storm_children_update(&o->child, &o->children, &o->tree, STORM_NO_NODE,
			      now);
	owner_round_end(o);
	if (owner_is_cluster(o))
		owner_invite_children(o);
	return STORM_OK;
}

/* All nodes are to hear of the epoch, and to answer from their new places. */
static void owner_epoch_announce(struct storm_owner *o, uint64_t now)
{
	struct owner_members *m = &o->members;

	if (o->tree.members)
		owner_ask_all(o, now);
	owner_ask_sum(o);
	/* the more parts, the more nodes miss one */
	m->again_every = owner_cast_in_parts(o) ? AGAIN_FIRST : 0;
	m->again_at = now + m->again_every;
}

uint64_t owner_announce_again(struct storm_owner *o, uint64_t now)
{
	struct owner_members *m = &o->members;

	if (!m->again_every)
		return STORM_NEVER;
	if (now < m->again_at)
		return m->again_at;
	owner_cast_state_whole(o);
	m->again_every *= 2;
	m->again_at = now + m->again_every;
	if (m->again_every >= o->conf.set.heartbeat)
		m->again_every = 0; /* from now on every heartbeat has it */
	return m->again_every ? m->again_at : STORM_NEVER;
}

/* Where many are lost at about the same time, epochs begin less and less
 * often, each without more of them: all nodes are busy with each epoch. */
static void owner_exclude_pause(struct storm_owner *o, uint64_t now)
{
	struct owner_members *m = &o->members;
	uint64_t most = o->conf.set.dead_timeout / 4;

	m->lost_every = now > m->lost_at + o->conf.set.dead_timeout ?
				LOST_FIRST :
				storm_min(2 * m->lost_every + LOST_FIRST, most);
	m->lost_at = now + m->lost_every;
}

/* Why this node is out: as it was reported, if it was. */
static struct storm_fault owner_fault_of(const struct storm_owner *o,
					 uint32_t node, enum storm_err why,
					 int sys)
{
	for (uint32_t i = 0; i < o->faults.count; i++)
		if (o->faults.f[i].node == node && o->faults.f[i].why == why)
			return o->faults.f[i];
	for (uint32_t i = 0; i < o->sum.nfaults; i++)
		if (o->sum.faults[i].node == node &&
		    o->sum.faults[i].why == why)
			return o->sum.faults[i];
	return (struct storm_fault) { node, why, sys };
}

/* The children of these nodes. */
static void owner_children_of(const struct storm_owner *o,
			      const struct storm_idset *nodes,
			      struct storm_idset *children)
{
	uint32_t kid[64];

	for (uint32_t i = 0; i < nodes->count; i++)
		for (uint32_t n = nodes->r[i].first; n <= nodes->r[i].last; n++)
			for (uint32_t k = storm_tree_children(&o->tree, n, kid);
			     k--;)
				storm_idset_add(children, kid[k], kid[k]);
}

int owner_exclude(struct storm_owner *o, const struct storm_idset *nodes,
		  enum storm_err why, int sys, uint64_t now)
{
	struct storm_idset out = { 0 }, fresh = { 0 }, orphans = { 0 };
	int err;

	if (storm_idset_minus(nodes, &o->cast.excluded, &fresh) ||
	    storm_idset_union(&out, &o->cast.excluded) ||
	    storm_idset_union(&out, &fresh)) {
		storm_idset_clear(&out);
		storm_idset_clear(&fresh);
		return STORM_ENOMEM;
	}
	owner_children_of(o, &fresh, &orphans);
	err = !fresh.count ? STORM_OK : owner_epoch_next(o, &out, now);
	if (!fresh.count)
		storm_idset_clear(&out);
	for (uint32_t i = 0; !err && i < fresh.count; i++)
		for (uint32_t n = fresh.r[i].first; n <= fresh.r[i].last; n++) {
			struct storm_fault f = owner_fault_of(o, n, why, sys);

			owner_xfer_lost(o, n, f.why, f.sys);
			owner_request_forget(o, n);
			if (o->ops.fault)
				o->ops.fault(o->arg, &f);
		}
	if (!err && fresh.count) {
		owner_exclude_pause(o, now);
		owner_ask_orphans(o, &orphans);
		owner_epoch_announce(o, now);
	}
	storm_idset_clear(&fresh);
	storm_idset_clear(&orphans);
	return err;
}

/* Those that a fault has lost to the domain: all of one reason. */
static void owner_lost_nodes(const struct storm_owner *o,
			     struct storm_idset *out, enum storm_err *why)
{
	*why = STORM_ELOST;
	storm_idset_union(out, &o->sum.gone);
	for (uint32_t i = 0; i < o->sum.nfaults; i++) {
		const struct storm_fault *f = &o->sum.faults[i];

		if (!storm_fault_of_session(f->why) ||
		    !storm_tree_member(&o->tree, f->node))
			continue;
		if (!out->count)
			*why = f->why;
		if (f->why == *why)
			storm_idset_add(out, f->node, f->node);
	}
}

bool owner_exclude_lost(struct storm_owner *o, uint64_t now)
{
	struct storm_idset out = { 0 };
	enum storm_err why;
	bool any;

	if (now < o->members.lost_at)
		return false;
	owner_lost_nodes(o, &out, &why);
	any = out.count;
	if (any)
		owner_exclude(o, &out, why, 0, now);
	storm_idset_clear(&out);
	return any;
}

bool owner_exclude_silent(struct storm_owner *o, uint64_t now)
{
	uint64_t due = o->ticked + o->conf.set.heartbeat;
	struct storm_idset out = { 0 };

	/* While this process was stopped (ctrl-Z), or had to wait for a
	 * processor, the silence was its own. */
	for (uint32_t i = 0; now > due && i < o->children; i++)
		o->child[i].last_heard =
			storm_min(now, o->child[i].last_heard + now - due);
	for (uint32_t i = 0; i < o->children; i++)
		if (now >= o->child[i].last_heard + o->conf.set.dead_timeout)
			storm_idset_add(&out, o->child[i].node,
					o->child[i].node);
	if (!out.count || now < o->members.lost_at) {
		storm_idset_clear(&out);
		return false;
	}
	owner_exclude(o, &out, STORM_ELOST, 0, now);
	storm_idset_clear(&out);
	return true;
}

bool owner_find_cut(struct storm_owner *o, uint64_t *next, uint64_t now)
{
	bool any = false;
	uint64_t again;

	*next = STORM_NEVER;
	for (uint32_t i = 0; i < o->children; i++) {
		int sys = storm_child_cut(&o->child[i], false, now, &again);

		*next = storm_min(*next, again);
		if (sys)
			storm_faults_add(&o->faults, o->child[i].node,
					 STORM_ELOST, sys);
		any |= sys != 0;
	}
	return any;
}

bool owner_exclude_cut(struct storm_owner *o, uint64_t *next, uint64_t now)
{
	struct storm_idset out = { 0 };

	if (!owner_find_cut(o, next, now))
		return false;
	for (uint32_t i = 0; i < o->faults.count; i++)
		storm_idset_add(&out, o->faults.f[i].node, o->faults.f[i].node);
	owner_exclude(o, &out, STORM_ELOST, 0, now);
	o->faults.count = 0;
	storm_idset_clear(&out);
	return true;
}

/* One that is overdue is silent itself.  One below another of them may answer to
 * that one, which does not hear it. */
int owner_cut_nodes(const struct storm_owner *o,
		    const struct storm_idset *nodes, bool relays,
		    struct storm_idset *out)
{
	int err = STORM_OK;
	uint32_t kid[64];

	for (uint32_t i = 0; i < nodes->count; i++)
		for (uint32_t n = nodes->r[i].first;
		     !err && n <= nodes->r[i].last; n++)
			if (storm_tree_member(&o->tree, n) &&
			    !storm_idset_has(&o->members.overdue, n) &&
			    !storm_idset_has(nodes,
					     storm_tree_parent(&o->tree, n)) &&
			    (!relays || storm_tree_children(&o->tree, n, kid)))
				err = storm_idset_add(out, n, n);
	return err;
}

int owner_exclude_one(struct storm_owner *o, uint32_t node, enum storm_err why,
		      int sys, uint64_t now)
{
	struct storm_range r = { node, node };
	struct storm_idset one = { &r, 1, 1 };

	return owner_exclude(o, &one, why, sys, now);
}

void owner_exclude_fresh(struct storm_owner *o, uint64_t now)
{
	struct storm_idset fresh = { 0 };

	if (!storm_idset_union(&fresh, &o->sum.fresh))
		owner_exclude(o, &fresh, STORM_ELOST, 0, now);
	storm_idset_clear(&fresh);
}

/* No credential vouches for the node that refuses: saving an epoch shows
 * whether another owner has taken over. */
int owner_superseded(struct storm_owner *o, uint64_t now)
{
	struct storm_idset same = { 0 };
	int err = storm_idset_union(&same, &o->cast.excluded) ?
			  STORM_ENOMEM :
			  owner_epoch_next(o, &same, now);

	if (!err)
		owner_epoch_announce(o, now);
	return err;
}

int storm_owner_confirm(struct storm_owner *o, uint64_t now)
{
	if (o->phase == OWNER_FAILED)
		return STORM_ESUPERSEDED;
	if (o->phase != OWNER_OPEN || !owner_is_cluster(o))
		return STORM_ECLOSED;
	return owner_superseded(o, now);
}

/* ------------------------------------------------------------------- JOIN --- */

static void owner_renew_open(struct storm_owner *o, uint64_t every,
			     uint64_t now)
{
	if (!o->members.renewed_at || now >= o->members.renewed_at + every) {
		storm_open_renew(o->open, o->conf.agent_uid);
		o->members.renewed_at = now;
	}
}

/* At every heartbeat some of those outside, in turn. */
void owner_invite_some(struct storm_owner *o, uint64_t now)
{
	struct owner_members *m = &o->members;
	const struct storm_idset *out = &o->cast.excluded;

	storm_idset_clear(&o->returning.answered);
	if (out->count)
		owner_renew_open(o, RENEW_EVERY, now);
	for (int n = 0; out->count && n < INVITED_AT_A_TIME; n++) {
		uint32_t node = STORM_NO_NODE;

		for (uint32_t i = 0; i < out->count; i++)
			if (out->r[i].last >= m->invited) {
				node = out->r[i].first > m->invited ?
					       out->r[i].first :
					       m->invited;
				break;
			}
		if (node == STORM_NO_NODE) {
			m->invited = 0;
			return;
		}
		owner_invite_one(o, node, true);
		m->invited = node + 1;
	}
}

bool owner_newborn(struct storm_owner *o, const struct storm_header *h,
		   const struct storm_rx *rx, uint64_t now)
{
	struct owner_returning *r = &o->returning;
	bool member = storm_tree_member(&o->tree, h->sender), asks, fresh;
	struct storm_status st;
	struct storm_plain p;

	if (o->phase != OWNER_OPEN || !owner_is_cluster(o) ||
	    h->type != STORM_MSG_STATUS || (h->epoch && !member) ||
	    storm_link_knows(&o->link, h))
		return false;
	if (storm_link_hear(&o->link, h, rx, &p))
		return true;
	if (storm_status_unpack(&st, p.body, p.len, o->conf.count)) {
		o->link_stats.bad_wire++;
		return true;
	}
	asks = !h->epoch && st.flags & STORM_STATUS_JOIN;
	fresh = h->epoch && storm_idset_has(&st.fresh, h->sender);
	storm_status_free(&st);
	/* a JOIN may be old: it excludes no node, and is answered only now and
	 * then */
	if (now >= r->answered_at + INVITED_AGAIN)
		storm_idset_clear(&r->answered);
	if (asks && !storm_idset_has(&r->answered, h->sender))
		storm_idset_add(&r->nodes, h->sender, h->sender);
	/* this is not old: a node that was outside joins in an epoch of its
	 * own, so in this one it was never a member */
	else if (fresh && h->epoch == o->link.epoch)
		owner_exclude_one(o, h->sender, STORM_ELOST, 0, now);
	else if (fresh)
		owner_cast_again_node(o, h->sender);
	return asks || fresh;
}

uint64_t owner_invite_returned(struct storm_owner *o, uint64_t now)
{
	struct owner_returning *r = &o->returning;
	struct storm_idset done = { 0 };
	int n = 0;

	if (!r->nodes.count || now < r->answer_at)
		return r->nodes.count ? r->answer_at : STORM_NEVER;
	/* the one before it may have used: a replay */
	owner_renew_open(o, 0, now);
	for (uint32_t i = 0; i < r->nodes.count; i++)
		for (uint32_t k = r->nodes.r[i].first;
		     k <= r->nodes.r[i].last && n < INVITED_AT_A_TIME;
		     k++, n++) {
			owner_invite_one(o, k, true);
			storm_idset_add(&done, k, k);
		}
	if (!r->answered.count)
		r->answered_at = now;
	storm_idset_union(&r->answered, &done);
	storm_idset_drop(&r->nodes, &done);
	storm_idset_clear(&done);
	r->answer_at = now + INVITED_EVERY;
	return r->nodes.count ? r->answer_at : STORM_NEVER;
}

void owner_welcome(struct storm_owner *o, uint32_t node)
{
	const uint8_t *inc = storm_link_incarnation(&o->link, node);
	struct storm_addr to = owner_addr(o, node);
	uint8_t body[64];
	struct storm_out b = { body, body + sizeof(body), false };
	const struct owner_xfer *x = o->operations.first;
	bool busy = x && x->state != XFER_QUEUED;

	if (!inc)
		return;
	storm_put8(&b, STORM_CAST_WELCOME);
	storm_put32(&b, node);
	storm_put(&b, inc, STORM_INCARNATION_LEN);
	/* the operation under way has begun since: it takes part in that */
	storm_put64(&b, o->cast.op - busy);
	storm_link_send(&o->link, STORM_MSG_CAST, 0, 0, body,
			(size_t) (b.p - body), &to, 1);
}

static void owner_joined(struct storm_owner *o, uint32_t node)
{
	storm_link_admit(&o->link, node, o->link.epoch);
	owner_welcome(o, node);
	if (o->ops.joined)
		o->ops.joined(o->arg, node);
}

void owner_admit(struct storm_owner *o, uint64_t now)
{
	struct owner_members *m = &o->members;
	struct storm_idset out = { 0 };

	if (!m->joining.count ||
	    storm_idset_minus(&o->cast.excluded, &m->joining, &out))
		return;
	if (!owner_epoch_next(o, &out, now)) {
		for (uint32_t i = 0; i < m->joining.count; i++)
			for (uint32_t n = m->joining.r[i].first;
			     n <= m->joining.r[i].last; n++)
				owner_joined(o, n);
		o->send.multicast &= !m->joining_deaf;
		owner_epoch_announce(o, now);
	}
	m->joining_deaf = false;
	storm_idset_clear(&m->joining);
}

/* With multicast that some node does not hear any more all goes down the tree.  In a
 * new epoch, too, it takes some time until all have said that they do.  One that is
 * silent says nothing of that, and down the tree nothing would pass it. */
static void owner_doubt_multicast(struct storm_owner *o, uint64_t now)
{
	bool deaf = o->tree.members && !o->members.overdue.count &&
		    owner_overdue_settled(o, now) &&
		    !(o->sum.flags & STORM_STATUS_MCAST);

	o->send.deaf_beats = deaf ? o->send.deaf_beats + 1 : 0;
	if (o->send.deaf_beats < DEAF_BEATS)
		return;
	o->send.deaf_beats = 0;
	o->send.multicast = false;
	o->send.doubted = true;
	owner_log_deaf(
		o,
		"cluster domain: multicasts do not reach all nodes any more: all goes down the tree");
}

static void owner_trust_multicast(struct storm_owner *o)
{
	o->send.multicast = true;
	if (o->send.doubted)
		storm_log(STORM_LOG_INFO,
			  "cluster domain: multicasts reach all nodes again");
	o->send.doubted = false;
}

/* Multicast that did not reach all is tried again with every heartbeat. */
void owner_try_multicast(struct storm_owner *o, uint64_t now)
{
	if (!o->conf.set.multicast)
		return;
	if (o->send.multicast)
		owner_doubt_multicast(o, now);
	else if (o->tree.members && o->sum.flags & STORM_STATUS_MCAST &&
		 !o->operations.first)
		owner_trust_multicast(o);
	else
		owner_cast_again_group(o);
}
