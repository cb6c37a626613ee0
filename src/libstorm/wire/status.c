/*
 * status.c - see status.h: the reduction of the combining tree.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "status.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

/* bytes: of a STATUS without sets and faults; of a range; of a range of a short
 * set, at most; of a fault.  The number of ranges of a set of those gone takes 3
 * at most. */
#define FIXED 101
#define RANGE 8
#define SHORT 10
#define FAULT 9

void storm_status_free(struct storm_status *s)
{
	storm_idset_clear(&s->behind);
	storm_idset_clear(&s->unanswered);
	storm_idset_clear(&s->fresh);
	storm_idset_clear(&s->overdue);
	storm_idset_clear(&s->gone);
	memset(s, 0, sizeof(*s));
}

/* How many of each fit.  At least one of each stays, or the STATUS would look
 * as if there were none. */
struct room {
	uint32_t behind, unanswered, fresh, faults, overdue, gone;
};

static bool status_make_room(struct room *r, size_t max)
{
	for (;;) {
		uint32_t *most = r->behind >= r->unanswered ? &r->behind :
							      &r->unanswered;

		if (r->fresh > *most)
			most = &r->fresh;
		if (FIXED +
			    RANGE * ((size_t) r->behind + r->unanswered +
				     r->fresh) +
			    FAULT * (size_t) r->faults +
			    SHORT * ((size_t) r->overdue + r->gone) <=
		    max)
			return true;
		if (r->overdue) /* only reported, no decision needs it */
			r->overdue--;
		else if (*most > 1 &&
			 (r->faults <= 1 || RANGE * *most >= FAULT * r->faults))
			--*most;
		else if (r->faults > 1)
			r->faults--;
		else
			return false;
	}
}

static void status_put_joined(struct storm_out *o, const struct storm_idset *s,
			      uint32_t max)
{
	struct storm_idset copy = { 0 };

	if (s->count <= max) {
		storm_put_idset(o, s);
		return;
	}
	if (storm_idset_union(&copy, s))
		o->bad = true;
	else
		storm_idset_join(&copy, max);
	storm_put_idset(o, &copy);
	storm_idset_clear(&copy);
}

/* As many ranges as there is room for: the others are still gone when these are
 * excluded. */
static void status_put_first(struct storm_out *o, const struct storm_idset *s)
{
	struct storm_idset part = *s;
	uint32_t lo = 0, hi = s->count;

	while (lo < hi) {
		part.count = hi - (hi - lo) / 2;
		if (!o->bad && storm_set_len(&part) <= (size_t) (o->end - o->p))
			lo = part.count;
		else
			hi = part.count - 1;
	}
	part.count = lo;
	storm_put_set(o, &part);
}

size_t storm_status_pack(const struct storm_status *s, uint8_t *buf, size_t max)
{
	struct storm_out o = { buf, buf + max, false };
	struct room r = {
		storm_min(s->behind.count, STORM_BEHIND_KEPT),
		storm_min(s->unanswered.count, STORM_BEHIND_KEPT),
		storm_min(s->fresh.count, STORM_BEHIND_KEPT),
		s->nfaults,
		storm_min(s->overdue.count, STORM_OVERDUE_KEPT),
		s->gone.count > 0,
	};
	struct storm_idset overdue = s->overdue;

	if (!status_make_room(&r, max))
		return 0;
	overdue.count = r.overdue;
	storm_put64(&o, s->version);
	storm_put64(&o, s->last);
	storm_put64(&o, s->op);
	storm_put64(&o, s->floor);
	storm_put8(&o, s->phase);
	storm_put8(&o, s->flags);
	storm_put64(&o, s->progress);
	storm_put64(&o, s->cmp);
	storm_put8(&o, s->cmp_false);
	storm_put32(&o, s->mtu);
	storm_put64(&o, s->seen);
	storm_put64(&o, s->repaired);
	storm_put64(&o, s->lost);
	status_put_joined(&o, &s->behind, r.behind);
	status_put_joined(&o, &s->unanswered, r.unanswered);
	status_put_joined(&o, &s->fresh, r.fresh);
	storm_put32(&o, s->faults_total);
	storm_put16(&o, (uint16_t) r.faults);
	for (uint32_t i = 0; i < r.faults; i++) {
		storm_put32(&o, s->faults[i].node);
		storm_put8(&o, (uint8_t) s->faults[i].why);
		storm_put32(&o, (uint32_t) s->faults[i].sys);
	}
	storm_put_set(&o, &overdue);
	status_put_first(&o, &s->gone);
	return o.bad ? 0 : (size_t) (o.p - buf);
}

