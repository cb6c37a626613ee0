/*
 * owner_ask.c - what the owner asks all nodes for, and their answers: the sum
 * of all subtrees, the nodes that are late, and when to ask those again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>

#include "owner_private.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

#define ASK_FIRST (50 * STORM_MS) /* until answers were timed */
#define ASK_MIN (20 * STORM_MS)
#define ASK_MAX (250 * STORM_MS)
/* While it is not known yet which nodes datagrams reach (storm_child_cut()). */
#define ASK_EARLY (40 * STORM_MS)
#define EARLY STORM_SEC
#define NEW_AGAIN (4 * STORM_MS)
#define NAMED 4 /* children in a line of the log */

void owner_ask_soon(struct storm_owner *o, uint64_t now)
{
	struct owner_ask *a = &o->ask;

	a->every = a->answer_time ? 2 * a->answer_time : ASK_FIRST;
	if (a->every < ASK_MIN)
		a->every = ASK_MIN;
	if (a->every > ASK_MAX)
		a->every = ASK_MAX;
	a->at = now + a->every;
	a->asked_at = now;
}

void owner_ask_answered(struct storm_owner *o, uint64_t now)
{
	struct owner_ask *a = &o->ask;
	uint64_t t = now - a->asked_at;

	if (a->asked_at)
		a->answer_time = a->answer_time ? (3 * a->answer_time + t) / 4 :
						  t;
	a->asked_at = 0;
}

/* What the owner waits for now. */
static void owner_ask_what(const struct storm_owner *o, struct storm_asked *a)
{
	/* the first transfer is begun by OPEN, before a state has it */
	storm_asked_of(a, &o->cast,
		       o->phase < OWNER_OPEN && o->open->has_begin ?
			       o->open->begin.op :
			       o->cast.op);
	if (o->operations.first && o->operations.first->begin.op == a->op)
		a->named = &o->operations.first->begin.p;
}

bool owner_ask_owes(const struct storm_owner *o, const struct storm_child *c)
{
	struct storm_status st;
	struct storm_asked a;
	bool late;

	owner_ask_what(o, &a);
	storm_status_init(&st, &a, o->open->mtu);
	storm_status_merge(&st, &a, &o->tree, c->node,
			   c->heard ? &c->status : NULL);
	late = (o->comparisons.first && st.unanswered.count) ||
	       ((o->operations.first || o->phase < OWNER_OPEN) &&
		st.behind.count) ||
	       (o->phase == OWNER_PROBING && !(st.flags & STORM_STATUS_MCAST));
	storm_status_free(&st);
	return late;
}

void owner_ask_sum(struct storm_owner *o)
{
	struct storm_status st;
	struct storm_asked a;

	owner_ask_what(o, &a);
	storm_status_init(&st, &a, o->open->mtu);
	for (uint32_t i = 0; i < o->children; i++)
		storm_status_merge(&st, &a, &o->tree, o->child[i].node,
				   o->child[i].heard ? &o->child[i].status :
						       NULL);
	owner_round_merge(o, &st, &a);
	storm_status_free(&o->sum);
	o->sum = st;
}

/* ------------------------------------------------------------------- asking --- */

void owner_ask_adopted(struct storm_owner *o)
{
	struct storm_addr to[ADOPTED_MAX];
	size_t n = owner_round_addrs(o, to);

	owner_cast_state_to(o, STORM_CAST_ASK, true, to, n);
	owner_cast_state_to(o, STORM_CAST_ASK | STORM_CAST_DIRECT, false, to,
			    n);
}

/* Whether datagrams pass between a child and the owner shows its first answers: one
 * that has taken the OPEN is told the state. */
static void owner_ask_tells(const struct storm_owner *o, struct storm_child *c,
			    uint64_t now)
{
	const struct storm_transport_ops *ops = o->t->ops;

	if (o->link.epoch == o->open->epoch && ops->stream_state &&
	    !ops->stream_state(o->t, o->link.session, c->node))
		storm_child_told(c, now);
}

/* Only subtrees that have not answered are asked: no news of the others is good
 * news. */
