/*
 * owner_overdue.c - members that are slow (paper section 2.4.3: the master
 * finds which node missed a heartbeat).  Every node watches its children
 * (detector.h) and names the overdue ones in its STATUS.  The owner reports
 * each of them once, and once when it is back.  Nothing else follows: a dead
 * node is excluded elsewhere.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "owner_private.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

static void owner_overdue_report(struct storm_owner *o,
				 const struct storm_idset *nodes, bool back)
{
	char name[STORM_NAME_MAX + 1];

	for (uint32_t i = 0; i < nodes->count; i++)
		for (uint32_t n = nodes->r[i].first; n <= nodes->r[i].last;
		     n++) {
			storm_log(
				STORM_LOG_INFO,
				back ? "node %s is back" :
				       "node %s is overdue: its agent has not been heard for longer than usual",
				storm_nodes_name(&o->open->nodes, n, &name));
			if (o->ops.overdue)
				o->ops.overdue(o->arg, n, back);
		}
}

/* In a new epoch nodes have new parents, which know only after a while which of
 * their children are silent: until then no node is reported as back. */
bool owner_overdue_settled(const struct storm_owner *o, uint64_t now)
{
	const struct storm_settings *set = &o->conf.set;
	const struct storm_detector unknown = { 0 };

	return !o->members.epoch_at ||
	       now >= o->members.epoch_at +
			       storm_detector_patience(&unknown,
						       set->dead_timeout,
						       set->heartbeat) +
			       2 * storm_sign_every(set->dead_timeout,
						    set->heartbeat, false);
}

/* The nodes that are overdue by now: those that subtrees name, and children. */
static uint64_t owner_overdue_now(struct storm_owner *o, struct storm_idset *is,
				  uint64_t now)
{
	const struct storm_settings *set = &o->conf.set;
	uint64_t next = STORM_NEVER;

	for (uint32_t i = 0; i < o->children; i++) {
		struct storm_child *c = &o->child[i];

		next = storm_min(next, storm_child_check(c, set->dead_timeout,
							 set->heartbeat, now));
		if (c->detector.overdue)
			storm_idset_add(is, c->node, c->node);
		if (c->heard)
			storm_idset_union(is, &c->status.overdue);
	}
	return next;
}

uint64_t owner_overdue(struct storm_owner *o, uint64_t now)
{
	struct storm_idset all = { 0 }, is = { 0 }, had = { 0 }, on = { 0 },
			   off = { 0 };
	uint64_t next = owner_overdue_now(o, &all, now);

	/* as a rule none is */
	if (!all.count && !o->members.overdue.count)
		return next;
	if (storm_idset_minus(&all, &o->cast.excluded, &is) ||
	    storm_idset_minus(&o->members.overdue, &o->cast.excluded, &had) ||
	    storm_idset_minus(&is, &had, &on) ||
	    storm_idset_minus(&had, &is, &off))
		goto out; /* no memory: reported when there is some */
	if (!owner_overdue_settled(o, now)) {
		storm_idset_clear(&off);
		if (storm_idset_union(&is, &had))
			goto out;
	}
	storm_idset_clear(&o->members.overdue);
	o->members.overdue = is;
	memset(&is, 0, sizeof(is));
	owner_overdue_report(o, &on, false);
	owner_overdue_report(o, &off, true);
out:
	storm_idset_clear(&all);
	storm_idset_clear(&is);
	storm_idset_clear(&had);
	storm_idset_clear(&on);
	storm_idset_clear(&off);
	return next;
}
