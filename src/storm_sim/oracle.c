/*
 * oracle.c - see oracle.h.
 *
 * One pass, in the order of time.  An operation takes effect when it is
 * decided.  An owner may decide and die before any node receives the decision;
 * its successor then decides again.  So the first decision that agrees with the
 * one of the highest epoch counts.  If some nodes have shown the operation, or
 * it has succeeded, that decision holds for them.  A successor may still abort
 * it if none of them is a member any more.
 *
 * Each node shows every committed operation that it is in, once and in that
 * order.  So it reads what the model has, and nodes agree on which operation
 * came last.  A write that does not change a place cannot be seen.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/wire/cast.h"

struct op_state {
	size_t effective; /* entry of the valid decision; or SIZE_MAX */
	bool commit;	  /* the decision */
	bool revoked;	  /* a successor has aborted it */
	bool taken;	  /* it has been applied to the model */
	bool someone_no;  /* compare: it did not hold on all then */
	uint64_t issued_at;
	size_t issue; /* its entry */
	bool issued, ended, named;
	uint32_t owner;
	int result;
	uint32_t place_in_line; /* among those committed, from 1 */
};

struct node_state {
	bool disturbed, broken, out, named;
	uint32_t out_epoch, epoch;
	uint32_t line; /* committed ones up to this are shown, or not
				   for this node */
	uint64_t *mem; /* the values that it has shown */
	size_t forgot; /* entry: it lost all state before this */
};

struct judge {
	const struct history *h;
	const struct oracle_limits *lim;
	char *why;
	size_t room;	     /* of why */
	size_t at;	     /* the entry being checked */
	struct op_state *op; /* by op - 1 */
	struct node_state *node;
	/* by op - 1, node; unseen: the place had this value already */
	uint8_t *staged, *shown, *signalled, *unseen, *behind;
	uint64_t *model;   /* by node, place: after all decisions so far */
	uint64_t *own_low; /* by op - 1, node: own variable when issued */
	uint32_t *line;	   /* ops committed, in order */
	uint32_t lined;
	uint64_t last_epoch, last_number;
	uint32_t last_op[ORACLE_OWNERS];
	uint64_t calm_at;
	bool lost[ORACLE_OWNERS], ok;
	uint8_t *id; /* of reports: 1 reported, 2 heard, 4 acked */
	uint32_t *id_node;
};

__attribute__((format(printf, 2, 3))) static void
oracle_wrong(struct judge *j, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (!j->ok)
		return; /* only the first one counts */
	j->ok = false;
	n = j->at < j->h->count ?
		    snprintf(j->why, j->room,
			     "%.6f s: ", (double) j->h->e[j->at].at / 1e9) :
		    snprintf(j->why, j->room, "at the end: ");
	va_start(ap, fmt);
	vsnprintf(j->why + n, j->room - (size_t) n, fmt, ap);
	va_end(ap);
}

static size_t oracle_cell(const struct judge *j, uint32_t op, uint32_t node)
{
	return (size_t) (op - 1) * j->h->nodes + node;
}

static bool oracle_member_of(const struct judge *j, const struct history_op *o,
			     uint32_t node)
{
	return history_in(o, node) && !j->node[node].out;
}

/* True if this node must show the committed operation but has not. */
static bool oracle_missing(const struct judge *j, uint32_t op, uint32_t node)
{
	const struct history_op *o = &j->h->op[op - 1];
	size_t at = oracle_cell(j, op, node);

	return (o->writes || o->event) && !j->shown[at] && !j->unseen[at];
}

static bool oracle_has_members(const struct judge *j, uint32_t op)
{
	for (uint32_t i = 0; i < j->h->nodes; i++)
		if (oracle_member_of(j, &j->h->op[op - 1], i))
			return true;
	return false;
}

/* -------------------------------------------------------------- operations --- */

/* Was it committed by any owner before this entry? */
static bool oracle_was_committed(const struct history *h, uint32_t op,
				 size_t before)
{
	for (size_t k = 0; k < before; k++)
		if (h->e[k].kind == HISTORY_DECIDED && h->e[k].op == op &&
		    h->e[k].what == STORM_COMMIT)
			return true;
	return false;
}

