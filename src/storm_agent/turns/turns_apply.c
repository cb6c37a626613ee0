/*
 * turns_apply.c - who stands and who runs, as the last strobe orders.
 *
 * A stopped step for which a signal of root's waits, such as scancel's SIGTERM,
 * runs to the end of its next slot, to handle it.  A job that is held has none, so its
 * steps run for a moment.  They also stand while a debugger traces them, but for the
 * moment in which it attaches: it looks at a job that does not move.
 *
 * With the policy yield nobody else stands.  A step out of its turn gives way, by the
 * same means as one that fills gaps (turns_fill.c), but it is not stopped before.  So
 * does one whose user wants that, beside others that stand: it pays for what it takes.
 * Where others fill gaps that wish has no effect.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"
#include "turns_private.h"

/* So long a new step may be before exec(). */
#define STARTING (5 * STORM_SEC)

/* ------------------------------------------------------- stop and continue --- */

void turns_stop(struct turns *t, struct turns_step *s, bool again, uint64_t now)
{
	struct turns_act *a;

	if (s->stands && !again)
		return;
	a = turns_act_add(t, TURNS_STOP, s, s->stands ? 0 : GANG_STOP, 0, 0);
	a->again = again;
	if (!s->stands) {
		s->stops++;
		s->stopped = now;
		t->count.stops++;
	}
	s->stands = true;
	s->fills = false;
}

/* Its tasks go on to exec, if all of them wait. */
static void turns_start(struct turns *t, struct turns_step *s,
			enum gang_why why, uint64_t now)
{
	if (s->door != TURNS_DOOR_MET)
		return;
	s->door = TURNS_DOOR_OPEN;
	turns_act_add(t, TURNS_START, s, GANG_START, why,
		      (uint32_t) storm_min((now - s->met) / STORM_US,
					   UINT32_MAX));
}

/* Slurm's group of a job has all of its steps here.  So while one gives way the
 * others do, too, and the last one that continues takes it back.  They disagree only
 * out of turn, or in a turn with which the job pays: neighbours go first. */
static bool turns_fills_beside(const struct turns *t,
			       const struct turns_step *s)
{
	for (const struct turns_step *o = t->steps; o; o = o->next)
		if (o != s && o->fills && o->is.job == s->is.job)
			return true;
	return false;
}

void turns_continue(struct turns *t, struct turns_step *s, enum gang_why why,
		    uint64_t now)
{
	struct turns_act *a;

	if (turns_step_held(s)) {
		a = turns_act_add(t, TURNS_CONTINUE, s, GANG_CONTINUE, why, 0);
		a->filled = s->fills;
		a->beside = turns_fills_beside(t, s);
		s->stands = s->fills = false;
	}
	turns_start(t, s, why, now);
}

/* For the guards it is a stopped one. */
static void turns_fill_now(struct turns *t, struct turns_step *s, bool again,
			   uint64_t now)
{
	struct turns_act *a = turns_act_add(t, TURNS_FILL, s, GANG_CONTINUE,
					    GANG_WHY_FILLS, 0);

	a->again = again;
	a->ran = !s->stands;
	s->stands = false;
	s->fills = true;
	t->count.fills++;
	turns_start(t, s, GANG_WHY_FILLS, now);
}

void turns_failed(struct turns *t, const struct turns_act *a)
{
	struct turns_step *s = a->step;

	if (a->verb == TURNS_CONTINUE) {
		s->stands = !a->filled;
		s->fills = a->filled;
	} else if (a->verb == TURNS_FILL) {
		s->stands = !a->ran;
		s->fills = false;
		t->count.fills--;
		if (a->ran) {
			s->is.can_fill = false;
			t->phase = TURNS_APPLY_WAITS;
		}
	} else if (a->verb == TURNS_START) {
		s->door = TURNS_DOOR_MET;
	}
}

/* ------------------------------------------------------------ what it is for --- */

/* Not for long: its processes may run slurmstepd's program again by themselves. */
static bool turns_is_starting(struct turns_step *s, uint64_t now)
{
	s->starting = s->starting && now < s->began + STARTING;
	return s->starting;
}

/* Does it run for this reason, although it has no turn? */
static bool turns_is_outside(enum gang_why why)
{
	return why == GANG_WHY_SIGNAL || why == GANG_WHY_DEBUGGER ||
	       why == GANG_WHY_STARTING || why == GANG_WHY_SCRIPT;
}

