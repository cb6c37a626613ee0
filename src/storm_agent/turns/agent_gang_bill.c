/*
 * agent_gang_bill.c - makes a job pay for its switches, with turns (gang_bill.h).
 * A turn that a job skips goes to others: to each that has a slot in common with
 * all that run now, so that they share no core.
 *
 * What runs out of its turn, as a batch script does beside its srun, takes the turns
 * of others.  So the CPU time that it uses then is measured, in whole slots, and its
 * job owes it.  For each quantum of it the job skips a turn.  While it owes a turn, what
 * runs out of turn has only what nobody else wants.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <time.h>

#include "agent_gang_private.h"
#include "gang_bill.h"
#include "src/libstorm/base/minmax.h"

/* The agent measures only what it does itself.  The step's processes use two to
 * three times as much to stop and to go on. */
#define PROCESSES_TOO 4

#define NOTABLE (100 * STORM_US)
#define SOME \
	16 /* of so many stops, two, and the times that it continues between */

static uint64_t agent_gang_bill_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * STORM_SEC + t.tv_nsec;
}

uint64_t agent_gang_bill_begin(const struct gang_local *l)
{
	if (l->stops % SOME > 1 && l->stop_cost + l->continue_cost < NOTABLE)
		return 0;
	return agent_gang_bill_clock();
}

void agent_gang_bill_end(uint64_t *mean, uint64_t begun)
{
	if (begun)
		*mean = gang_bill_mean(*mean, agent_gang_bill_clock() - begun);
}

static uint64_t agent_gang_bill_quantum(const struct agent_gang *g)
{
	return g->now->map.zones[g->now->zone].quantum;
}

/* As if its turn had cost a quantum more, then half of that, and so on: in all it
 * skips about one turn. */
void agent_gang_bill_grant(const struct agent_gang *g, struct gang_local *l)
{
	uint64_t used;

	if (g->now && !freezer_used(l->f, &used))
		l->grant_cost += agent_gang_bill_quantum(g);
}

/* -------------------------------------------------------- out of its turn --- */

static bool agent_gang_bill_has_slot(const struct agent_gang *g,
				     const struct gang_local *l)
{
	const struct gang_job *j = agent_gang_job_in(g->now, l->step.job);

	return j && storm_idset_has(&j->rows, g->slot);
}

/* Does it take time from somebody? */
static bool agent_gang_bill_disturbs(const struct agent_gang *g,
				     const struct gang_local *l)
{
	for (const struct gang_local *o = g->steps; o; o = o->next)
		if (o->step.job != l->step.job &&
		    (agent_gang_bill_has_slot(g, o) || o->fills))
			return true;
	return false;
}

void agent_gang_bill_outside(const struct agent_gang *g, struct gang_local *l)
{
	if (!l->outside && agent_gang_bill_disturbs(g, l))
		l->outside = freezer_used(l->f, &l->used);
}

void agent_gang_bill_open(struct gang_local *l)
{
	l->outside = l->gives_way = false;
}

void agent_gang_bill_leave(struct agent_gang *g, const struct gang_local *l)
{
	for (struct gang_local *o = g->steps; o && l->owes; o = o->next) {
		if (o == l || o->step.job != l->step.job)
			continue;
		o->owes += l->owes;
		return;
	}
}

static uint64_t agent_gang_bill_owes(const struct agent_gang *g, uint32_t job)
{
	uint64_t owes = 0;

	for (const struct gang_local *l = g->steps; l; l = l->next)
		if (l->step.job == job)
			owes += l->owes;
	return owes;
}

static void agent_gang_bill_pay(struct agent_gang *g, uint32_t job, uint64_t ns)
{
	uint64_t part;

	for (struct gang_local *l = g->steps; l; l = l->next) {
		if (l->step.job != job)
			continue;
		part = storm_min(l->owes, ns);
		l->owes -= part;
		ns -= part;
	}
}

/* Add what the slot that is over brings.  True: there are debts. */
static bool agent_gang_bill_add(struct agent_gang *g)
{
	bool any = false;
	uint64_t now;

	for (struct gang_local *l = g->steps; l; l = l->next) {
		if (l->outside && freezer_used(l->f, &now))
			l->owes += now - l->used;
		l->outside = false;
		any |= l->owes != 0;
	}
	return any;
}

/* ------------------------------------------------------ what a turn costs --- */

static uint64_t agent_gang_bill_of(const struct gang_local *l)
{
	return PROCESSES_TOO * (l->stop_cost + l->continue_cost) +
	       l->grant_cost;
}

/* Of all of the job's steps here. */
static uint64_t agent_gang_bill_cost(const struct agent_gang *g, uint32_t job)
{
	uint64_t cost = 0;

	for (const struct gang_local *l = g->steps; l; l = l->next)
		if (l->step.job == job)
			cost += agent_gang_bill_of(l);
	return cost;
}