int storm_status_unpack(struct storm_status *s, const uint8_t *buf, size_t len,
			uint32_t count)
{
	struct storm_in i = { buf, buf + len, false };

	memset(s, 0, sizeof(*s));
	s->version = storm_get64(&i);
	s->last = storm_get64(&i);
	s->op = storm_get64(&i);
	s->floor = storm_get64(&i);
	s->phase = storm_get8(&i);
	s->flags = storm_get8(&i);
	s->progress = storm_get64(&i);
	s->cmp = storm_get64(&i);
	s->cmp_false = storm_get8(&i);
	s->mtu = storm_get32(&i);
	s->seen = storm_get64(&i);
	s->repaired = storm_get64(&i);
	s->lost = storm_get64(&i);
	storm_get_idset(&i, &s->behind, count - 1);
	storm_get_idset(&i, &s->unanswered, count - 1);
	storm_get_idset(&i, &s->fresh, count - 1);
	s->faults_total = storm_get32(&i);
	s->nfaults = storm_get16(&i);
	if (i.bad || s->nfaults > STORM_FAULTS_KEPT ||
	    s->nfaults > s->faults_total || s->phase > STORM_PHASE_ENDED ||
	    s->mtu < STORM_MTU_MIN)
		goto bad;
	for (uint32_t k = 0; k < s->nfaults; k++) {
		s->faults[k].node = storm_get32(&i);
		s->faults[k].why = storm_get8(&i);
		s->faults[k].sys = (int) storm_get32(&i);
		if (s->faults[k].node >= count || !s->faults[k].why ||
		    s->faults[k].why >= STORM_ERROR_END)
			goto bad;
	}
	storm_get_set(&i, &s->overdue, count - 1);
	storm_get_set(&i, &s->gone, count - 1);
	if (storm_in_done(&i))
		return STORM_OK;
bad:
	storm_status_free(s);
	return STORM_EINVAL;
}

/* Saturates: a total below nfaults would be malformed. */
static void status_more_faults(struct storm_status *s, uint32_t n)
{
	s->faults_total += n < UINT32_MAX - s->faults_total ?
				   n :
				   UINT32_MAX - s->faults_total;
}

void storm_status_fault(struct storm_status *s, uint32_t node,
			enum storm_err why, int sys)
{
	if (why == STORM_ELOST)
		storm_idset_add(&s->gone, node, node);
	if (why == STORM_ELOST && !sys)
		return;
	for (uint32_t i = 0; i < s->nfaults; i++)
		if (s->faults[i].node == node)
			return;
	if (s->nfaults < STORM_FAULTS_KEPT)
		s->faults[s->nfaults++] =
			(struct storm_fault) { node, why, sys };
	status_more_faults(s, 1);
}

bool storm_fault_of_session(enum storm_err why)
{
	return why == STORM_ENOAGENT || why == STORM_ELOST ||
	       why == STORM_EVERSION || why == STORM_EAUTH ||
	       why == STORM_EACCES || why == STORM_EBUSY || why == STORM_ETIME;
}

void storm_asked_of(struct storm_asked *a, const struct storm_cast *c,
		    uint64_t op)
{
	static const struct storm_idset all;

	*a = (struct storm_asked) {
		.op = op, .cmp = c->cmp, .p = &all, .cmp_p = &c->cmp_p
	};
	if (op > c->op) /* the owner's state is older than op */
		return;
	a->op = c->op;
	a->p = &c->p;
	a->floor = c->floor;
	a->renewed = c->floor > c->size;
	if (c->op)
		a->phase = c->decision	      ? STORM_PHASE_ENDED :
			   c->sent == c->size ? STORM_PHASE_STAGED :
						STORM_PHASE_BEGUN;
}

