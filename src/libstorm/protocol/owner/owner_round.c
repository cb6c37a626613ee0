/*
 * owner_round.c - past a node that does not answer.  A node of the combining
 * tree that is descheduled silences all below it: what it would combine does
 * not come, and the others' operations would wait for it (Pakin's thesis,
 * section 4.6, on unresponsive nodes).  So the owner asks the children of the
 * silent node to answer to the owner for a while, and takes their answers in
 * place of its own.  The silent node's own answer remains missing: an operation
 * over a set with that node waits for it.  All of this is soft state: it ends
 * when the tree answers for all again, or in the next epoch.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "owner_private.h"
#include "src/libstorm/base/idset.h"

struct storm_child *owner_round_find(struct storm_owner *o, uint32_t node)
{
	for (uint32_t i = 0; i < o->round.count; i++)
		if (o->round.adopted[i].c.node == node)
			return &o->round.adopted[i].c;
	return NULL;
}

size_t owner_round_addrs(const struct storm_owner *o, struct storm_addr *to)
{
	for (uint32_t i = 0; i < o->round.count; i++)
		to[i] = owner_addr(o, o->round.adopted[i].c.node);
	return o->round.count;
}

static void owner_round_drop(struct storm_owner *o, uint32_t i)
{
	storm_status_free(&o->round.adopted[i].c.status);
	o->round.adopted[i] = o->round.adopted[--o->round.count];
}

void owner_round_end(struct storm_owner *o)
{
	while (o->round.count)
		owner_round_drop(o, 0);
}

static void owner_round_adopt(struct storm_owner *o, uint32_t node, uint32_t of,
			      uint64_t now)
{
	if (o->round.count < ADOPTED_MAX && !owner_round_find(o, node))
		o->round.adopted[o->round.count++] = (struct owner_adopted) {
			.c = { .node = node, .last_heard = now }, .of = of
		};
}

static void owner_round_past(struct storm_owner *o, uint32_t silent,
			     uint64_t now)
{
	uint32_t kids[64], n = storm_tree_children(&o->tree, silent, kids);

	for (uint32_t i = 0; i < n; i++)
		owner_round_adopt(o, kids[i], silent, now);
}

/* k is late and its parent is not, either because the parent has answered or
 * because it was not asked (p).  Then the parent may be silent, and k will
 * answer. */
static void owner_round_past_top(struct storm_owner *o, uint32_t teller,
				 uint32_t k, const struct storm_idset *p,
				 uint64_t now)
{
	uint32_t up = storm_tree_parent(&o->tree, k);

	if (up == teller || !p->count || storm_idset_has(p, up))
		owner_round_past(o, k, now);
	else
		owner_round_adopt(o, k, up, now);
}

static void owner_round_past_late(struct storm_owner *o, uint32_t teller,
				  const struct storm_idset *late,
				  const struct storm_idset *p, uint64_t now)
{
	for (uint32_t i = 0; i < late->count; i++)
		for (uint32_t k = late->r[i].first;
		     k <= late->r[i].last && o->round.count < ADOPTED_MAX; k++)
			/* a set that was joined has some that are not its own
			 * */
			if (storm_tree_member(&o->tree, k) && k != teller &&
			    storm_tree_above(&o->tree, teller, k) &&
			    !storm_idset_has(late,
					     storm_tree_parent(&o->tree, k)))
				owner_round_past_top(o, teller, k, p, now);
}

/* If c reports silence, the topmost of the nodes that it names are silent. */
static void owner_round_past_below(struct storm_owner *o,
				   const struct storm_child *c, uint64_t now)
{
	if (!(c->status.flags & STORM_STATUS_SILENT))
		return;
	owner_round_past_late(o, c->node, &c->status.behind, &o->cast.p, now);
	owner_round_past_late(o, c->node, &c->status.unanswered, &o->cast.cmp_p,
			      now);
}

bool owner_round_ask(struct storm_owner *o, uint64_t now)
{
	uint32_t known = o->round.count;

	for (uint32_t i = 0; i < o->children; i++)
		if (o->child[i].silent)
			owner_round_past(o, o->child[i].node, now);
		else
			owner_round_past_below(o, &o->child[i], now);
	for (uint32_t i = 0; i < known; i++) { /* it grows behind them */
		storm_children_asked(&o->round.adopted[i].c, 1, o->round.at);
		if (o->round.adopted[i].c.silent)
			owner_round_past(o, o->round.adopted[i].c.node, now);
		else
			owner_round_past_below(o, &o->round.adopted[i].c, now);
	}
	o->round.at = now;
	return o->round.count;
}

bool owner_round_heard(struct storm_owner *o, const struct storm_child *c,
		       uint64_t now)
{
	uint32_t known = o->round.count;

	owner_round_past_below(o, c, now);
	return o->round.count > known;
}

/* Does the tree's own answer leave out a node below this one? */
static bool owner_round_silences(const struct storm_owner *o, uint32_t node,
				 const struct storm_status *st)
{
	struct storm_idset late = { 0 }, sub = { 0 };
	bool yes = true;

	if (!storm_idset_union(&late, &st->behind) &&
	    !storm_idset_union(&late, &st->unanswered) &&
	    !storm_tree_subtree(&o->tree, node, &sub) &&
	    !storm_idset_keep(&late, &sub))
		yes = late.count;
	storm_idset_clear(&late);
	storm_idset_clear(&sub);
	return yes;
}

void owner_round_merge(struct storm_owner *o, struct storm_status *st,
		       const struct storm_asked *a)
{
	for (uint32_t i = o->round.count; i-- > 0;)
		if (!owner_round_silences(o, o->round.adopted[i].of, st))
			owner_round_drop(o, i);
	for (uint32_t i = 0; i < o->round.count; i++)
		if (o->round.adopted[i].c.heard)
			storm_status_merge_round(st, a, &o->tree,
						 o->round.adopted[i].c.node,
						 &o->round.adopted[i].c.status);
}