/* Find the decision that holds.  It is known only at the end. */
static void oracle_find_effective(struct judge *j)
{
	for (uint32_t i = 0; i < j->h->ops; i++)
		j->op[i].effective = SIZE_MAX;
	for (size_t k = 0; k < j->h->count; k++) {
		const struct history_entry *e = &j->h->e[k];
		struct op_state *s;

		if (e->kind != HISTORY_DECIDED)
			continue;
		s = &j->op[e->op - 1];
		if (s->effective == SIZE_MAX ||
		    j->h->e[s->effective].epoch <= e->epoch) {
			s->commit = e->what == STORM_COMMIT;
			s->effective = k;
		}
	}
	for (size_t k = 0; k < j->h->count; k++) {
		const struct history_entry *e = &j->h->e[k];

		bool seen =
			(e->kind == HISTORY_SHOWN && e->op) ||
			(e->kind == HISTORY_RESULT &&
			 (e->what == STORM_DONE || e->what == HISTORY_TRUE));

		if (seen && !j->op[e->op - 1].commit &&
		    j->op[e->op - 1].effective != SIZE_MAX &&
		    oracle_was_committed(j->h, e->op, k))
			j->op[e->op - 1].commit = true;
	}
	for (size_t k = j->h->count; k--;) {
		const struct history_entry *e = &j->h->e[k];

		if (e->kind == HISTORY_DECIDED &&
		    j->op[e->op - 1].commit == (e->what == STORM_COMMIT))
			j->op[e->op - 1].effective = k;
	}
}

static void oracle_issued(struct judge *j, const struct history_entry *e)
{
	struct op_state *s = &j->op[e->op - 1];
	const struct history_op *o = &j->h->op[e->op - 1];

	s->issued = true;
	s->issued_at = e->at;
	s->issue = j->at;
	s->owner = e->peer;
	for (uint32_t i = 0; o->own && i < j->h->nodes; i++)
		j->own_low[oracle_cell(j, e->op, i)] =
			j->node[i].mem[o->place_r];
}

/* Data may be shown only after all have staged them. */
static void oracle_all_staged(struct judge *j, const struct history_entry *e)
{
	const struct history_op *o = &j->h->op[e->op - 1];

	for (uint32_t i = 0; i < j->h->nodes; i++)
		if (oracle_member_of(j, o, i) &&
		    !j->behind[oracle_cell(j, e->op, i)] &&
		    !j->staged[oracle_cell(j, e->op, i)])
			oracle_wrong(
				j,
				"op %u is committed, but n%u has not staged it",
				e->op, i + 1);
}

/* Could the relation hold for an own variable that was between low and high? */
static bool oracle_could(enum storm_relation rel, uint64_t low, uint64_t high,
			 uint64_t v)
{
	switch (rel) {
	case STORM_GE:
		return high >= v;
	case STORM_LT:
		return low < v;
	case STORM_EQ:
		return low <= v && v <= high;
	case STORM_NE:
		return low != v || high != v;
	}
	return false;
}

static enum storm_relation oracle_opposite(enum storm_relation rel)
{
	return rel == STORM_GE ? STORM_LT :
	       rel == STORM_LT ? STORM_GE :
	       rel == STORM_EQ ? STORM_NE :
				 STORM_EQ;
}

/* The node has restarted since the operation was issued: it may have answered
 * before that or after. */
static bool oracle_forgot_since(const struct judge *j, uint32_t op,
				uint32_t node)
{
	return j->node[node].broken ||
	       j->node[node].forgot > j->op[op - 1].issue;
}

/* Must this node answer no?  If the operation was not committed: can it? */
static bool oracle_says_no(const struct judge *j, uint32_t op, uint32_t node)
{
	const struct history_op *o = &j->h->op[op - 1];
	uint64_t low = j->own_low[oracle_cell(j, op, node)];
	uint64_t high = j->node[node].mem[o->place_r];

	if (!o->own)
		return !history_holds(
			o->rel, j->model[node * j->h->places + o->place_r],
			o->operand);
	if (oracle_forgot_since(j, op, node))
		return !j->op[op - 1].commit;
	return j->op[op - 1].commit ?
		       !oracle_could(o->rel, low, high, o->operand) :
		       oracle_could(oracle_opposite(o->rel), low, high,
				    o->operand);
}

