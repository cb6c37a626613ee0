/*
 * owner_xfer.c - XFER-AND-SIGNAL at its initiator (Algorithm 10): the operation
 * under way, from its announcement to its end.  All or nothing is kept by one
 * decision: it may be COMMIT once every member is STAGED.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdlib.h>

#include "owner_private.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

/* BEGIN, in as many parts as the path needs.  again: some lack it.  The group may not
 * reach them any more, so it goes down the tree, too. */
static void owner_xfer_announce(struct storm_owner *o, bool again)
{
	struct owner_xfer *x = o->operations.first;
	uint8_t whole[STORM_BEGIN_MAX], body[STORM_DATAGRAM_MAX];
	size_t len = storm_begin_pack(&x->begin, whole, sizeof(whole));
	size_t max = owner_cast_max(o) - 5, parts;

	parts = (len + max - 1) / max;
	for (size_t p = 0; p < parts; p++) {
		size_t n = storm_min(len - p * max, max);
		struct storm_out b = { body, body + sizeof(body), false };

		storm_put8(&b, STORM_CAST_BEGIN);
		storm_put16(&b, (uint16_t) p);
		storm_put16(&b, (uint16_t) parts);
		storm_put(&b, whole + p * max, n);
		owner_cast_body(o, x->begin.op, body, (size_t) (b.p - body));
		if (again && owner_cast_by_group(o))
			owner_cast_body_relay(o, x->begin.op, body,
					      (size_t) (b.p - body));
	}
}

void owner_xfer_ask(struct storm_owner *o)
{
	struct owner_xfer *x = o->operations.first;

	if (!x || x->state == XFER_QUEUED)
		return;
	if (o->sum.flags & STORM_STATUS_LACKS)
		owner_xfer_announce(o, true);
	/* the window is full: which nodes have not written what leaves it? */
	if (x->state == XFER_SENDING && x->progress < o->cast.sent)
		o->cast.floor = storm_max(o->cast.floor, x->progress + 1);
}

static void owner_xfer_end(struct storm_owner *o, enum storm_state state)
{
	struct owner_operations *q = &o->operations;
	struct owner_xfer *x = q->first;
	enum storm_compare result;
	struct storm_outcome out;

	q->first = x->next;
	if (!q->first)
		q->tail = &q->first;
	/* FALSE is an answer, not a failure */
	if (state == STORM_ABORTED && x->no)
		state = STORM_DONE;
	storm_faults_outcome(&x->faults, state, &out);
	result = state != STORM_DONE ? STORM_FAILED :
		 x->no		     ? STORM_FALSE :
				       STORM_TRUE;
	if (x->token)
		x->ended(o, x->token, result, &out);
	else
		storm_outcome_clear(&out);
	storm_begin_free(&x->begin);
	owner_each_free(&x->each);
	storm_digest_destroy(x->digest);
	free(x);
}

static void owner_xfer_decide(struct storm_owner *o, enum storm_decision d,
			      uint64_t now)
{
	struct owner_xfer *x = o->operations.first;

	x->decision = d;
	x->state = XFER_DECIDED;
	if (d == STORM_ABORT) {
		owner_each_abort(o);
		owner_window_end(o);
	}
	x->moved_at = now;
	o->cast.decision = d;
	o->tl.decided = now;
	x->behind = UINT64_MAX;
	owner_ask_new(o, now);
}

/* Was it announced in the OPEN? */
static bool owner_xfer_in_open(const struct storm_owner *o,
			       const struct owner_xfer *x)
{
	return o->open->has_begin && x->begin.op == o->open->begin.op;
}