void storm_status_init(struct storm_status *s, const struct storm_asked *a,
		       uint32_t mtu)
{
	*s = (struct storm_status) {
		.op = a->op,
		.floor = a->floor,
		.phase = STORM_PHASE_ENDED,
		.flags = STORM_STATUS_MCAST,
		.progress = UINT64_MAX,
		.cmp = a->cmp,
		.mtu = mtu,
	};
}

/* Have all nodes of s but those behind come as far as is asked? */
static bool status_reached(const struct storm_status *s,
			   const struct storm_asked *a)
{
	/* a later op begins only after the owner saw the end of this one */
	return s->op > a->op ||
	       (s->op == a->op && s->phase >= a->phase && s->floor >= a->floor);
}

/* Add the late nodes of a child, or its whole subtree, if they are asked. */
static int status_add_late(struct storm_idset *late,
			   const struct storm_idset *p,
			   const struct storm_tree *t, uint32_t node,
			   const struct storm_idset *reported)
{
	struct storm_idset s = { 0 };
	int err = reported ? storm_idset_union(&s, reported) :
			     storm_tree_subtree(t, node, &s);

	if (!err && p->count)
		err = storm_idset_keep(&s, p);
	if (!err)
		err = storm_idset_union(late, &s);
	storm_idset_clear(&s);
	return err;
}

/* Is the operation for this node, and does nothing wait for it any more? */
static bool status_has_left(const struct storm_asked *a, uint32_t node)
{
	return a->p->count && a->named && !storm_idset_has(a->p, node) &&
	       (!a->named->count || storm_idset_has(a->named, node));
}

/* What a node said last, which has left and stands still, is of no account.  Once more
 * nodes are asked than before, only what was said since then counts. */
static void status_merge_progress(struct storm_status *into,
				  const struct storm_asked *a, uint32_t node,
				  const struct storm_status *child)
{
	if (a->renewed && child->floor < a->floor)
		into->progress = 0;
	else if (child->progress < into->progress &&
		 (a->renewed || !status_has_left(a, node)))
		into->progress = child->progress;
}

static void status_merge_op(struct storm_status *into,
			    const struct storm_asked *a,
			    const struct storm_tree *t, uint32_t node,
			    const struct storm_status *child)
{
	bool current = child && status_reached(child, a);
	uint64_t was = storm_idset_size(&into->behind);

	if (status_add_late(&into->behind, a->p, t, node,
			    current ? &child->behind : NULL))
		into->phase = STORM_PHASE_NONE; /* nothing can be claimed */
	if (current && child->op == a->op && child->phase < into->phase)
		into->phase = child->phase;
	if (child && child->op == a->op) {
		status_merge_progress(into, a, node, child);
		into->flags |= child->flags &
			       (STORM_STATUS_NO | STORM_STATUS_LACKS |
				STORM_STATUS_WAITS);
	} else if (!current && storm_idset_size(&into->behind) > was) {
		into->progress = 0;
		into->flags |= STORM_STATUS_LACKS;
	}
}

static void status_merge_cmp(struct storm_status *into,
			     const struct storm_asked *a,
			     const struct storm_tree *t, uint32_t node,
			     const struct storm_status *child)
{
	bool current = child && child->cmp == a->cmp;

	if (!a->cmp)
		return;
	if (current)
		into->cmp_false |= child->cmp_false;
	if (status_add_late(&into->unanswered, a->cmp_p, t, node,
			    current ? &child->unanswered : NULL))
		into->cmp = 0;
}

/* Only the highest operation's decision counts. */
static void status_merge_last(struct storm_status *into,
			      const struct storm_status *child)
{
	if (child->last > into->last) {
		into->last = child->last;
		into->flags &= (uint8_t) ~STORM_STATUS_COMMITTED;
	}
	if (child->last == into->last)
		into->flags |= child->flags & STORM_STATUS_COMMITTED;
}