static void oracle_take_effect(struct judge *j, const struct history_entry *e)
{
	const struct history_op *o = &j->h->op[e->op - 1];
	struct op_state *s = &j->op[e->op - 1];

	s->taken = true;
	if (e->epoch < j->last_epoch ||
	    (e->epoch == j->last_epoch && e->number <= j->last_number))
		oracle_wrong(
			j,
			"op %u is decided out of order: (%u, %llu) after (%llu, %llu)",
			e->op, e->epoch, (unsigned long long) e->number,
			(unsigned long long) j->last_epoch,
			(unsigned long long) j->last_number);
	/* canceled operations may be decided in any order */
	if (e->op < j->last_op[s->owner] && !s->ended)
		oracle_wrong(
			j,
			"op %u is decided after op %u, which was issued later",
			e->op, j->last_op[s->owner]);
	j->last_op[s->owner] = e->op;
	j->last_epoch = e->epoch;
	j->last_number = e->number;
	for (uint32_t i = 0; o->compare && i < j->h->nodes; i++)
		if (oracle_member_of(j, o, i) && oracle_says_no(j, e->op, i))
			s->someone_no = true;
	if (!s->commit)
		return;
	if (s->someone_no)
		oracle_wrong(
			j, "op %u is committed, but its relation does not hold",
			e->op);
	j->line[j->lined++] = e->op;
	s->place_in_line = j->lined;
	for (uint32_t i = 0; o->writes && i < j->h->nodes; i++) {
		uint64_t *v = &j->model[i * j->h->places + o->place];

		if (!oracle_member_of(j, o, i))
			continue;
		j->unseen[oracle_cell(j, e->op, i)] = *v == o->value;
		*v = o->value;
	}
}

/* A successor aborts it: no member has shown it or will. */
static void oracle_revoke(struct judge *j, const struct history_entry *e)
{
	const struct history_op *o = &j->h->op[e->op - 1];

	j->op[e->op - 1].revoked = true;
	for (uint32_t i = 0; i < j->h->nodes; i++) {
		if (!oracle_member_of(j, o, i))
			continue;
		if (j->shown[oracle_cell(j, e->op, i)])
			oracle_wrong(j, "op %u is aborted, but n%u shows it",
				     e->op, i + 1);
		if (o->writes)
			j->model[i * j->h->places + o->place] =
				j->node[i].mem[o->place];
	}
}

static void oracle_decided(struct judge *j, const struct history_entry *e)
{
	if (!j->op[e->op - 1].issued)
		oracle_wrong(j, "op %u is decided, but was never issued",
			     e->op);
	if (e->what == STORM_COMMIT)
		oracle_all_staged(j, e);
	if (j->at == j->op[e->op - 1].effective)
		oracle_take_effect(j, e);
	else if (e->what == STORM_ABORT && j->op[e->op - 1].taken &&
		 j->op[e->op - 1].commit &&
		 e->epoch > j->h->e[j->op[e->op - 1].effective].epoch)
		oracle_revoke(j, e);
}

static void oracle_own_compared(struct judge *j, const struct history_entry *e)
{
	const struct history_op *o = &j->h->op[e->op - 1];
	bool may_be_false = false;

	for (uint32_t i = 0; i < j->h->nodes; i++) {
		uint64_t low = j->own_low[oracle_cell(j, e->op, i)];
		uint64_t high = j->node[i].mem[o->place_r];

		if (!oracle_member_of(j, o, i))
			continue;
		if (oracle_forgot_since(j, e->op, i)) {
			may_be_false = true;
			continue;
		}
		if (e->what == HISTORY_TRUE &&
		    !oracle_could(o->rel, low, high, o->operand))
			oracle_wrong(j, "op %u is TRUE, but not on n%u", e->op,
				     i + 1);
		may_be_false |= oracle_could(oracle_opposite(o->rel), low, high,
					     o->operand);
	}
	if (e->what == HISTORY_FALSE && !may_be_false)
		oracle_wrong(j, "op %u is FALSE, but it holds on all", e->op);
}

static void oracle_succeeded(struct judge *j, const struct history_entry *e)
{
	const struct history_op *o = &j->h->op[e->op - 1];
	const struct op_state *s = &j->op[e->op - 1];

	if (!s->taken || !s->commit) {
		oracle_wrong(j, "op %u has succeeded, but was not committed",
			     e->op);
		return;
	}
	for (uint32_t i = 0; i < j->h->nodes; i++)
		if (oracle_member_of(j, o, i) && !j->node[i].named &&
		    oracle_missing(j, e->op, i))
			oracle_wrong(
				j,
				"op %u has succeeded, but n%u does not show it",
				e->op, i + 1);
}

