/*
 * turns_step.c - the steps of turns.h: they come, go, and are seen.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "turns_private.h"

/* So long a held job's step runs to handle a signal. */
#define HELD_GRANT (100 * STORM_MS)
/* So long it runs to stop for a debugger, and so often. */
#define ATTACH (100 * STORM_MS)
#define ATTACH_AGAIN (200 * STORM_MS)

struct turns_step *turns_step_add(struct turns *t,
				  const struct turns_step_info *info,
				  uint64_t now)
{
	struct turns_step *s = calloc(1, sizeof(*s));

	if (!s || !turns_acts_grow(t, 1)) {
		free(s);
		return NULL;
	}
	turns_acts_clear(t);
	s->is = *info;
	s->starting = info->starting;
	s->has_srun = info->has_srun;
	s->began = now;
	s->next = t->steps;
	t->steps = s;
	t->nsteps++;
	t->count.steps++;
	turns_note(t, GANG_STEP, s, info->kind, info->script);
	return s;
}

void turns_step_end(struct turns *t, struct turns_step *s, uint64_t now)
{
	struct turns_step **p = &t->steps;

	turns_acts_clear(t);
	while (*p != s)
		p = &(*p)->next;
	*p = s->next;
	t->nsteps--;
	turns_continue(t, s, GANG_WHY_NOT_IN_MAP, now);
	turns_bill_leave(t, s);
	turns_note(t, GANG_GONE, s, 0, 0);
}

void turns_step_free(struct turns *t, struct turns_step *s)
{
	turns_acts_clear(t);
	free(s);
}

/* -------------------------------------------------------------------- doors --- */

void turns_step_door(struct turns_step *s)
{
	s->door = TURNS_DOOR_WAITS;
}

/* From now on it takes turns. */
void turns_step_met(struct turns *t, struct turns_step *s, uint64_t since,
		    uint64_t now)
{
	turns_acts_clear(t);
	s->door = TURNS_DOOR_MET;
	s->met = since;
	s->starting = false;
	if (t->now)
		turns_apply(t, now);
	else
		turns_continue(t, s, GANG_WHY_NOT_IN_MAP, now);
}

void turns_step_door_gone(struct turns_step *s)
{
	s->door = TURNS_NO_DOOR;
}

void turns_started(struct turns_step *s)
{
	s->starting = false;
}

/* ------------------------------------------------------------- what was seen --- */

void turns_saw_srun(struct turns_step *s, bool has)
{
	s->has_srun = has;
}

/* A task in a frozen group of version 2 does not stop for a debugger that attaches.
 * So a held job's step runs until it has, if it does at all. */
static void turns_step_attach(struct turns_step *s, bool awaits, uint64_t now)
{
	if (!awaits || (s->attaching && now > s->attached + ATTACH)) {
		s->attaching = false;
	} else if (now > s->attached + ATTACH_AGAIN) {
		s->attaching = true;
		s->attached = now;
	}
}

void turns_saw_tracer(struct turns *t, struct turns_step *s, bool traced,
		      bool awaits, bool debug, uint64_t now)
{
	bool held = turns_step_is_held(t, s);

	turns_acts_clear(t);
	s->traced = traced && (debug || held);
	turns_step_attach(s, s->traced && held && awaits, now);
	/* one that fills runs already, as much as it may */
	if (s->stands && s->traced && (s->attaching || !held))
		turns_continue(t, s, GANG_WHY_DEBUGGER, now);
}

void turns_saw_signal(struct turns *t, struct turns_step *s, uint64_t now)
{
	turns_acts_clear(t);
	if (!s->stands)
		return;
	if (!s->granted)
		turns_bill_grant(t, s);
	s->granted = true;
	s->granted_until = now + HELD_GRANT;
	turns_continue(t, s, GANG_WHY_SIGNAL, now);
}

void turns_saw_doubt(struct turns *t, struct turns_step *s, bool others,
		     uint64_t now)
{
	turns_acts_clear(t);
	if (!t->now)
		turns_continue(t, s, GANG_WHY_NOT_IN_MAP, now);
	else if (others && s->stands)
		turns_stop(t, s, true, now);
}