static void status_merge_faults(struct storm_status *into,
				const struct storm_status *child)
{
	/* without memory they are told again */
	storm_idset_union(&into->gone, &child->gone);
	for (uint32_t i = 0; i < child->nfaults; i++)
		/* a fault of another operation does not count for this one */
		if (child->op == into->op ||
		    storm_fault_of_session(child->faults[i].why))
			storm_status_fault(into, child->faults[i].node,
					   child->faults[i].why,
					   child->faults[i].sys);
	if (child->op == into->op)
		status_more_faults(into, child->faults_total - child->nfaults);
}

void storm_status_merge(struct storm_status *into, const struct storm_asked *a,
			const struct storm_tree *t, uint32_t node,
			const struct storm_status *child)
{
	status_merge_op(into, a, t, node, child);
	status_merge_cmp(into, a, t, node, child);
	if (!child || !(child->flags & STORM_STATUS_MCAST))
		into->flags &= (uint8_t) ~STORM_STATUS_MCAST;
	if (!child)
		return;
	into->flags |= child->flags & STORM_STATUS_UNACKED;
	status_merge_last(into, child);
	/* without one of them the claim would be wrong */
	if (storm_idset_union(&into->fresh, &child->fresh))
		into->phase = STORM_PHASE_NONE;
	storm_idset_union(&into->overdue, &child->overdue);
	if (child->mtu < into->mtu)
		into->mtu = child->mtu;
	into->repaired += child->repaired;
	if (child->lost > into->lost)
		into->lost = child->lost;
	status_merge_faults(into, child);
}

/* Remove the subtree's nodes from late, except those that named has. */
static int status_drop_late(struct storm_idset *late,
			    const struct storm_tree *t, uint32_t node,
			    const struct storm_idset *named)
{
	struct storm_idset sub = { 0 }, here = { 0 };
	int err = storm_tree_subtree(t, node, &sub);

	if (!err)
		err = storm_idset_minus(&sub, named, &here);
	if (!err)
		err = storm_idset_drop(late, &here);
	storm_idset_clear(&sub);
	storm_idset_clear(&here);
	return err;
}

void storm_status_merge_round(struct storm_status *into,
			      const struct storm_asked *a,
			      const struct storm_tree *t, uint32_t node,
			      const struct storm_status *own)
{
	if (status_reached(own, a) &&
	    !status_drop_late(&into->behind, t, node, &own->behind) &&
	    own->op == a->op) {
		if (own->phase < into->phase)
			into->phase = own->phase;
		into->flags |= own->flags & STORM_STATUS_NO;
	}
	if (own->op == a->op)
		into->flags |= own->flags & STORM_STATUS_WAITS;
	if (a->cmp && own->cmp == a->cmp &&
	    !status_drop_late(&into->unanswered, t, node, &own->unanswered))
		into->cmp_false |= own->cmp_false;
	status_merge_last(into, own);
	if (storm_idset_union(&into->fresh, &own->fresh))
		into->phase = STORM_PHASE_NONE;
	status_merge_faults(into, own);
}

/* How far all nodes of the subtree have come. */
static uint8_t status_whole(const struct storm_status *s)
{
	return s->behind.count ? STORM_PHASE_NONE : s->phase;
}

bool storm_status_news(const struct storm_status *was,
		       const struct storm_status *is)
{
	/* nothing was reported of a new operation yet */
	uint8_t had = is->op == was->op ? status_whole(was) : STORM_PHASE_NONE;
	uint8_t flags = STORM_STATUS_MCAST | STORM_STATUS_UNACKED;

	if (is->faults_total > was->faults_total ||
	    (is->flags & ~was->flags & flags))
		return true;
	if (!is->behind.count &&
	    (is->phase > had || was->behind.count || !was->version))
		return true;
	return is->cmp && !is->unanswered.count &&
	       (is->cmp != was->cmp || was->unanswered.count);
}

bool storm_status_caught_up(const struct storm_status *was,
			    const struct storm_status *is)
{
	return !storm_idset_covers(&is->behind, &was->behind) ||
	       !storm_idset_covers(&is->unanswered, &was->unanswered);
}