static void owner_xfer_start(struct storm_owner *o, uint64_t now)
{
	struct owner_xfer *x = o->operations.first;
	uint32_t chunk = o->data.chunk;

	if (!x->begin.op)
		x->begin.op = ++o->operations.made;
	x->chunks = x->begin.size / chunk + (x->begin.size % chunk != 0);
	x->moved_at = now;
	o->cast.op = x->begin.op;
	o->cast.size = x->begin.size;
	storm_idset_clear(&o->cast.p);
	storm_idset_union(&o->cast.p, &x->begin.p);
	o->cast.chunk = chunk;
	o->cast.sent = o->cast.floor = 0;
	o->cast.decision = STORM_UNDECIDED;
	o->cast.has_digest = false;
	o->tl.first_byte = o->tl.last_byte = 0;
	o->tl.repair_first = o->tl.repair_last = 0;
	o->tl.written = o->tl.staged = o->tl.decided = o->tl.applied = 0;
	owner_data_begin(o, now);
	owner_window_begin(o, now);
	owner_repair_end(o);
	if (!owner_xfer_in_open(o, x))
		owner_xfer_announce(o, false);
	owner_ask_new(o, now);
	/* a file is opened first: nothing is sent before all can take it */
	x->state = x->begin.to.kind == STORM_TARGET_FILE  ? XFER_BEGINNING :
		   x->begin.to.kind == STORM_KIND_COMPARE ? XFER_STAGING :
							    XFER_SENDING;
}

/* A node of P that is no member would have to show it, and never will.  Nor
 * will any node of a cluster domain in which all are outside. */
static bool owner_xfer_impossible(struct storm_owner *o)
{
	struct owner_xfer *x = o->operations.first;

	if (!o->tree.members)
		storm_faults_add(&x->faults, STORM_NO_NODE, STORM_ELOST, 0);
	owner_blame_outside(o, &x->begin.p, &x->faults);
	/* the nodes' MTU is less than the owner's, or a node has asked for it */
	if (!owner_cast_fits(o, &x->begin.p))
		storm_faults_add(&x->faults, STORM_NO_NODE, STORM_ETOOBIG, 0);
	return x->faults.count;
}

static bool owner_xfer_is_cut(const struct storm_fault *f)
{
	return f->why == STORM_ETOOBIG && f->sys == EMSGSIZE;
}

/* Nodes that long datagrams do not reach.  Along the chain those behind such a node
 * get none either, and may say so first: it is the first that has not come as far as
 * is asked, or says so. */
static void owner_xfer_take_cut(struct storm_owner *o)
{
	struct owner_xfer *x = o->operations.first;
	uint32_t first = STORM_NO_NODE;

	for (uint32_t i = 0; i < o->sum.nfaults; i++)
		if (!owner_xfer_is_cut(&o->sum.faults[i]))
			continue;
		else if (o->send.multicast)
			storm_faults_add(&x->faults, o->sum.faults[i].node,
					 STORM_ETOOBIG, EMSGSIZE);
		else
			first = storm_min(first, o->sum.faults[i].node);
	if (first == STORM_NO_NODE || x->faults.count)
		return;
	if (o->sum.behind.count)
		first = storm_min(first, o->sum.behind.r[0].first);
	storm_faults_add(&x->faults, first, STORM_ETOOBIG, EMSGSIZE);
}

static void owner_xfer_take_faults(struct storm_owner *o)
{
	struct owner_xfer *x = o->operations.first;

	owner_xfer_take_cut(o);
	for (uint32_t i = 0; i < o->sum.nfaults; i++)
		if (!owner_xfer_is_cut(&o->sum.faults[i]) &&
		    storm_begin_names(&x->begin, o->sum.faults[i].node))
			storm_faults_add(&x->faults, o->sum.faults[i].node,
					 o->sum.faults[i].why,
					 o->sum.faults[i].sys);
	/* one is enough to abort it: all are named as they are excluded */
	for (uint32_t i = 0; i < o->sum.gone.count; i++)
		for (uint32_t n = o->sum.gone.r[i].first;
		     !x->faults.count && n <= o->sum.gone.r[i].last; n++)
			if (storm_begin_names(&x->begin, n))
				storm_faults_add(&x->faults, n, STORM_ELOST, 0);
}

/* More was written, or fewer nodes are behind, or one says that it waits for other
 * transfers. */