static void oracle_failed(struct judge *j, const struct history_entry *e)
{
	const struct op_state *s = &j->op[e->op - 1];

	if (s->effective != SIZE_MAX && s->commit)
		oracle_wrong(j, "op %u has ended with %d, but was committed",
			     e->op, e->what);
	if (e->what == HISTORY_FALSE) {
		if (!s->taken || !s->someone_no)
			oracle_wrong(j, "op %u is FALSE, but it holds on all",
				     e->op);
	} else if (!s->named && !j->lost[s->owner]) {
		oracle_wrong(j, "op %u has failed, but no node is named",
			     e->op);
	}
}

static void oracle_late(struct judge *j, const struct op_state *s, uint32_t op,
			uint64_t now)
{
	uint64_t from = storm_max(s->issued_at, j->calm_at);

	if (j->lim->bound && now > from + j->lim->bound)
		oracle_wrong(j, "op %u took %.3f s after the last fault", op,
			     (double) (now - from) / 1e9);
}

static void oracle_result(struct judge *j, const struct history_entry *e)
{
	struct op_state *s = &j->op[e->op - 1];

	if (!s->issued || s->ended)
		oracle_wrong(j, "op %u has ended %s", e->op,
			     s->ended ? "twice" : "but was not issued");
	s->ended = true;
	s->result = e->what;
	if (!j->lost[s->owner])
		oracle_late(j, s, e->op, e->at);
	if (e->what == STORM_UNKNOWN) {
		if (!j->lost[s->owner])
			oracle_wrong(
				j,
				"op %u is UNKNOWN, but its owner still has its domain",
				e->op);
	} else if (j->h->op[e->op - 1].own && !j->h->op[e->op - 1].writes &&
		   e->what != HISTORY_FAILED) {
		oracle_own_compared(j, e);
	} else if (e->what == STORM_DONE || e->what == HISTORY_TRUE) {
		oracle_succeeded(j, e);
	} else {
		oracle_failed(j, e);
	}
}

/* -------------------------------------------------------------------- nodes --- */

/* Every earlier committed operation that this node is in must have been shown
 * already. */
static void oracle_in_order(struct judge *j, struct node_state *n,
			    const struct history_entry *e)
{
	uint32_t to = j->op[e->op - 1].place_in_line;

	if (to <= n->line) {
		oracle_wrong(j, "n%u shows op %u after a later one",
			     e->node + 1, e->op);
		return;
	}
	for (uint32_t i = n->line; i + 1 < to; i++) {
		uint32_t op = j->line[i];
		const struct history_op *o = &j->h->op[op - 1];

		if (history_in(o, e->node) && !j->op[op - 1].revoked &&
		    !(o->each && n->named) && oracle_missing(j, op, e->node))
			oracle_wrong(j,
				     "n%u shows op %u, but not op %u before it",
				     e->node + 1, e->op, op);
	}
	n->line = to;
}

/* A node without a fault waits for no other one that is behind. */
static void oracle_in_time(struct judge *j, const struct history_entry *e)
{
	const struct history_op *o = &j->h->op[e->op - 1];
	uint64_t took = e->at - j->op[e->op - 1].issued_at;

	if (o->others && took > o->others && !j->node[e->node].disturbed &&
	    !j->node[e->node].broken)
		oracle_wrong(j, "n%u has op %u only %.3f s after it was issued",
			     e->node + 1, e->op, (double) took / 1e9);
}

