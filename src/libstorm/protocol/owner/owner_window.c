/*
 * owner_window.c - which nodes the window waits for (AWAIT-SPACE, Algorithm 1).
 * The paper's waits for the slowest.  Here a node that stands still, or is far
 * slower than the others, leaves it: the others go on, and it catches up by what it
 * asks for.  The operation waits for it all the same.
 *
 * Two things show that there is such a node.  Some node has not written what was sent
 * a while ago, and wrote less than half as much as was sent since; or the window was full
 * for most of the time.  Then all are asked which of them lack what the others should have, and
 * those leave if they are few: else the pace is that of all, and there is nothing to
 * gain.
 *
 * A node that has left is none of those in the owner's state, so the sums of the tree
 * are without it.  Along the chain those before it send past it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "owner_private.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

#define LIMIT (200 * STORM_MS) /* that a node may be behind */
/* Along the chain those behind the one that has left catch up first. */
#define CALM STORM_SEC
#define MARK_EVERY (LIMIT / OWNER_MARKS)
#define ASK_EVERY (50 * STORM_MS)
/* From the first question to the verdict: those below a silent node answer to the
 * second. */
#define SETTLED (120 * STORM_MS)

void owner_window_begin(struct storm_owner *o, uint64_t now)
{
	owner_window_free(o);
	o->window.begun_at = o->window.looked_at = now;
}

void owner_window_free(struct storm_owner *o)
{
	storm_idset_clear(&o->window.slow);
	memset(&o->window, 0, sizeof(o->window));
}

bool owner_window_has_left(const struct storm_owner *o, uint32_t node)
{
	return storm_idset_has(&o->window.slow, node);
}

/* The nodes of the operation for which it is not over, without these: empty if that
 * are all. */
static int owner_window_nodes(const struct storm_owner *o,
			      const struct storm_idset *without,
			      struct storm_idset *out)
{
	const struct owner_xfer *x = o->operations.first;
	const struct storm_idset *p = &x->begin.p;
	struct storm_range every = { 0, o->conf.count - 1 };
	struct storm_idset all = { &every, 1, 1 }, gone = { 0 };
	int err;

	if (!without->count && !x->each.over.count)
		return storm_idset_union(out, p);
	err = storm_idset_union(&gone, without);
	if (!err)
		err = storm_idset_union(&gone, &x->each.over);
	if (!err)
		err = storm_idset_minus(p->count ? p : &all, &gone, out);
	if (!err && !out->count) /* which would mean all */
		err = STORM_EINVAL;
	storm_idset_clear(&gone);
	return err;
}

bool owner_window_without(struct storm_owner *o,
			  const struct storm_idset *without)
{
	struct storm_idset p = { 0 };

	if (owner_window_nodes(o, without, &p) || !owner_cast_fits(o, &p)) {
		storm_idset_clear(&p);
		return false;
	}
	storm_idset_clear(&o->cast.p);
	o->cast.p = p;
	return true;
}

bool owner_window_renew(struct storm_owner *o)
{
	static const struct storm_idset none;
	enum xfer_state state = o->operations.first->state;
	bool sending = state == XFER_BEGINNING || state == XFER_SENDING;

	/* What was claimed until now was claimed without some of them.  A floor above
	 * all earlier ones makes that void (storm_status_merge()). */
	if (!sending)
		o->cast.floor = storm_max(o->cast.floor, o->cast.size) + 1;
	return owner_window_without(o, sending ? &o->window.slow : &none);
}

void owner_window_end(struct storm_owner *o)
{
	o->window.asked_at = 0;
	if (o->window.slow.count || o->operations.first->each.on)
		owner_window_renew(o);
}

/* ------------------------------------------------------------------ leaving --- */

/* The members that the operation is for. */
static uint64_t owner_window_count(const struct storm_owner *o)
{
	struct storm_idset all = { 0 };
	const struct storm_idset *p = &o->operations.first->begin.p;
	uint64_t n = 0;

	if (!storm_tree_subtree(&o->tree, STORM_NO_NODE, &all) &&
	    (!p->count || !storm_idset_keep(&all, p)))
		n = storm_idset_size(&all);
	storm_idset_clear(&all);
	return n;
}

/* Along the chain what one node does not relay all behind it lack: it is the
 * first. */
static int owner_window_suspects(const struct storm_owner *o,
				 struct storm_idset *out)
{
	const struct storm_idset *behind = &o->sum.behind;

	if (o->send.multicast || o->operations.first->state == XFER_BEGINNING)
		return storm_idset_union(out, behind);
	return storm_idset_add(out, behind->r[0].first, behind->r[0].first);
}

static void owner_window_log(const struct storm_owner *o,
			     const struct storm_idset *nodes)
{
	char name[STORM_NAME_MAX + 1];

	for (uint32_t i = 0; i < nodes->count; i++)
		for (uint32_t n = nodes->r[i].first; n <= nodes->r[i].last; n++)
			storm_log(
				STORM_LOG_INFO,
				"node %s is far behind: the others' data do not wait for it",
				storm_nodes_name(&o->open->nodes, n, &name));
}

