/*
 * turns_act.c - the list of acts (turns.h).  It has room before it is needed: who
 * decides takes no memory.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "turns_private.h"

/* A step can be measured twice, stopped, continued, started, asked for and pay in one
 * call; the node has a few events. */
#define OF_A_STEP 8
#define OF_THE_NODE 8

bool turns_acts_grow(struct turns *t, uint32_t steps)
{
	size_t room = OF_THE_NODE + OF_A_STEP * (size_t) (t->nsteps + steps);
	struct turns_act *acts;

	if (room <= t->room)
		return true;
	acts = realloc(t->acts, room * sizeof(*acts));
	if (!acts)
		return false;
	t->acts = acts;
	t->room = room;
	return true;
}

void turns_acts_clear(struct turns *t)
{
	t->nacts = 0;
}

struct turns_act *turns_act_add(struct turns *t, enum turns_verb verb,
				struct turns_step *s, enum gang_what what,
				uint32_t a, uint32_t b)
{
	/* a strobe that waited may not be the last one any more */
	uint64_t number = what == GANG_SLOT ? t->turn : t->number;
	struct turns_act *act;

	if (t->nacts == t->room)
		abort(); /* OF_A_STEP is wrong */
	act = &t->acts[t->nacts++];
	*act = (struct turns_act) {
		.verb = verb,
		.step = s,
		.noted = what != 0,
		.event = {
			.what = what,
			.a = a,
			.b = b,
			.sequence = number,
			.slot = t->now ? t->slot : GANG_SLOT_ALL,
			.version = t->now ? t->now->map.version : 0,
			.job = s ? s->is.job : 0,
			.step = s ? s->is.step : 0,
		},
	};
	return act;
}

void turns_note(struct turns *t, enum gang_what what, struct turns_step *s,
		uint32_t a, uint32_t b)
{
	turns_act_add(t, TURNS_NOTE, s, what, a, b);
}

const struct turns_act *turns_acts(const struct turns *t, size_t *n)
{
	*n = t->nacts;
	return t->acts;
}
