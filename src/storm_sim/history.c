/*
 * history.c - see history.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history.h"
#include "src/libstorm/base/idset.h"

static void *history_grown(void *p, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return p;
	*room = *room ? 2 * *room : 64;
	p = realloc(p, *room * size);
	if (!p)
		abort(); /* no memory: the check cannot go on */
	return p;
}

void history_init(struct history *h, uint32_t nodes, uint32_t places,
		  uint32_t ids)
{
	memset(h, 0, sizeof(*h));
	h->nodes = nodes;
	h->places = places;
	h->ids = ids;
}

void history_free(struct history *h)
{
	for (uint32_t i = 0; i < h->ops; i++)
		storm_idset_clear(&h->op[i].to);
	free(h->op);
	free(h->e);
	memset(h, 0, sizeof(*h));
}

uint32_t history_op(struct history *h, const struct history_op *o)
{
	size_t room = h->op_room;

	h->op = history_grown(h->op, h->ops, &room, sizeof(*h->op));
	h->op_room = (uint32_t) room;
	h->op[h->ops++] = *o;
	return h->ops;
}

void history_add(struct history *h, struct history_entry e)
{
	h->e = history_grown(h->e, h->count, &h->room, sizeof(*h->e));
	h->e[h->count++] = e;
}

bool history_in(const struct history_op *o, uint32_t node)
{
	return !o->to.count || storm_idset_has(&o->to, node);
}

bool history_holds(enum storm_relation rel, uint64_t a, uint64_t b)
{
	switch (rel) {
	case STORM_GE:
		return a >= b;
	case STORM_LT:
		return a < b;
	case STORM_EQ:
		return a == b;
	case STORM_NE:
		return a != b;
	}
	return false;
}

void history_print(const struct history *h, size_t last)
{
	static const char *const name[] = {
		"issued", "named",     "forgotten", "result", "decided",
		"behind", "excluded",  "joined",    "lost",   "heard",
		"epoch",  "left",      "staged",    "shown",  "read",
		"event",  "own",       "reported",  "acked",  "accepted",
		"cost",	  "window",    "kept",	    "forged", "disturbed",
		"broken", "restarted", "calm",
	};

	for (size_t i = h->count > last ? h->count - last : 0; i < h->count;
	     i++) {
		const struct history_entry *e = &h->e[i];

		fprintf(stderr, "%12.6f %-9s", (double) e->at / 1e9,
			name[e->kind]);
		if (e->node == STORM_NO_NODE)
			fputs(" owner", stderr);
		else
			fprintf(stderr, " n%-4u", e->node + 1);
		fprintf(stderr,
			" op %u epoch %u number %llu place %u value %llx what %d\n",
			e->op, e->epoch, (unsigned long long) e->number,
			e->place, (unsigned long long) e->value, e->what);
	}
}
