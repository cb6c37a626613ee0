/*
 * turns_fill.c - flexible coscheduling (paper section 3.2): others fill what
 * the steps in their turn leave idle.  Each node decides alone, by the steps
 * that sleep here (gang_class.h), so it costs no message.
 *
 * A step that never sleeps has its turns to itself: a switch to another and back
 * takes from it what nobody gives back.  The fillers run only while no process of
 * those in turn wants the CPU.  They are stopped first, and those in turn are
 * continued: only so the kernel switches at once.
 *
 * MPI that spins for peers never sleeps either.  gang_grain.h tells it from a program
 * that computes, which can use all of a gap: then that one has it alone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/idset.h"
#include "turns_private.h"

static bool turns_fill_in_turn(const struct turns *t,
			       const struct turns_step *s)
{
	return turns_has_slot(t, s) && !s->skips;
}

/* The map does not show which cores a job has.  So all that are in turn here must
 * sleep, each in a group beside the fillers'. */
bool turns_fill_may(const struct turns *t)
{
	if (!t->now || !turns_known_is_flexible(t->now))
		return false;
	for (const struct turns_step *s = t->steps; s; s = s->next)
		if (turns_fill_in_turn(t, s) &&
		    (!s->class.sleeps || !s->is.can_fill))
			return false;
	return true;
}

/* It never sleeps, and wants its peers: in a gap of this node it mostly spins. */
static bool turns_fill_spins(const struct turns_step *s)
{
	return s->grain.fine && !s->class.sleeps;
}

/* Its next turn is to be measured, just as it is. */
static bool turns_fill_is_probed(const struct turns_step *s)
{
	return s->turn_at && s->class.probe;
}

bool turns_fill_takes(const struct turns *t, const struct turns_step *s)
{
	if (!turns_fill_spins(s))
		return true;
	for (const struct turns_step *o = t->steps; o; o = o->next)
		if (turns_step_held(o) && o->is.can_fill && !o->class.sleeps &&
		    !turns_fill_spins(o) && !turns_fill_is_probed(o))
			return false;
	return true;
}

/* stood: it has stood since, and has not only been told to. */
static void turns_fill_ends(struct turns *t, struct turns_step *s, bool stood)
{
	struct turns_act *a = turns_act_add(t, TURNS_END, s, 0, 0, 0);

	a->over = s->turn_over;
	a->woke = s->turn_woke;
	a->stood = stood;
	s->turn_at = 0;
}

/* If it has stood since its last turn, what it had then is exact now. */
void turns_fill_turn(struct turns *t, struct turns_step *s, uint64_t now)
{
	if (s->turn_at && !s->turn_over)
		return; /* it goes on */
	if (s->turn_at)
		turns_fill_ends(t, s, true);
	if (!s->threads)
		return;
	turns_act_add(t, TURNS_BEGIN, s, 0, 0, 0);
	s->turn_woke = s->stands;
	s->turn_at = now;
	s->turn_over = 0;
}

bool turns_fill_begins(struct turns *t, struct turns_step *s)
{
	if (turns_fill_is_probed(s))
		return false;
	if (s->turn_at)
		turns_fill_ends(t, s, false);
	return true;
}

void turns_fill_turns_over(struct turns *t, uint64_t now)
{
	for (struct turns_step *s = t->steps; s; s = s->next)
		if (s->turn_at && !s->turn_over && !turns_fill_in_turn(t, s))
			s->turn_over = now;
}

void turns_slept(struct turns_step *s, uint64_t turn, uint64_t asleep,
		 bool exact)
{
	gang_class_turn(&s->class, turn, asleep, exact);
}

void turns_saw_threads(struct turns_step *s, bool there, bool anew)
{
	s->threads = there;
	if (anew)
		s->turn_at = 0;
	if (!there)
		s->class = (struct gang_class) { 0 };
}

/* Only news count of a step that stands. */
void turns_saw_waits(struct turns_step *s, uint64_t waits, uint64_t computed,
		     uint64_t waited, uint64_t ran)
{
	if (waits || !turns_step_held(s))
		gang_grain_add(&s->grain, waits, computed, waited, ran);
}