static void owner_xfer_moved(struct storm_owner *o, uint64_t now)
{
	struct owner_xfer *x = o->operations.first;
	uint64_t progress = o->sum.progress, behind;

	if (progress > x->begin.size)
		progress = x->begin.size;
	behind = storm_idset_size(&o->sum.behind);
	if (progress > x->progress || progress > x->least ||
	    behind < x->behind || o->sum.flags & STORM_STATUS_WAITS)
		x->moved_at = now;
	x->least = storm_max(x->least, progress);
	if (progress > x->progress)
		x->progress = progress;
	x->behind = behind;
	if (x->progress == x->begin.size && !o->tl.written)
		o->tl.written = now;
}

static void owner_xfer_over(struct storm_owner *o)
{
	const struct owner_xfer *x = o->operations.first;
	bool shown = x->decision == STORM_COMMIT || x->each.shown;

	owner_each_end(o);
	owner_xfer_end(o, shown ? STORM_DONE : STORM_ABORTED);
}

bool owner_xfer_advance(struct storm_owner *o, uint64_t now)
{
	struct owner_xfer *x = o->operations.first;

	if (!x || x->state == XFER_QUEUED)
		return true;
	owner_xfer_take_faults(o);
	owner_xfer_moved(o, now);
	if (x->faults.count && x->state < XFER_DECIDED &&
	    !owner_each_leaves(o, now)) {
		if (owner_each_is_over(o)) {
			owner_xfer_over(o);
			return true;
		}
		owner_xfer_decide(o, STORM_ABORT, now);
		return false;
	}
	if (o->sum.behind.count) {
		if (owner_each_parts(o, now))
			owner_xfer_decide(o, STORM_COMMIT, now);
		return false;
	}
	if (x->state == XFER_BEGINNING && o->sum.phase >= STORM_PHASE_BEGUN) {
		x->state = XFER_SENDING;
	} else if (x->state == XFER_STAGING &&
		   o->sum.phase >= STORM_PHASE_STAGED) {
		o->tl.staged = now;
		x->no = x->begin.to.kind == STORM_KIND_COMPARE &&
			o->sum.flags & STORM_STATUS_NO;
		owner_xfer_decide(o, x->no ? STORM_ABORT : STORM_COMMIT, now);
	} else if (x->state == XFER_DECIDED &&
		   o->sum.phase == STORM_PHASE_ENDED) {
		o->tl.applied = now;
		owner_ask_answered(o, now);
		if (owner_each_goes_on(o, now))
			return false;
		owner_xfer_over(o);
		return true;
	}
	return false;
}

bool owner_xfer_begin(struct storm_owner *o, uint64_t now)
{
	struct owner_xfer *x = o->operations.first;

	if (!x || x->state != XFER_QUEUED)
		return x;
	if (owner_xfer_impossible(o)) {
		owner_xfer_end(o, STORM_ABORTED);
		return true;
	}
	owner_xfer_start(o, now);
	if (!x->token || x->canceled)
		owner_xfer_decide(o, STORM_ABORT, now);
	return true;
}

/* "If any member applied the undecided operation all do, else it aborts": a
 * node that has taken COMMIT, whether it has shown it yet or not, has it from
 * an owner that knew all of P to be STAGED. */
void owner_xfer_inherit(struct storm_owner *o, uint64_t now)
{
	struct owner_operations *q = &o->operations;
	struct owner_xfer *x = q->heir;

	q->made = o->sum.last;
	if (!o->sum.last)
		return;
	q->heir = NULL;
	x->begin.op = o->cast.op = o->sum.last;
	x->next = q->first;
	if (!q->first)
		q->tail = &x->next;
	q->first = x;
	owner_xfer_decide(o,
			  o->sum.flags & STORM_STATUS_COMMITTED ? STORM_COMMIT :
								  STORM_ABORT,
			  now);
}

/* No node has received it. */
static void owner_xfer_unqueue(struct storm_owner *o, struct owner_xfer **p)
{
	struct owner_xfer *x = *p;

	*p = x->next;
	if (!*p)
		o->operations.tail = p;
	storm_begin_free(&x->begin);
	storm_digest_destroy(x->digest);
	free(x);
}