static void oracle_shown(struct judge *j, const struct history_entry *e)
{
	const struct history_op *o = &j->h->op[e->op - 1];
	const struct op_state *s = &j->op[e->op - 1];
	struct node_state *n = &j->node[e->node];

	if (!history_in(o, e->node))
		oracle_wrong(j, "n%u shows op %u, which is not for it",
			     e->node + 1, e->op);
	if (!s->taken || !s->commit || s->revoked) {
		oracle_wrong(j, "n%u shows op %u, which %s", e->node + 1, e->op,
			     s->effective == SIZE_MAX ? "was not decided" :
			     s->commit && !s->revoked ? "is not yet committed" :
							"is aborted");
		return;
	}
	if (n->out && j->h->e[s->effective].epoch >= n->out_epoch)
		oracle_wrong(
			j,
			"n%u shows op %u of epoch %u, but was excluded in %u",
			e->node + 1, e->op, j->h->e[s->effective].epoch,
			n->out_epoch);
	if (j->shown[oracle_cell(j, e->op, e->node)])
		oracle_wrong(j, "n%u shows op %u twice", e->node + 1, e->op);
	if (e->value != o->value)
		oracle_wrong(j, "n%u shows op %u with other data", e->node + 1,
			     e->op);
	oracle_in_order(j, n, e);
	if (o->each)
		oracle_in_time(j, e);
	j->shown[oracle_cell(j, e->op, e->node)] = 1;
	if (o->writes)
		n->mem[o->place] = o->value;
}

static void oracle_event(struct judge *j, const struct history_entry *e)
{
	uint8_t *seen = &j->signalled[oracle_cell(j, e->op, e->node)];

	if (oracle_missing(j, e->op, e->node))
		oracle_wrong(j, "n%u is signalled op %u before its data",
			     e->node + 1, e->op);
	if (*seen)
		oracle_wrong(j, "n%u is signalled op %u twice", e->node + 1,
			     e->op);
	if (e->value != j->h->op[e->op - 1].value)
		oracle_wrong(j, "n%u is signalled op %u and reads other data",
			     e->node + 1, e->op);
	*seen = 1;
}

static void oracle_read_there(struct judge *j, const struct history_entry *e)
{
	if (e->value != j->node[e->node].mem[e->place])
		oracle_wrong(
			j,
			"n%u reads %llx at place %u, where %llx was shown last",
			e->node + 1, (unsigned long long) e->value, e->place,
			(unsigned long long) j->node[e->node].mem[e->place]);
}

static void oracle_own(struct judge *j, const struct history_entry *e)
{
	uint64_t *v = &j->node[e->node].mem[e->place];

	if (e->value > *v)
		*v = e->value;
}

static void oracle_epoch(struct judge *j, const struct history_entry *e)
{
	struct node_state *n = &j->node[e->node];

	if (e->epoch < n->epoch)
		oracle_wrong(j, "n%u falls from epoch %u to %u", e->node + 1,
			     n->epoch, e->epoch);
	n->epoch = e->epoch;
}

/* --------------------------------------------------------------- membership --- */

static void oracle_excluded(struct judge *j, const struct history_entry *e)
{
	struct node_state *n = &j->node[e->node];

	if (!n->out)
		n->out_epoch = e->epoch;
	n->out = true;
}

static void oracle_emptied(struct judge *j, uint32_t node)
{
	struct node_state *n = &j->node[node];

	memset(n->mem, 0, j->h->places * sizeof(*n->mem));
	n->forgot = j->at;
}

static void oracle_joined(struct judge *j, const struct history_entry *e)
{
	struct node_state *n = &j->node[e->node];

	if (!n->out)
		oracle_wrong(j, "n%u joins, but is a member", e->node + 1);
	if (e->epoch <= n->out_epoch)
		oracle_wrong(j, "n%u joins in epoch %u, but left in %u",
			     e->node + 1, e->epoch, n->out_epoch);
	/* it may have failed again since it sent JOIN */
	n->disturbed |= n->broken;
	n->out = n->broken = n->named = false;
	n->line = j->lined;
	memset(&j->model[e->node * j->h->places], 0,
	       j->h->places * sizeof(*j->model));
	oracle_emptied(j, e->node);
}

static void oracle_left(struct judge *j, const struct history_entry *e)
{
	if (!j->node[e->node].out)
		oracle_wrong(j, "n%u leaves, but is a member", e->node + 1);
	oracle_emptied(j, e->node);
}

static void oracle_named(struct judge *j, const struct history_entry *e)
{
	bool known = e->node < j->h->nodes;

	/* a fault without a known node is valid only if no member is left */
	if (e->op && (known || !oracle_has_members(j, e->op)))
		j->op[e->op - 1].named = true;
	if (!known)
		return;
	if (!j->node[e->node].disturbed && !j->node[e->node].broken)
		oracle_wrong(j, "n%u is named, but had no fault", e->node + 1);
	j->node[e->node].named = true;
}