/* It owes a turn: it has only what nobody else wants.  A script that cannot have that
 * stands; what else there is may have to answer somebody. */
static bool turns_gives_way(const struct turns *t, const struct turns_step *s,
			    enum gang_why why)
{
	if (!s->gives_way || !turns_is_outside(why) || why == GANG_WHY_STARTING)
		return false;
	return why == GANG_WHY_SCRIPT ||
	       (s->is.can_fill && !turns_step_is_held(t, s));
}

/* Why the step runs by the last strobe, which is there; 0: it stands. */
static enum gang_why turns_runs(struct turns *t, struct turns_step *s,
				uint64_t now)
{
	const struct gang_job *j = turns_job_in(t->now, s->is.job);

	if (!j || !turns_job_in(&t->known[0], s->is.job))
		return GANG_WHY_NOT_IN_MAP;
	if (storm_idset_has(&j->rows, t->slot) && !s->skips) {
		s->granted = false;
		return GANG_WHY_SLOT;
	}
	if (s->granted && gang_job_held(j) && now >= s->granted_until)
		s->granted = false;
	if (s->granted)
		return GANG_WHY_SIGNAL;
	if (s->spare)
		return GANG_WHY_SPARE;
	if (s->traced && (s->attaching || !gang_job_held(j)))
		return GANG_WHY_DEBUGGER;
	/* Slurm may send no signal to a task before its exec(), unless it waits
	 * at the door (step_door.h) */
	if (s->door == TURNS_DOOR_WAITS || turns_is_starting(s, now))
		return GANG_WHY_STARTING;
	if (s->is.script && turns_script_runs(t, s))
		return GANG_WHY_SCRIPT;
	return 0;
}

/* ------------------------------------------------------------------- a slot --- */

/* Record a new slot, if this node has steps. */
static void turns_note_slot(struct turns *t)
{
	if (!t->steps ||
	    (t->told_version == t->now->map.version && t->told_slot == t->slot))
		return;
	t->told_version = t->now->map.version;
	t->told_slot = t->slot;
	turns_note(t, GANG_SLOT, NULL, 0, 0);
}

/* Find the job that pays with this turn. */
static void turns_slot_begins(struct turns *t)
{
	turns_note_slot(t);
	turns_bill_slot(t);
	for (struct turns_step *s = t->steps; s; s = s->next)
		if (s->skips)
			turns_note(t, GANG_PAYS, s, s->share,
				   (uint32_t) (s->cost / STORM_US));
}

static bool turns_may_stay(const struct turns *t, const struct turns_step *s,
			   bool fill, enum gang_why why)
{
	if (!s->fills)
		return false;
	return turns_gives_way(t, s, why) ||
	       (fill && !turns_step_is_held(t, s));
}

/* It has no turn, and may go on in a way that nobody in turn notices. */
static bool turns_yields_now(const struct turns *t, const struct turns_step *s,
			     enum gang_why why)
{
	return (!why || turns_gives_way(t, s, why)) && turns_yields(t, s);
}

/* It is not stopped first, so that its system calls are not interrupted. */
static void turns_yield(struct turns *t, struct turns_step *s, bool again,
			uint64_t now)
{
	s->turn_at = 0; /* it never stands, so nothing of it is exact */
	if (!s->fills || again)
		turns_fill_now(t, s, again, now);
}

static void turns_stop_all(struct turns *t, bool fill, bool again, uint64_t now)
{
	enum gang_why why;

	for (struct turns_step *s = t->steps; s; s = s->next) {
		why = turns_runs(t, s, now);
		if (why && !turns_gives_way(t, s, why))
			continue;
		if (!s->stands && turns_yields_now(t, s, why))
			turns_yield(t, s, again, now);
		else if (again || !turns_may_stay(t, s, fill, why))
			turns_stop(t, s, again, now);
	}
}

static void turns_continue_all(struct turns *t, bool flexible, uint64_t now)
{
	enum gang_why why;

	for (struct turns_step *s = t->steps; s; s = s->next) {
		why = turns_runs(t, s, now);
		if (!why || turns_gives_way(t, s, why))
			continue;
		if (flexible && why == GANG_WHY_SLOT)
			turns_fill_turn(t, s, now);
		turns_continue(t, s, why, now);
		if (turns_is_outside(why))
			turns_bill_outside(t, s);
	}
}

