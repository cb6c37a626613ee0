/*
 * owner_each.c - a transfer that need not come to all of its nodes together
 * (STORM_FILE_EACH).  XFER-AND-SIGNAL is all or nothing, and here it is so for a part of
 * the nodes at a time.  Once all but a few are STAGED, and those have been behind for a
 * moment, it is decided for the others, which show it.  Then it goes on for those that
 * were behind.  A decision counts for the nodes that the owner's state names beside it.
 *
 * A node that fails by its own fault (its disk, its host, its path) is left out, and
 * named at the end.  If many do, or a node refuses what is asked of it, the transfer
 * aborts on all.  Once some nodes have it that can no longer be, and each one that fails
 * is left out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>

#include "owner_private.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

#define BEHIND_FOR (200 * STORM_MS)

void owner_each_free(struct owner_each *e)
{
	storm_idset_clear(&e->over);
	storm_idset_clear(&e->out);
}

static uint64_t owner_each_count(const struct storm_owner *o)
{
	const struct storm_idset *p = &o->operations.first->begin.p;

	return p->count ? storm_idset_size(p) : o->conf.count;
}

/* Is it the node's, and would the next one work as well without it?  Others say that
 * the request is wrong, or the way to the nodes. */
static bool owner_each_is_own(const struct storm_fault *f)
{
	switch (f->why) {
	case STORM_ELOST:
	case STORM_ETIME:
		return f->sys != EMSGSIZE;
	case STORM_EHUNG:
	case STORM_ENOMEM:
		return true;
	case STORM_ESYS:
		return f->sys == ENOSPC || f->sys == EDQUOT || f->sys == EIO ||
		       f->sys == EROFS || f->sys == ENOMEM;
	default:
		return false;
	}
}

/* The nodes that have failed and are not over yet. */
static bool owner_each_failed(const struct storm_owner *o,
			      struct storm_idset *out)
{
	const struct owner_xfer *x = o->operations.first;

	for (uint32_t i = 0; i < x->faults.count; i++) {
		const struct storm_fault *f = &x->faults.f[i];

		if (storm_idset_has(&x->each.over, f->node))
			continue;
		if (f->node == STORM_NO_NODE ||
		    (!x->each.shown && !owner_each_is_own(f)) ||
		    storm_idset_add(out, f->node, f->node))
			return false;
	}
	return true;
}

bool owner_each_leaves(struct storm_owner *o, uint64_t now)
{
	struct owner_xfer *x = o->operations.first;
	struct owner_each *e = &x->each;
	struct storm_idset failed = { 0 };
	uint64_t n = owner_each_count(o);
	bool yes = e->on && x->token && owner_each_failed(o, &failed);

	e->faults = x->faults.count;
	if (yes && failed.count) {
		yes = !storm_idset_union(&e->out, &failed) &&
		      !storm_idset_union(&e->over, &failed) &&
		      (e->shown || storm_idset_size(&e->out) <=
					   storm_max(1, n / OWNER_FEW)) &&
		      storm_idset_size(&e->over) < n && owner_window_renew(o);
		if (yes)
			owner_ask_new(o, now);
	}
	storm_idset_clear(&failed);
	return yes;
}

/* ------------------------------------------------------------------- parts --- */

static bool owner_each_few(const struct storm_owner *o)
{
	uint64_t behind = storm_idset_size(&o->sum.behind);

	return behind &&
	       behind <= storm_max(1, owner_each_count(o) / OWNER_FEW);
}

bool owner_each_parts(struct storm_owner *o, uint64_t now)
{
	struct owner_xfer *x = o->operations.first;
	struct owner_each *e = &x->each;
	struct storm_idset late = { 0 };
	bool yes;

	if (!e->on || x->state != XFER_STAGING || !owner_each_few(o) ||
	    o->sum.phase < STORM_PHASE_STAGED) {
		e->few_since = 0;
		return false;
	}
	if (!e->few_since)
		e->few_since = now;
	if (now < e->few_since + BEHIND_FOR)
		return false;
	yes = !storm_idset_union(&late, &o->sum.behind) &&
	      owner_window_without(o, &late);
	storm_idset_clear(&late);
	e->few_since = yes ? 0 : now;
	e->shown |= yes;
	return yes;
}

uint64_t owner_each_due(const struct storm_owner *o)
{
	const struct owner_xfer *x = o->operations.first;

	if (!x->each.on || x->state >= XFER_DECIDED)
		return STORM_NEVER;
	if (x->faults.count > x->each.faults)
		return 0;
	return x->state == XFER_STAGING && x->each.few_since ?
		       x->each.few_since + BEHIND_FOR :
		       STORM_NEVER;
}

/* Members that it is still for. */
static bool owner_each_remain(const struct storm_owner *o)
{
	const struct owner_xfer *x = o->operations.first;
	struct storm_idset all = { 0 };
	bool any =
		!storm_tree_subtree(&o->tree, STORM_NO_NODE, &all) &&
		(!x->begin.p.count || !storm_idset_keep(&all, &x->begin.p)) &&
		!storm_idset_drop(&all, &x->each.over) && all.count;

	storm_idset_clear(&all);
	return any;
}

bool owner_each_is_over(const struct storm_owner *o)
{
	return o->operations.first->each.shown && !owner_each_remain(o);
}

/* Those for which it is not over do not get it. */
static void owner_each_give_up(struct storm_owner *o)
{
	static const struct storm_idset none;
	struct owner_each *e = &o->operations.first->each;

	if (owner_window_without(o, &none))
		storm_idset_union(&e->out, &o->cast.p);
}

bool owner_each_goes_on(struct storm_owner *o, uint64_t now)
{
	struct owner_xfer *x = o->operations.first;
	struct owner_each *e = &x->each;

	/* an empty set is that of all: none is left */
	if (!e->on || x->decision != STORM_COMMIT || !o->cast.p.count ||
	    storm_idset_union(&e->over, &o->cast.p) || !owner_each_remain(o))
		return false;
	if (!x->token) { /* nobody wants it any more */
		owner_each_give_up(o);
		return false;
	}
	x->state = XFER_STAGING;
	x->decision = o->cast.decision = STORM_UNDECIDED;
	x->least = 0;
	x->behind = UINT64_MAX;
	x->moved_at = now;
	if (!owner_window_renew(o))
		return false;
	owner_ask_new(o, now);
	return true;
}

void owner_each_abort(struct storm_owner *o)
{
	struct owner_each *e = &o->operations.first->each;

	if (e->shown)
		return;
	/* none has it, and those that have failed are to forget it, too */
	storm_idset_clear(&e->over);
}

void owner_each_end(struct storm_owner *o)
{
	const struct owner_each *e = &o->operations.first->each;
	struct storm_idset p = { 0 };

	if (!e->out.count || storm_idset_union(&p, &e->out))
		return;
	/* nobody waits for that: it may be one that stands still */
	storm_idset_clear(&o->cast.p);
	o->cast.p = p;
	o->cast.decision = STORM_ABORT;
	o->cast.floor++;
	owner_cast_state(o, 0);
}