static void oracle_accepted(struct judge *j, const struct history_entry *e)
{
	const struct node_state *peer = &j->node[e->peer];

	if (peer->out && e->epoch >= peer->out_epoch)
		oracle_wrong(
			j,
			"a message of n%u is accepted in epoch %u, but it was excluded in %u",
			e->peer + 1, e->epoch, peer->out_epoch);
}

/* ------------------------------------------------------------------ reports --- */

static void oracle_report(struct judge *j, const struct history_entry *e)
{
	uint8_t *id;

	if (e->value >= j->h->ids) {
		oracle_wrong(j, "report %llu does not exist",
			     (unsigned long long) e->value);
		return;
	}
	id = &j->id[e->value];
	if (e->kind == HISTORY_REPORTED) {
		*id |= 1;
		j->id_node[e->value] = e->node;
	} else if (e->kind == HISTORY_HEARD) {
		if (*id != 1)
			oracle_wrong(j, "report %llu is received %s",
				     (unsigned long long) e->value,
				     *id & 2 ? "twice" : "but was not made");
		*id |= 2;
	} else {
		/* except at the end, when the owner releases all nodes */
		if (!(*id & 2) && !j->lost[0])
			oracle_wrong(
				j,
				"report %llu is acknowledged, but was not received",
				(unsigned long long) e->value);
		*id |= 4;
	}
}

/* ---------------------------------------------------------------------- all --- */

static void oracle_one(struct judge *j, const struct history_entry *e)
{
	switch (e->kind) {
	case HISTORY_ISSUED:
		oracle_issued(j, e);
		break;
	case HISTORY_NAMED:
		oracle_named(j, e);
		break;
	case HISTORY_FORGOTTEN:
		j->op[e->op - 1].ended = true;
		break;
	case HISTORY_RESULT:
		oracle_result(j, e);
		break;
	case HISTORY_DECIDED:
		oracle_decided(j, e);
		break;
	case HISTORY_EXCLUDED:
		oracle_excluded(j, e);
		break;
	case HISTORY_JOINED:
		oracle_joined(j, e);
		break;
	case HISTORY_LOST:
		j->lost[e->peer] = true;
		break;
	case HISTORY_EPOCH:
		oracle_epoch(j, e);
		break;
	case HISTORY_LEFT:
		oracle_left(j, e);
		break;
	case HISTORY_STAGED:
		j->staged[oracle_cell(j, e->op, e->node)] = 1;
		if (!j->h->op[e->op - 1].each)
			oracle_in_time(j, e);
		break;
	case HISTORY_BEHIND:
		j->behind[oracle_cell(j, e->op, e->node)] = 1;
		break;
	case HISTORY_SHOWN:
		if (e->op)
			oracle_shown(j, e);
		else
			oracle_wrong(j, "n%u shows data that were never sent",
				     e->node + 1);
		break;
	case HISTORY_READ:
		oracle_read_there(j, e);
		break;
	case HISTORY_EVENT:
		if (e->op)
			oracle_event(j, e);
		else
			oracle_wrong(
				j,
				"n%u is signalled an event that was never sent",
				e->node + 1);
		break;
	case HISTORY_OWN:
		oracle_own(j, e);
		break;
	case HISTORY_HEARD:
	case HISTORY_REPORTED:
	case HISTORY_ACKED:
		oracle_report(j, e);
		break;
	case HISTORY_ACCEPTED:
		oracle_accepted(j, e);
		break;
	case HISTORY_COST:
		if (e->value > (e->node == STORM_NO_NODE ? j->lim->owner_cost :
							   j->lim->node_cost))
			oracle_wrong(j, "%llu datagrams for one operation",
				     (unsigned long long) e->value);
		break;
	case HISTORY_WINDOW:
		if (e->value > j->lim->window)
			oracle_wrong(
				j,
				"%llu bytes are in flight: more than the window",
				(unsigned long long) e->value);
		break;
	case HISTORY_KEPT:
		oracle_wrong(j, "n%u kept its %s", e->node + 1,
			     e->what == HISTORY_SESSION ? "session" :
							  "temporary file");
		break;
	case HISTORY_FORGED:
		if (e->value)
			oracle_wrong(
				j,
				"%llu bytes sent in reply to a forged datagram",
				(unsigned long long) e->value);
		break;
	case HISTORY_DISTURBED:
		j->node[e->node].disturbed = true;
		break;
	case HISTORY_BROKEN:
		j->node[e->node].broken = true;
		break;
	case HISTORY_RESTARTED:
		j->node[e->node].epoch = 0;
		oracle_emptied(j, e->node);
		break;
	case HISTORY_CALM:
		j->calm_at = e->at;
		break;
	}
}

