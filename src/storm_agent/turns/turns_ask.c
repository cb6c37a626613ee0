/*
 * turns_ask.c - questions about the state of turns.h, which change nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/idset.h"
#include "turns_private.h"

/* In shorter turns the gaps are as long as what starting and stopping a filler
 * costs. */
#define FILL_LEAST (5 * STORM_MS)

/* -------------------------------------------------------------------- maps --- */

bool turns_is_here(const struct turns_known *k, const struct gang_job *j)
{
	return j->zone == k->zone && storm_idset_has(&j->nodes, k->self);
}

const struct gang_job *turns_job_in(const struct turns_known *k, uint32_t job)
{
	const struct gang_job *j = k->there ? gang_map_job(&k->map, job) : NULL;

	return j && turns_is_here(k, j) ? j : NULL;
}

bool turns_has_slot(const struct turns *t, const struct turns_step *s)
{
	const struct gang_job *j = turns_job_in(t->now, s->is.job);

	return j && storm_idset_has(&j->rows, t->slot);
}

static const struct gang_zone *turns_known_zone(const struct turns_known *k)
{
	return k->there && k->zone < k->map.nzones ? &k->map.zones[k->zone] :
						     NULL;
}

static const struct gang_zone *turns_zone_now(const struct turns *t)
{
	return t->now ? turns_known_zone(t->now) : NULL;
}

bool turns_known_is_flexible(const struct turns_known *k)
{
	const struct gang_zone *z = turns_known_zone(k);

	return z && z->policy == GANG_POLICY_FLEXIBLE &&
	       z->quantum >= FILL_LEAST;
}

/* ------------------------------------------------------------------- steps --- */

void *turns_step_owner(const struct turns_step *s)
{
	return s->is.owner;
}

bool turns_step_stands(const struct turns_step *s)
{
	return s->stands;
}

bool turns_step_fills(const struct turns_step *s)
{
	return s->fills;
}

uint64_t turns_step_stopped_at(const struct turns_step *s)
{
	return s->stopped;
}

bool turns_step_is_traced(const struct turns_step *s)
{
	return s->traced;
}

bool turns_step_attaches(const struct turns_step *s)
{
	return s->attaching;
}

bool turns_step_is_held(const struct turns *t, const struct turns_step *s)
{
	const struct gang_job *j = t->now ? turns_job_in(t->now, s->is.job) :
					    NULL;

	return j && gang_job_held(j);
}

bool turns_step_takes_turns(const struct turns *t, const struct turns_step *s)
{
	return turns_job_in(&t->known[0], s->is.job) != NULL;
}

bool turns_job_has_steps(const struct turns *t, uint32_t job)
{
	for (const struct turns_step *s = t->steps; s; s = s->next)
		if (s->is.job == job && !s->is.script)
			return true;
	return false;
}

bool turns_script_runs(const struct turns *t, const struct turns_step *s)
{
	return s->has_srun || turns_job_has_steps(t, s->is.job) ||
	       turns_zone_quantum(t) >= t->long_turn;
}

bool turns_step_should_yield(const struct turns *t, const struct turns_step *s)
{
	const struct gang_zone *z = turns_zone_now(t);

	/* What cannot be billed has no wish.  Where others fill nobody has: a step
	 * that never stands is not measured, so its gaps would be nobody's. */
	return z &&
	       (z->policy == GANG_POLICY_YIELD ||
		(s->is.yields && s->is.measured &&
		 z->policy != GANG_POLICY_FLEXIBLE)) &&
	       z->quantum >= GANG_YIELD_MIN && !turns_step_is_held(t, s);
}

bool turns_yields(const struct turns *t, const struct turns_step *s)
{
	return s->is.can_fill && turns_step_should_yield(t, s);
}

bool turns_yields_alone(const struct turns *t, const struct turns_step *s)
{
	const struct gang_zone *z = turns_zone_now(t);

	return z && z->policy != GANG_POLICY_YIELD && turns_yields(t, s);
}

bool turns_step_must_stand(const struct turns *t, const struct turns_step *s)
{
	return turns_step_is_held(t, s) &&
	       !(s->is.script && turns_script_runs(t, s));
}

/* ---------------------------------------------------------------- the node --- */

uint32_t turns_standing(const struct turns *t)
{
	uint32_t n = 0;

	for (const struct turns_step *s = t->steps; s; s = s->next)
		n += turns_step_held(s);
	return n;
}

bool turns_shares(const struct turns *t)
{
	return t->shared;
}

bool turns_alternates(const struct turns *t)
{
	return t->shared && !t->alone;
}

bool turns_is_flexible(const struct turns *t)
{
	return turns_known_is_flexible(&t->known[0]);
}

bool turns_strobed(const struct turns *t, bool *newest)
{
	*newest = t->now == &t->known[0];
	return t->now != NULL;
}

uint64_t turns_acted(const struct turns *t)
{
	return t->acted;
}

uint64_t turns_limit(const struct turns *t)
{
	return t->limit;
}

uint64_t turns_quantum(const struct turns *t)
{
	return t->now ? turns_zone_quantum(t) : 0;
}

struct gang_agreed *turns_agreed_time(struct turns *t)
{
	return &t->agreed;
}

const struct turns_count *turns_counted(const struct turns *t)
{
	return &t->count;
}
