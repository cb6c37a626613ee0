/*
 * owner_open.c - a domain opens: every node answers the OPEN, then a probe
 * shows whether multicast reaches them all.  A step domain opens with all of
 * its nodes or fails.  The cluster domain opens without those that refuse,
 * cannot be reached or are late.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "owner_private.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

#define PROBE_EVERY (6 * STORM_MS)
#define SUPER_PACKET 65280 /* one send, cut up by the kernel or the card */

static void owner_open_done(struct storm_owner *o, uint64_t now)
{
	struct storm_outcome out = { .state = STORM_DONE };

	o->phase = OWNER_OPEN;
	o->phase_at = now;
	o->tl.opened = now;
	o->stats.multicast = o->send.multicast;
	o->ops.opened(o->arg, &out);
	if (owner_is_cluster(o))
		owner_xfer_inherit(o, now);
}

/* All nodes have answered; true: the domain is open. */
static bool owner_open_answered(struct storm_owner *o, uint64_t now)
{
	uint32_t seg = o->sum.mtu;

	owner_ask_answered(o, now);
	o->data.chunk =
		seg - STORM_HEADER_LEN - STORM_DATA_HEADER_LEN - STORM_TAG_LEN;
	o->data.batch = storm_min(SUPER_PACKET / seg, STORM_BATCH);
	o->send.mtu = seg;
	o->phase_at = now;
	if (o->conf.set.multicast && !(o->sum.flags & STORM_STATUS_MCAST)) {
		o->phase = OWNER_PROBING;
		owner_cast_state(o, 0);
		o->ask.at = now + PROBE_EVERY;
		return false;
	}
	o->send.multicast = o->conf.set.multicast && o->tree.members;
	owner_open_done(o, now);
	return true;
}

/* Exclude the nodes that refuse, cannot be reached or do not answer in time,
 * and those that have forgotten: all of one reason at a time.  Each time the
 * others are asked again, over the tree that is left. */
static void owner_open_exclude(struct storm_owner *o, uint64_t now)
{
	struct storm_idset out = { 0 };
	enum storm_err why = STORM_ELOST;

	if (o->faults.count)
		why = o->faults.f[0].why;
	for (uint32_t i = 0; i < o->faults.count; i++)
		if (o->faults.f[i].why == why)
			storm_idset_add(&out, o->faults.f[i].node,
					o->faults.f[i].node);
	if (!o->faults.count && o->sum.fresh.count) {
		o->phase_at = now;
		owner_exclude_fresh(o, now);
	}
	if (out.count) {
		o->phase_at = now;
		owner_exclude(o, &out, why, 0, now);
	}
	o->faults.count = 0;
	storm_idset_clear(&out);
}

static void owner_open_take_faults(struct storm_owner *o)
{
	for (uint32_t i = 0; i < o->sum.nfaults; i++) {
		const struct storm_fault *f = &o->sum.faults[i];

		if (storm_fault_of_session(f->why) &&
		    storm_tree_member(&o->tree, f->node))
			storm_faults_add(&o->faults, f->node, f->why, f->sys);
	}
	for (uint32_t i = 0; i < o->sum.gone.count; i++)
		for (uint32_t n = o->sum.gone.r[i].first;
		     n <= o->sum.gone.r[i].last; n++)
			storm_faults_add(&o->faults, n, STORM_ELOST, 0);
}

bool owner_open_advance(struct storm_owner *o, uint64_t now)
{
	if (o->phase == OWNER_PROBING && o->sum.flags & STORM_STATUS_MCAST) {
		o->send.multicast = true;
		owner_open_done(o, now);
		return true;
	}
	if (o->phase != OWNER_OPENING)
		return false;
	owner_open_take_faults(o);
	if (owner_is_cluster(o))
		owner_open_exclude(o, now);
	else if (o->faults.count)
		owner_fail(o);
	return o->phase == OWNER_OPENING && !o->sum.behind.count &&
	       !o->faults.count && owner_open_answered(o, now);
}

/* ------------------------------------------------------------------- timers --- */

/* Children that were heard and are silent since: they are missing.  Those below
 * them are not, but no answer has them any more.  One that has answered, and that
 * nothing is told since, may have no right to say more: see nm_status_pays(). */
static void owner_open_blame_silent(struct storm_owner *o,
				    struct storm_idset *late, uint64_t now)
{
	for (uint32_t i = 0; i < o->children; i++) {
		const struct storm_child *c = &o->child[i];
		struct storm_idset below = { 0 };

		if (!c->heard || (!c->told && !c->status.seen) ||
		    now < c->last_heard + o->conf.set.open_timeout / 2)
			continue;
		storm_faults_add(&o->faults, c->node, STORM_ELOST, 0);
		if (!storm_tree_subtree(&o->tree, c->node, &below))
			storm_idset_drop(late, &below);
		storm_idset_clear(&below);
	}
}

/* The cluster's domain goes on without the late ones: first without those that
 * have no late node above them, as the others may just not have been
 * reached. */
static void owner_open_keep_topmost(const struct storm_owner *o,
				    struct storm_idset *late)
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

static void owner_open_late(struct storm_owner *o, uint64_t now)
{
	struct storm_idset late = { 0 };

	if (storm_idset_union(&late, &o->sum.behind))
		return; /* no memory: at the next tick */
	owner_open_blame_silent(o, &late, now);
	if (owner_is_cluster(o))
		owner_open_keep_topmost(o, &late);
	owner_blame_late(o, &late, &o->faults);
	storm_idset_clear(&late);
	if (owner_is_cluster(o))
		owner_open_exclude(o, now);
	else
		owner_fail(o);
}

static uint64_t owner_open_tick_opening(struct storm_owner *o, uint64_t now)
{
	uint64_t timeout = o->conf.set.open_timeout, next;

	if (owner_find_cut(o, &next, now) || o->faults.count) {
		owner_ask_sum(o);
		owner_open_advance(o, now);
	}
	if (o->phase == OWNER_OPENING && now >= o->phase_at + timeout) {
		owner_open_late(o, now);
		owner_ask_sum(o);
		owner_open_advance(o, now);
	}
	if (o->phase != OWNER_OPENING)
		return now;
	if (now >= o->ask.at)
		owner_ask_late(o, now);
	next = storm_min(next, o->ask.at);
	return storm_min(o->phase_at + timeout, next);
}

/* A node that no datagram reaches is excluded once the domain is open: whether the
 * group reaches it is not awaited. */
static uint64_t owner_open_tick_probing(struct storm_owner *o, uint64_t now)
{
	uint64_t end = o->phase_at + o->conf.set.multicast_timeout, next;
	bool cut = owner_find_cut(o, &next, now);

	owner_open_take_faults(o);
	cut |= o->faults.count > 0;
	o->faults.count = 0; /* they are found again */
	if (cut || now >= end) {
		owner_log_deaf(
			o,
			"multicast does not reach all nodes: data go along the chain");
		owner_open_done(o, now);
	} else if (now >= o->ask.at) {
		owner_ask_late(o, now);
		o->ask.at = now + PROBE_EVERY;
	}
	next = storm_min(next, end);
	return storm_min(next, o->ask.at);
}

uint64_t owner_open_tick(struct storm_owner *o, uint64_t now)
{
	return o->phase == OWNER_OPENING ? owner_open_tick_opening(o, now) :
	       o->phase == OWNER_PROBING ? owner_open_tick_probing(o, now) :
					   STORM_NEVER;
}
