/*
 * owner_compare.c - COMPARE-AND-WRITE at its initiator (Algorithm 12).
 *
 * Own variables never fall, so comparing one without writing anything is a
 * reduction over the combining tree that needs no order: it runs beside
 * whatever else the domain does.  Every other comparison is an operation like
 * a transfer: announced, answered by STAGED with a yes or a no, and decided
 * (owner_xfer.c); from there it has its order, its retries, and its all or
 * nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "owner_private.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

static void owner_compare_end(struct storm_owner *o, enum storm_compare result,
			      enum storm_state state,
			      struct storm_faults *faults)
{
	struct owner_comparisons *q = &o->comparisons;
	struct owner_compare *c = q->first;
	struct storm_outcome out;

	q->first = c->next;
	if (!q->first)
		q->tail = &q->first;
	q->asked_at = 0;
	storm_faults_outcome(faults, state, &out);
	o->ops.compare_done(o->arg, c->token, result, &out);
	storm_idset_clear(&c->p);
	free(c);
}

/* The first of the queue is asked. */
static void owner_compare_start(struct storm_owner *o, uint64_t now)
{
	const struct owner_compare *c = o->comparisons.first;

	o->comparisons.asked_at = now;
	o->cast.cmp++;
	o->cast.cmp_var = (uint8_t) c->c.var;
	o->cast.cmp_rel = (uint8_t) c->c.rel;
	o->cast.cmp_value = c->c.value;
	storm_idset_clear(&o->cast.cmp_p);
	storm_idset_union(&o->cast.cmp_p, &c->p);
	owner_ask_new(o, now);
}

static bool owner_compare_answered(const struct storm_owner *o)
{
	return o->sum.cmp == o->cast.cmp && !o->sum.unanswered.count;
}

void owner_compare_advance(struct storm_owner *o, uint64_t now)
{
	while (o->phase == OWNER_OPEN && o->comparisons.first) {
		struct storm_faults l = { 0 };

		owner_blame_outside(o, &o->comparisons.first->p, &l);
		if (l.count) {
			owner_compare_end(o, STORM_FAILED, STORM_ABORTED, &l);
		} else if (!o->comparisons.asked_at) {
			owner_compare_start(o, now);
			continue;
		} else if (owner_compare_answered(o)) {
			owner_ask_answered(o, now);
			owner_compare_end(
				o, o->sum.cmp_false ? STORM_FALSE : STORM_TRUE,
				STORM_DONE, &l);
		} else {
			return;
		}
	}
}

uint64_t owner_compare_tick(struct storm_owner *o, uint64_t now)
{
	const struct owner_comparisons *q = &o->comparisons;
	struct storm_faults l = { 0 };
	uint64_t late = q->first ? q->asked_at + q->first->limit : STORM_NEVER;

	if (now < late)
		return late;
	owner_ask_sum(o);
	owner_blame_late(o, &o->sum.unanswered, &l);
	owner_compare_end(o, STORM_FAILED, STORM_ABORTED, &l);
	owner_compare_advance(o, now);
	return q->first ? now + q->first->limit : STORM_NEVER;
}

void owner_compare_end_all(struct storm_owner *o)
{
	while (o->comparisons.first) {
		struct storm_faults none = { 0 };

		owner_compare_end(o, STORM_FAILED, STORM_ABORTED, &none);
	}
}

static int owner_compare_queue_unordered(struct storm_owner *o,
					 struct storm_idset *p,
					 const struct storm_comparison *c,
					 uint64_t limit, void *token)
{
	struct owner_compare *q = calloc(1, sizeof(*q));

	if (!q) {
		storm_idset_clear(p);
		return STORM_ENOMEM;
	}
	q->p = *p;
	q->c = *c;
	q->limit = limit;
	q->token = token;
	*o->comparisons.tail = q;
	o->comparisons.tail = &q->next;
	return STORM_OK;
}

static void owner_compare_ended(struct storm_owner *o, void *token,
				enum storm_compare result,
				struct storm_outcome *out)
{
	o->ops.compare_done(o->arg, token, result, out);
}

bool owner_compare_ordered(uint32_t var, const struct storm_assign *write)
{
	return var >= STORM_VARS || write;
}

int owner_compare_queue_within(struct storm_owner *o,
			       const struct storm_idset *P, uint32_t var,
			       enum storm_relation rel, uint64_t value,
			       uint64_t limit, void *token)
{
	const struct storm_comparison c = { .var = var,
					    .rel = rel,
					    .value = value };
	struct storm_idset p = { 0 };
	int err;

	if (o->phase != OWNER_OPEN)
		return STORM_ECLOSED;
	if (var >= STORM_VARS || rel > STORM_NE)
		return STORM_EINVAL;
	err = owner_set_copy(o, P, &p);
	if (err)
		return err;
	return owner_compare_queue_unordered(
		o, &p, &c, storm_min(limit, o->conf.set.op_timeout), token);
}

int owner_compare_queue(struct storm_owner *o, const struct storm_idset *P,
			uint32_t var, enum storm_relation rel, uint64_t value,
			const struct storm_assign *write, void *token)
{
	struct storm_begin b = {
		.to = { .kind = (enum storm_target_kind) STORM_KIND_COMPARE },
		.cmp = { .var = var, .rel = rel, .value = value },
	};
	static const struct storm_bytes none;
	int err;

	if (!owner_compare_ordered(var, write))
		return owner_compare_queue_within(
			o, P, var, rel, value, o->conf.set.op_timeout, token);
	if (o->phase != OWNER_OPEN)
		return STORM_ECLOSED;
	if (!storm_var_known(var) || rel > STORM_NE ||
	    (write &&
	     (write->var < STORM_VARS || !storm_var_known(write->var))))
		return STORM_EINVAL;
	err = owner_set_copy(o, P, &b.p);
	if (err)
		return err;
	if (write) {
		b.cmp.writes = true;
		b.cmp.write = *write;
	}
	return owner_xfer_queue(o, &b, &none, token, false,
				owner_compare_ended);
}