/* Those that are behind leave the window, if they are few. */
static bool owner_window_leave(struct storm_owner *o, uint64_t now)
{
	struct owner_window *w = &o->window;
	struct storm_idset slow = { 0 }, more = { 0 };
	uint64_t most = owner_window_count(o), left;
	bool yes;

	yes = !owner_window_suspects(o, &more) &&
	      !storm_idset_union(&slow, &more) &&
	      !storm_idset_union(&slow, &w->slow);
	left = storm_idset_size(&slow);
	yes = yes && left < most && left <= storm_max(1, most / OWNER_FEW) &&
	      owner_window_without(o, &slow);
	if (yes) {
		owner_window_log(o, &more);
		storm_idset_clear(&w->slow);
		w->slow = slow;
		w->full = 0;
		w->calm_until = now + (o->send.multicast ? LIMIT : CALM);
		owner_ask_new(o, now);
	} else {
		storm_idset_clear(&slow);
	}
	storm_idset_clear(&more);
	return yes;
}

/* ------------------------------------------------------------------- looking --- */

void owner_window_full(struct storm_owner *o, bool full, uint64_t now)
{
	struct owner_window *w = &o->window;
	uint64_t t = now - w->looked_at;

	if (w->is_full)
		w->full += t;
	else
		w->full -= storm_min(w->full, t);
	w->is_full = full;
	w->looked_at = now;
}

/* How far it was a while ago. */
static struct owner_mark owner_window_mark(struct storm_owner *o, uint64_t now)
{
	struct owner_window *w = &o->window;
	uint32_t last = (w->marks + OWNER_MARKS - 1) % OWNER_MARKS;

	if (!w->marks || now >= w->mark[last].at + MARK_EVERY)
		w->mark[w->marks++ % OWNER_MARKS] =
			(struct owner_mark) { now, o->cast.sent,
					      o->operations.first->progress };
	/* the newest of those that are old enough */
	for (uint32_t i = 1; i <= OWNER_MARKS && i <= w->marks; i++) {
		uint32_t at = (w->marks - i) % OWNER_MARKS;

		if (now >= w->mark[at].at + LIMIT - MARK_EVERY)
			return w->mark[at];
	}
	return (struct owner_mark) { 0 };
}

/* Bytes that every node should have written.  0: all may have done so. */
static uint64_t owner_window_due(struct storm_owner *o, uint64_t now)
{
	struct owner_mark m = owner_window_mark(o, now);
	uint64_t p = o->operations.first->progress, sent = o->cast.sent;
	uint64_t due = 0;

	owner_window_full(o, o->window.is_full, now);
	if (p < m.sent && p - m.progress < (sent - m.sent) / 2)
		due = p + (m.sent - p + 1) / 2;
	if (o->window.full >= LIMIT)
		due = storm_max(due, p + (sent - p) / 2);
	return due > p ? due : 0;
}

/* While files are opened the answers come by the questions that are asked anyway. */
static bool owner_window_opening(struct storm_owner *o, uint64_t *next,
				 uint64_t now)
{
	uint64_t at = o->window.begun_at + LIMIT + SETTLED;

	*next = storm_max(at, now + ASK_EVERY);
	return now >= at && o->sum.behind.count && owner_window_leave(o, now);
}

static void owner_window_ask(struct storm_owner *o, uint64_t now)
{
	struct owner_window *w = &o->window;

	if (!w->asked_at)
		w->asked_at = now;
	w->asked_last = now;
	owner_ask_late(o, now);
}

/* All have come so far. */
static void owner_window_reached(struct storm_owner *o, uint64_t now)
{
	struct owner_xfer *x = o->operations.first;

	if (o->cast.floor > x->progress) {
		x->progress = o->cast.floor;
		x->moved_at = now;
	}
	o->window.full = 0;
	o->window.asked_at = 0;
}

/* Some have not written what is due.  True: some have left. */
static bool owner_window_asks(struct storm_owner *o, uint64_t due, uint64_t now)
{
	struct owner_window *w = &o->window;
	const struct owner_xfer *x = o->operations.first;

	if (!w->asked_at) {
		o->cast.floor = due;
		owner_ask_sum(o);
		owner_window_ask(o, now);
	} else if (x->progress >= o->cast.floor) {
		w->asked_at = 0;
	} else if (!o->sum.behind.count) {
		owner_window_reached(o, now);
	} else if (now >= w->asked_at + SETTLED && owner_window_leave(o, now)) {
		w->asked_at = 0;
		return true;
	} else if (now >= w->asked_last + ASK_EVERY) {
		owner_window_ask(o, now);
	}
	return false;
}

bool owner_window_tick(struct storm_owner *o, uint64_t *next, uint64_t now)
{
	const struct owner_xfer *x = o->operations.first;
	uint64_t due;

	*next = STORM_NEVER;
	if (x->state == XFER_BEGINNING)
		return owner_window_opening(o, next, now);
	if (x->state != XFER_SENDING)
		return false;
	*next = now + MARK_EVERY;
	due = owner_window_due(o, now);
	if (now < o->window.calm_until)
		return false;
	return (due || o->window.asked_at) && owner_window_asks(o, due, now);
}
