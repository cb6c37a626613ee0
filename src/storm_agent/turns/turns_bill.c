/*
 * turns_bill.c - makes a job pay for its switches, with turns (gang_bill.h).  A turn
 * that a job skips goes to others: to each that has a slot in common with all that run
 * now, so that they share no core.
 *
 * What runs out of its turn, as a batch script does beside its srun, takes the turns
 * of others.  So the CPU time that it uses then is measured, in whole slots, and its
 * job owes it.  For each quantum of it the job skips a turn.  While it owes a turn, what
 * runs out of turn has only what nobody else wants.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "gang_bill.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"
#include "turns_private.h"

/* The caller measures only what it does itself.  The step's processes use two to
 * three times as much to stop and to go on. */
#define PROCESSES_TOO 4

#define NOTABLE (100 * STORM_US)
#define SOME \
	16 /* of so many stops, two, and the times that it continues between */

bool turns_cost_wanted(const struct turns_act *a)
{
	const struct turns_step *s = a->step;
	/* before this one */
	uint32_t stops = s->stops - (a->verb == TURNS_STOP);

	return stops % SOME <= 1 || s->stop_cost + s->continue_cost >= NOTABLE;
}

void turns_cost(struct turns_step *s, enum turns_verb verb, uint64_t ns)
{
	uint64_t *mean = verb == TURNS_STOP ? &s->stop_cost : &s->continue_cost;

	*mean = gang_bill_mean(*mean, ns);
}

/* As if its turn had cost a quantum more, then half of that, and so on: in all it
 * skips about one turn. */
void turns_bill_grant(const struct turns *t, struct turns_step *s)
{
	if (t->now && !s->is.measured)
		s->grant_cost += turns_zone_quantum(t);
}

/* -------------------------------------------------------- out of its turn --- */

/* Does it take time from somebody? */
static bool turns_bill_disturbs(const struct turns *t,
				const struct turns_step *s)
{
	for (const struct turns_step *o = t->steps; o; o = o->next)
		if (o->is.job != s->is.job &&
		    (turns_has_slot(t, o) || o->spare))
			return true;
	return false;
}

void turns_bill_outside(struct turns *t, struct turns_step *s)
{
	if (s->outside || s->asked || !s->is.measured ||
	    !turns_bill_disturbs(t, s))
		return;
	s->asked = true;
	turns_act_add(t, TURNS_USE, s, 0, 0, 0);
}

void turns_used(struct turns_step *s, uint64_t ns, bool known)
{
	if (s->outside && known)
		s->owes += ns - s->used;
	s->outside = s->asked && !s->outside && known;
	s->asked = false;
	s->used = ns;
}

void turns_bill_open(struct turns_step *s)
{
	s->outside = s->asked = s->gives_way = false;
}

void turns_bill_leave(struct turns *t, const struct turns_step *s)
{
	for (struct turns_step *o = t->steps; o && s->owes; o = o->next) {
		if (o == s || o->is.job != s->is.job)
			continue;
		o->owes += s->owes;
		return;
	}
}

bool turns_bill_asks(struct turns *t)
{
	bool any = false;

	for (struct turns_step *s = t->steps; s; s = s->next) {
		if (!s->outside)
			continue;
		turns_act_add(t, TURNS_USE, s, 0, 0, 0);
		any = true;
	}
	return any;
}

static uint64_t turns_bill_owes(const struct turns *t, uint32_t job)
{
	uint64_t owes = 0;

	for (const struct turns_step *s = t->steps; s; s = s->next)
		if (s->is.job == job)
			owes += s->owes;
	return owes;
}

static void turns_bill_pay(struct turns *t, uint32_t job, uint64_t ns)
{
	uint64_t part;

	for (struct turns_step *s = t->steps; s; s = s->next) {
		if (s->is.job != job)
			continue;
		part = storm_min(s->owes, ns);
		s->owes -= part;
		ns -= part;
	}
}

/* ------------------------------------------------------ what a turn costs --- */

static uint64_t turns_bill_of(const struct turns_step *s)
{
	return PROCESSES_TOO * (s->stop_cost + s->continue_cost) +
	       s->grant_cost;
}

/* The cost of all of the job's steps here. */
static uint64_t turns_bill_cost(const struct turns *t, uint32_t job)
{
	uint64_t cost = 0;

	for (const struct turns_step *s = t->steps; s; s = s->next)
		if (s->is.job == job)
			cost += turns_bill_of(s);
	return cost;
}