void storm_owner_forget(struct storm_owner *o, void *token, uint64_t now)
{
	struct owner_xfer **p = &o->operations.first, *x;

	while (*p && (*p)->token != token)
		p = &(*p)->next;
	x = *p;
	if (!x)
		owner_gather_forget(o, token, false);
	if (!x)
		return;
	if (x->state == XFER_QUEUED &&
	    (o->phase == OWNER_NEW || !owner_xfer_in_open(o, x))) {
		owner_xfer_unqueue(o, p);
		return;
	}
	x->token = NULL;
	memset(&x->from, 0, sizeof(x->from));
	if (x->state != XFER_QUEUED && x->state != XFER_DECIDED)
		owner_xfer_decide(o, STORM_ABORT, now);
}

bool storm_owner_cancel(struct storm_owner *o, const void *token, uint64_t now)
{
	struct owner_xfer *x = o->operations.first;

	while (x && x->token != token)
		x = x->next;
	if (!x)
		return owner_gather_forget(o, token, true);
	if (x->state == XFER_DECIDED)
		return x->decision == STORM_ABORT && !x->each.shown;
	if (x->state == XFER_QUEUED)
		x->canceled = true;
	else
		owner_xfer_decide(o, STORM_ABORT, now);
	return true;
}

void owner_xfer_lost(struct storm_owner *o, uint32_t node, enum storm_err why,
		     int sys)
{
	struct owner_xfer *x = o->operations.first;

	if (x && x->state != XFER_QUEUED && storm_begin_names(&x->begin, node))
		storm_faults_add(&x->faults, node, why, sys);
}

bool owner_xfer_send(struct storm_owner *o, uint64_t *next, uint64_t now)
{
	struct owner_xfer *x = o->operations.first;

	*next = STORM_NEVER;
	if (x->state == XFER_SENDING)
		*next = owner_data_send(o, now);
	if (x->unreadable && x->state < XFER_DECIDED) {
		owner_xfer_decide(o, STORM_ABORT, now);
		return true;
	}
	if (x->state != XFER_SENDING || x->sent < x->chunks)
		return false;
	if (x->digest && !storm_digest_end(x->digest, o->cast.digest)) {
		storm_faults_add(&x->faults, STORM_NO_NODE, STORM_ENOMEM, 0);
		owner_xfer_decide(o, STORM_ABORT, now);
		return true;
	}
	o->cast.has_digest = x->digest;
	o->tl.last_byte = now;
	owner_repair_last(o, now);
	x->state = XFER_STAGING;
	owner_window_end(o);
	x->least = 0;
	x->behind = UINT64_MAX;
	owner_ask_new(o, now); /* has the end: a lost tail is missed */
	return true;
}

bool owner_xfer_late(struct storm_owner *o, uint64_t now)
{
	struct owner_xfer *x = o->operations.first;

	if (now < x->moved_at + o->conf.set.op_timeout)
		return false;
	owner_ask_sum(o);
	owner_blame_late(o, &o->sum.behind, &x->faults);
	if (!x->faults.count) /* the nodes took all that was sent */
		storm_faults_add(&x->faults, STORM_NO_NODE, STORM_ETIME, 0);
	if (x->state == XFER_DECIDED)
		return true;
	x->moved_at = now;
	if (!x->each.on) /* else owner_xfer_advance() has more than one way */
		owner_xfer_decide(o, STORM_ABORT, now);
	return false;
}

void owner_xfer_end_all(struct storm_owner *o)
{
	const struct owner_xfer *x;

	while ((x = o->operations.first))
		owner_xfer_end(o,
			       x->each.shown || (x->state == XFER_DECIDED &&
						 x->decision == STORM_COMMIT) ?
				       STORM_UNKNOWN :
				       STORM_ABORTED);
}

uint64_t storm_owner_progress(const struct storm_owner *o, const void *token)
{
	for (const struct owner_xfer *x = o->operations.first; x; x = x->next)
		if (x->token == token)
			return x->progress;
	return 0;
}

bool storm_owner_behind(const struct storm_owner *o, const void *token,
			struct storm_idset *out)
{
	const struct owner_xfer *x = o->operations.first;

	return x && x->token == token && x->state != XFER_QUEUED &&
	       o->sum.behind.count && !storm_idset_union(out, &o->sum.behind);
}