static void oracle_op_over(struct judge *j, uint32_t op)
{
	const struct history_op *o = &j->h->op[op - 1];
	const struct op_state *s = &j->op[op - 1];
	bool any = false;

	if (s->issued && !s->ended && !j->lost[s->owner])
		oracle_wrong(j, "op %u never ended", op);
	for (uint32_t i = 0; o->others && s->issued && i < j->h->nodes; i++)
		if (history_in(o, i) && !j->node[i].disturbed &&
		    !j->node[i].broken && !j->staged[oracle_cell(j, op, i)])
			oracle_wrong(j, "n%u never has op %u", i + 1, op);
	for (uint32_t i = 0; i < j->h->nodes; i++)
		any |= j->shown[oracle_cell(j, op, i)];
	for (uint32_t i = 0; any && !j->lim->dead && i < j->h->nodes; i++) {
		const struct node_state *n = &j->node[i];

		if (oracle_member_of(j, o, i) && !n->named && !n->broken &&
		    !s->revoked && s->place_in_line > n->line &&
		    oracle_missing(j, op, i))
			oracle_wrong(j, "some show op %u, but n%u never does",
				     op, i + 1);
		if (o->event && j->shown[oracle_cell(j, op, i)] && !n->broken &&
		    !n->named && !j->signalled[oracle_cell(j, op, i)])
			oracle_wrong(
				j, "n%u shows op %u, but its event is missing",
				i + 1, op);
	}
}

/* The end: check that nothing is missing. */
static void oracle_over(struct judge *j)
{
	for (uint32_t op = 1; op <= j->h->ops; op++)
		oracle_op_over(j, op);
	for (uint32_t i = 0; i < j->h->nodes && !j->lim->dead; i++)
		if (j->node[i].broken && !j->node[i].named && !j->node[i].out)
			oracle_wrong(j, "n%u is broken, but was never named",
				     i + 1);
	for (uint32_t k = 0; k < j->h->ids && !j->lim->dead; k++) {
		const struct node_state *n = &j->node[j->id_node[k]];

		if (j->id[k] & 1 && !n->broken && !n->out && j->id[k] != 7)
			oracle_wrong(j, "report %u was never %s", k,
				     j->id[k] & 2 ? "acknowledged" :
						    "received");
	}
}

static void *oracle_zeroes(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		abort();
	return p;
}

bool oracle_judge(const struct history *h, const struct oracle_limits *lim,
		  char *why, size_t room)
{
	size_t cells = (size_t) h->ops * h->nodes;
	struct judge j = {
		.h = h, .lim = lim, .why = why, .room = room, .ok = true
	};
	size_t places = (size_t) h->nodes * h->places;
	uint64_t *mem = oracle_zeroes(places, sizeof(*mem));

	j.op = oracle_zeroes(h->ops, sizeof(*j.op));
	j.node = oracle_zeroes(h->nodes, sizeof(*j.node));
	j.staged = oracle_zeroes(5 * cells, 1);
	j.shown = j.staged + cells;
	j.signalled = j.shown + cells;
	j.unseen = j.signalled + cells;
	j.behind = j.unseen + cells;
	j.model = oracle_zeroes(places, sizeof(*j.model));
	j.own_low = oracle_zeroes(cells, sizeof(*j.own_low));
	j.line = oracle_zeroes(h->ops, sizeof(*j.line));
	j.id = oracle_zeroes(h->ids, 1);
	j.id_node = oracle_zeroes(h->ids, sizeof(*j.id_node));
	for (uint32_t i = 0; i < h->nodes; i++)
		j.node[i].mem = mem + (size_t) i * h->places;
	oracle_find_effective(&j);
	for (j.at = 0; j.ok && j.at < h->count; j.at++)
		oracle_one(&j, &h->e[j.at]);
	if (j.ok)
		oracle_over(&j);
	free(mem);
	free(j.op);
	free(j.node);
	free(j.staged);
	free(j.model);
	free(j.own_low);
	free(j.line);
	free(j.id);
	free(j.id_node);
	return j.ok;
}