/* The usual case: whatever is whose, it is below what is free. */
static bool turns_bill_is_small(const struct turns *t)
{
	uint64_t cost = 0;

	for (const struct turns_step *s = t->steps; s; s = s->next)
		cost += turns_bill_of(s);
	return !gang_bill_share(cost, 0, turns_zone_quantum(t));
}

/* Steps of jobs that have a slot in common never share a core. */
static bool turns_bill_apart(const struct turns *t, const struct turns_step *a,
			     const struct turns_step *b)
{
	const struct gang_job *x = turns_job_in(t->now, a->is.job);
	const struct gang_job *y = turns_job_in(t->now, b->is.job);
	uint32_t rows = t->now->map.zones[t->now->zone].rows;

	for (uint32_t i = 0; x && y && i < rows; i++)
		if (storm_idset_has(&x->rows, i) &&
		    storm_idset_has(&y->rows, i))
			return true;
	return false;
}

/* The cheapest job's.  One that was never stopped has no cost yet. */
static uint64_t turns_bill_least(const struct turns *t)
{
	uint64_t least = UINT64_MAX, cost;

	for (const struct turns_step *s = t->steps; s; s = s->next) {
		cost = turns_bill_cost(t, s->is.job);
		if (cost && turns_job_in(t->now, s->is.job) &&
		    !turns_step_is_held(t, s))
			least = storm_min(least, cost);
	}
	return least == UINT64_MAX ? 0 : least;
}

/* True: someone skips this turn.  A job that root has signalled does not: it runs
 * until its turn is over. */
static bool turns_bill_collect(struct turns *t)
{
	uint64_t quantum = turns_zone_quantum(t), least = turns_bill_least(t);
	bool any = false;

	for (struct turns_step *s = t->steps; s; s = s->next) {
		if (!turns_has_slot(t, s))
			continue;
		s->cost = turns_bill_cost(t, s->is.job);
		s->share = gang_bill_share(s->cost, least, quantum);
		s->skips = !s->granted && gang_bill_skips(s->share, t->turn);
		s->grant_cost /= 2;
		any |= s->skips;
	}
	return any;
}

static bool turns_bill_is_first(const struct turns *t,
				const struct turns_step *s)
{
	const struct turns_step *o = t->steps;

	while (o->is.job != s->is.job)
		o = o->next;
	return o == s;
}

/* The job's steps skip this turn for what the job owes: a whole turn, or the
 * part that is free. */
static bool turns_bill_collect_turn(struct turns *t, uint32_t job)
{
	uint64_t quantum = turns_zone_quantum(t);
	uint64_t owes = turns_bill_owes(t, job);
	bool skips = false;

	for (struct turns_step *s = t->steps; s && owes >= quantum;
	     s = s->next) {
		if (s->is.job != job || s->granted)
			continue;
		s->cost = owes;
		s->share = GANG_BILL_PARTS;
		s->skips = skips = true;
	}
	turns_bill_pay(t, job, skips ? quantum : gang_bill_free(quantum));
	return skips;
}

static bool turns_bill_collect_turns(struct turns *t)
{
	uint64_t quantum = turns_zone_quantum(t);
	bool any = false;

	for (struct turns_step *s = t->steps; s; s = s->next)
		if (turns_has_slot(t, s) && turns_bill_is_first(t, s))
			any |= turns_bill_collect_turn(t, s->is.job);
	for (struct turns_step *s = t->steps; s; s = s->next)
		s->gives_way = s->skips ||
			       turns_bill_owes(t, s->is.job) >= quantum;
	return any;
}

static bool turns_bill_may_have(const struct turns *t,
				const struct turns_step *s)
{
	if (turns_has_slot(t, s) || turns_step_is_held(t, s) ||
	    !turns_job_in(t->now, s->is.job))
		return false;
	for (const struct turns_step *o = t->steps; o; o = o->next)
		if ((o->spare || (turns_has_slot(t, o) && !o->skips)) &&
		    !turns_bill_apart(t, s, o))
			return false;
	return true;
}

void turns_bill_slot(struct turns *t)
{
	bool any = false, debts = false;

	for (struct turns_step *s = t->steps; s; s = s->next) {
		debts |= s->owes != 0;
		s->skips = s->spare = s->gives_way = false;
	}
	if (!turns_bill_is_small(t))
		any = turns_bill_collect(t);
	if (debts)
		any |= turns_bill_collect_turns(t);
	if (!any)
		return;
	for (struct turns_step *s = t->steps; s; s = s->next)
		s->spare = turns_bill_may_have(t, s);
}

void turns_bill_spares(const struct turns *t)
{
	for (struct turns_step *s = t->steps; s; s = s->next)
		s->spare = s->spare && turns_bill_may_have(t, s);
}