/* The usual case: whatever is whose, it is below what is free. */
static bool agent_gang_bill_is_small(const struct agent_gang *g)
{
	uint64_t cost = 0;

	for (const struct gang_local *l = g->steps; l; l = l->next)
		cost += agent_gang_bill_of(l);
	return !gang_bill_share(cost, 0, agent_gang_bill_quantum(g));
}

/* Steps of jobs that have a slot in common never share a core. */
static bool agent_gang_bill_apart(const struct agent_gang *g,
				  const struct gang_local *a,
				  const struct gang_local *b)
{
	const struct gang_job *x = agent_gang_job_in(g->now, a->step.job);
	const struct gang_job *y = agent_gang_job_in(g->now, b->step.job);
	uint32_t rows = g->now->map.zones[g->now->zone].rows;

	for (uint32_t i = 0; x && y && i < rows; i++)
		if (storm_idset_has(&x->rows, i) &&
		    storm_idset_has(&y->rows, i))
			return true;
	return false;
}

/* The cheapest job's.  One that was never stopped has no cost yet. */
static uint64_t agent_gang_bill_least(const struct agent_gang *g)
{
	uint64_t least = UINT64_MAX, cost;

	for (const struct gang_local *l = g->steps; l; l = l->next) {
		cost = agent_gang_bill_cost(g, l->step.job);
		if (cost && agent_gang_job_in(g->now, l->step.job) &&
		    !agent_gang_is_held(g, l))
			least = storm_min(least, cost);
	}
	return least == UINT64_MAX ? 0 : least;
}

/* True: someone skips this turn.  A job that root has signalled does not: it runs
 * until its turn is over. */
static bool agent_gang_bill_collect(struct agent_gang *g)
{
	uint64_t quantum = agent_gang_bill_quantum(g);
	uint64_t least = agent_gang_bill_least(g);
	bool any = false;

	for (struct gang_local *l = g->steps; l; l = l->next) {
		if (!agent_gang_bill_has_slot(g, l))
			continue;
		l->cost = agent_gang_bill_cost(g, l->step.job);
		l->share = gang_bill_share(l->cost, least, quantum);
		l->skips = !l->granted && gang_bill_skips(l->share, g->turn);
		l->grant_cost /= 2;
		any |= l->skips;
	}
	return any;
}

static bool agent_gang_bill_is_first(const struct agent_gang *g,
				     const struct gang_local *l)
{
	const struct gang_local *o = g->steps;

	while (o->step.job != l->step.job)
		o = o->next;
	return o == l;
}

/* The same of what the job owes: a whole turn, or the part that is free. */
static bool agent_gang_bill_collect_turn(struct agent_gang *g, uint32_t job)
{
	uint64_t quantum = agent_gang_bill_quantum(g);
	uint64_t owes = agent_gang_bill_owes(g, job);
	bool skips = false;

	for (struct gang_local *l = g->steps; l && owes >= quantum;
	     l = l->next) {
		if (l->step.job != job || l->granted)
			continue;
		l->cost = owes;
		l->share = GANG_BILL_PARTS;
		l->skips = skips = true;
	}
	agent_gang_bill_pay(g, job, skips ? quantum : gang_bill_free(quantum));
	return skips;
}

static bool agent_gang_bill_collect_turns(struct agent_gang *g)
{
	uint64_t quantum = agent_gang_bill_quantum(g);
	bool any = false;

	for (struct gang_local *l = g->steps; l; l = l->next)
		if (agent_gang_bill_has_slot(g, l) &&
		    agent_gang_bill_is_first(g, l))
			any |= agent_gang_bill_collect_turn(g, l->step.job);
	for (struct gang_local *l = g->steps; l; l = l->next)
		l->gives_way = l->skips ||
			       agent_gang_bill_owes(g, l->step.job) >= quantum;
	return any;
}

static bool agent_gang_bill_may_fill(const struct agent_gang *g,
				     const struct gang_local *l)
{
	if (agent_gang_bill_has_slot(g, l) || agent_gang_is_held(g, l) ||
	    !agent_gang_job_in(g->now, l->step.job))
		return false;
	for (const struct gang_local *o = g->steps; o; o = o->next)
		if ((o->fills ||
		     (agent_gang_bill_has_slot(g, o) && !o->skips)) &&
		    !agent_gang_bill_apart(g, l, o))
			return false;
	return true;
}

void agent_gang_bill_slot(struct agent_gang *g)
{
	bool any = false, debts = agent_gang_bill_add(g);

	for (struct gang_local *l = g->steps; l; l = l->next)
		l->skips = l->fills = l->gives_way = false;
	if (!agent_gang_bill_is_small(g))
		any = agent_gang_bill_collect(g);
	if (debts)
		any |= agent_gang_bill_collect_turns(g);
	if (!any)
		return;
	for (struct gang_local *l = g->steps; l; l = l->next)
		l->fills = agent_gang_bill_may_fill(g, l);
}