void owner_ask_late(struct storm_owner *o, uint64_t now)
{
	if (owner_cast_by_group(o))
		owner_cast_state_whole(o);
	for (uint32_t i = 0; i < o->children; i++)
		if (owner_ask_owes(o, &o->child[i])) {
			storm_children_asked(&o->child[i], 1, o->round.at);
			owner_ask_tells(o, &o->child[i], now);
		}
	owner_cast_state_relay(o, STORM_CAST_ASK, owner_ask_owes);
	if (o->phase == OWNER_OPEN && owner_round_ask(o, now))
		owner_ask_adopted(o);
	o->ask.asked_at = 0; /* what it takes now is not measured */
	if (o->link.epoch == o->open->epoch && now < o->phase_at + EARLY)
		o->ask.every = ASK_EARLY;
	else
		o->ask.every = storm_min(o->ask.every * 8 / 5, ASK_MAX);
	o->ask.at = now + o->ask.every;
}

/* Where datagrams are lost it goes twice: to be asked again takes long. */
void owner_ask_new(struct storm_owner *o, uint64_t now)
{
	owner_cast_state(o, 0);
	o->send.again_at = o->send.lossy ? now + NEW_AGAIN : STORM_NEVER;
	owner_ask_sum(o);
	owner_ask_soon(o, now);
}

void owner_ask_all(struct storm_owner *o, uint64_t now)
{
	if (owner_cast_by_group(o))
		owner_cast_state_whole(o);
	owner_cast_state_relay(o, STORM_CAST_ASK, NULL);
	owner_ask_soon(o, now);
}

/* Along the tree, those below a dead node have heard nothing since it died, and
 * may hear nothing for as long again, if their next parent is dead, too. */
void owner_ask_orphans(struct storm_owner *o, const struct storm_idset *node)
{
	struct storm_addr to[64];
	size_t n = 0;

	if (owner_cast_by_group(o) || !o->tree.members)
		return;
	for (uint32_t i = 0; i < node->count; i++)
		for (uint32_t k = node->r[i].first;
		     k <= node->r[i].last && n < 64; k++)
			if (storm_tree_member(&o->tree, k))
				to[n++] = owner_addr(o, k);
	owner_cast_state_to(o, STORM_CAST_ASK, true, to, n);
}

/* -------------------------------------------------------------------- blame --- */

/* A set that was joined has nodes that are no members. */
void owner_blame_late(const struct storm_owner *o,
		      const struct storm_idset *late, struct storm_faults *l)
{
	for (uint32_t i = 0; i < late->count; i++)
		for (uint32_t k = late->r[i].first; k <= late->r[i].last; k++)
			if (storm_tree_member(&o->tree, k))
				storm_faults_add(l, k, STORM_ETIME, 0);
}

void owner_blame_outside(const struct storm_owner *o,
			 const struct storm_idset *p, struct storm_faults *l)
{
	const struct storm_idset *out = &o->cast.excluded;

	for (uint32_t i = 0; p->count && i < out->count; i++)
		for (uint32_t n = out->r[i].first; n <= out->r[i].last; n++)
			if (storm_idset_has(p, n))
				storm_faults_add(l, n, STORM_ELOST, 0);
}

/* ------------------------------------------------------------------- naming --- */

/* A STATUS says only whether all of a subtree have heard a multicast. */
void owner_log_deaf(const struct storm_owner *o, const char *what)
{
	char text[NAMED * (STORM_NAME_MAX + 32)] = "", name[STORM_NAME_MAX + 1];
	uint32_t below[STORM_RADIX_MAX], named = 0, more = 0;
	size_t n = 0;

	for (uint32_t i = 0; i < o->children; i++) {
		const struct storm_child *c = &o->child[i];

		if (c->heard && c->status.flags & STORM_STATUS_MCAST)
			continue;
		if (named == NAMED) {
			more++;
			continue;
		}
		n += (size_t) snprintf(
			text + n, sizeof(text) - n, "%s%s%s", named ? ", " : "",
			storm_nodes_name(&o->open->nodes, c->node, &name),
			storm_tree_children(&o->tree, c->node, below) ?
				" or one below it" :
				"");
		named++;
	}
	if (more)
		snprintf(text + n, sizeof(text) - n, ", and %u more", more);
	storm_log(STORM_LOG_INFO, "%s%s%s%s", what,
		  named ? " (none comes to " : "", text, named ? ")" : "");
}
