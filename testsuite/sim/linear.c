/*
 * linear.c - see linear.h.
 *
 * A state of the search is the set of operations that have taken effect, and
 * the memory.  As every value is written once, the last writer of each cell gives
 * the memory: four bits per cell, so that a state is two words.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "linear.h"
#include "src/storm_sim/history.h"

struct state {
	uint64_t memory; /* by cell: 1 + its writer, 0: none */
	uint32_t done;	 /* operations, a bit each */
};

struct search {
	const struct linear_op *op;
	uint32_t count;
	struct state *tried; /* open addressing; done is never 0 in it */
	size_t tries, room;
};

static unsigned int cell(uint32_t node, uint32_t place)
{
	return 4 * (node * LINEAR_PLACES + place);
}

static uint64_t value_at(const struct search *s, const struct state *at,
			 uint32_t node, uint32_t place)
{
	uint32_t who = at->memory >> cell(node, place) & 0xf;
	const struct linear_op *o;

	if (!who)
		return 0;
	o = &s->op[who - 1];
	return o->kind == LINEAR_WRITE ? o->value : o->value_w;
}

static bool holds(const struct search *s, const struct state *at,
		  const struct linear_op *o)
{
	for (uint32_t n = 0; n < LINEAR_NODES; n++)
		if (o->nodes >> n & 1 &&
		    !history_holds(o->kind == LINEAR_READ ? STORM_EQ : o->rel,
				   value_at(s, at, n, o->place), o->value))
			return false;
	return true;
}

static void write_all(struct state *at, const struct linear_op *o, uint32_t who,
		      uint32_t place)
{
	for (uint32_t n = 0; n < LINEAR_NODES; n++)
		if (o->nodes >> n & 1) {
			at->memory &= ~(0xfULL << cell(n, place));
			at->memory |= (uint64_t) (who + 1) << cell(n, place);
		}
}

static size_t slot_of(const struct search *s, const struct state *at)
{
	uint64_t z = at->memory * 0x9e3779b97f4a7c15ULL ^ at->done;
	size_t i = (size_t) (z * 0xbf58476d1ce4e5b9ULL >> 20) % s->room;

	while (s->tried[i].done && (s->tried[i].done != at->done ||
				    s->tried[i].memory != at->memory))
		i = (i + 1) % s->room;
	return i;
}

/* False: it was there already. */
static bool remember(struct search *s, const struct state *at)
{
	size_t i;

	if (4 * s->tries >= 3 * s->room) {
		struct search bigger = { .room = s->room ? 2 * s->room : 256 };

		bigger.tried = calloc(bigger.room, sizeof(*bigger.tried));
		if (!bigger.tried)
			abort();
		for (size_t k = 0; k < s->room; k++)
			if (s->tried[k].done)
				bigger.tried[slot_of(&bigger, &s->tried[k])] =
					s->tried[k];
		free(s->tried);
		s->tried = bigger.tried;
		s->room = bigger.room;
	}
	i = slot_of(s, at);
	if (s->tried[i].done)
		return false;
	s->tried[i] = *at;
	s->tries++;
	return true;
}

/* The earlier operations of its process have taken effect. One with an unknown
 * outcome may also take effect after later ones of its process. */
static bool its_turn(const struct search *s, const struct state *at,
		     uint32_t who)
{
	for (uint32_t i = 0; i < who; i++)
		if (s->op[i].process == s->op[who].process &&
		    !(at->done >> i & 1) && s->op[i].result != LINEAR_MAYBE)
			return false;
	return true;
}

static bool from(struct search *s, const struct state *at);

static bool with(struct search *s, const struct state *at, uint32_t who,
		 bool effect)
{
	const struct linear_op *o = &s->op[who];
	struct state next = *at;

	next.done |= 1u << who;
	if (effect && o->kind == LINEAR_WRITE)
		write_all(&next, o, who, o->place);
	if (effect && o->kind == LINEAR_COMPARE && o->writes)
		write_all(&next, o, who, o->place_w);
	return from(s, &next);
}

static bool take(struct search *s, const struct state *at, uint32_t who)
{
	const struct linear_op *o = &s->op[who];
	bool can = o->kind == LINEAR_WRITE || holds(s, at, o);

	switch (o->result) {
	case LINEAR_YES:
		return can && with(s, at, who, true);
	case LINEAR_NO:
		return !can && with(s, at, who, false);
	case LINEAR_NOTHING:
		return with(s, at, who, false);
	case LINEAR_MAYBE:
		return (can && with(s, at, who, true)) ||
		       with(s, at, who, false);
	}
	return false;
}

/* Can all that is left take effect, from this state on? */
static bool from(struct search *s, const struct state *at)
{
	if (at->done == (1u << s->count) - 1)
		return true;
	if (at->done && !remember(s, at))
		return false;
	for (uint32_t i = 0; i < s->count; i++)
		if (!(at->done >> i & 1) && its_turn(s, at, i) &&
		    take(s, at, i))
			return true;
	return false;
}

bool linear_consistent(const struct linear_op *op, uint32_t count)
{
	struct search s = { .op = op, .count = count };
	struct state nothing = { 0 };
	bool found;

	if (count > LINEAR_OPS)
		abort();
	found = from(&s, &nothing);
	free(s.tried);
	return found;
}