static void turns_fill_one(struct turns *t, struct turns_step *s, uint64_t now)
{
	if (!turns_fill_takes(t, s)) {
		turns_stop(t, s, false, now);
		return;
	}
	if (!s->stands || !s->is.can_fill || turns_step_is_held(t, s) ||
	    !turns_fill_begins(t, s))
		return;
	turns_fill_now(t, s, false, now);
}

static void turns_fill_all(struct turns *t, bool fill, uint64_t now)
{
	enum gang_why why;

	for (struct turns_step *s = t->steps; s; s = s->next) {
		why = turns_runs(t, s, now);
		if (turns_yields_now(t, s, why)) {
			turns_yield(t, s, false, now);
			if (turns_yields_alone(t, s))
				turns_bill_outside(t, s);
		} else if (fill && !why)
			turns_fill_one(t, s, now);
		else if (turns_gives_way(t, s, why) && s->stands &&
			 s->is.can_fill)
			turns_fill_now(t, s, false, now);
	}
}

/* First stop, then continue, so that no two jobs run at once.  A guard that has
 * continued steps has also ended their filling: `again` stops them.  A step that
 * could not be continued without a strobe counts as standing, so it waits for one. */
static void turns_apply_now(struct turns *t, uint64_t now)
{
	bool again = t->freed, flexible, fill;

	t->phase = TURNS_DONE;
	if (!t->now && turns_standing(t))
		return;
	t->freed = false;
	if (again)
		turns_note(t, GANG_OPEN, NULL, GANG_WHY_FREED, 0);
	if (!t->now)
		return;
	turns_note_slot(t);
	turns_bill_spares(t);
	flexible = turns_known_is_flexible(t->now);
	fill = flexible && turns_fill_may(t);
	turns_stop_all(t, fill, again, now);
	turns_continue_all(t, flexible, now);
	if (flexible)
		turns_fill_turns_over(t, now);
	turns_fill_all(t, fill, now);
	if (t->pending)
		t->acted = t->pending;
	t->pending = 0;
}

/* Who may run because it is not past exec: is it?  True: that is asked. */
static bool turns_apply_asks(struct turns *t, uint64_t now)
{
	bool any = false;

	for (struct turns_step *s = t->steps; t->now && s; s = s->next) {
		if (!s->starting || s->door == TURNS_DOOR_WAITS ||
		    turns_runs(t, s, now) != GANG_WHY_STARTING)
			continue;
		turns_act_add(t, TURNS_LOOK, s, 0, 0, 0);
		any = true;
	}
	return any;
}

void turns_apply(struct turns *t, uint64_t now)
{
	if (turns_apply_asks(t, now))
		t->phase = TURNS_APPLY_WAITS;
	else
		turns_apply_now(t, now);
}

void turns_slot(struct turns *t, const struct turns_known *k, uint32_t slot,
		uint64_t number, uint64_t now)
{
	bool is_new = t->now != k || t->slot != slot;

	t->pending = number;
	if (is_new) {
		t->now = k;
		t->slot = slot;
		t->turn = number;
		t->count.slots++;
		if (turns_bill_asks(t)) {
			t->phase = TURNS_SLOT_WAITS;
			return;
		}
		turns_slot_begins(t);
	}
	turns_apply(t, now);
}

bool turns_more(struct turns *t, uint64_t now)
{
	enum turns_phase phase = t->phase;

	turns_acts_clear(t);
	t->phase = TURNS_DONE;
	if (phase == TURNS_DONE)
		return false;
	if (phase == TURNS_SLOT_WAITS) {
		turns_slot_begins(t);
		turns_apply(t, now);
	} else {
		turns_apply_now(t, now);
	}
	return true;
}

void turns_open_now(struct turns *t, enum gang_why why, uint64_t now)
{
	bool any = false;

	for (struct turns_step *s = t->steps; s; s = s->next) {
		s->turn_at = 0;
		turns_bill_open(s);
		any |= turns_step_held(s);
		turns_continue(t, s, why, now);
	}
	if (t->now || any) {
		t->count.opened++;
		turns_note(t, GANG_OPEN, NULL, why, 0);
	}
	t->now = NULL;
	t->pending = 0;
	t->phase = TURNS_DONE;
	gang_agreed_cancel(&t->agreed);
}
