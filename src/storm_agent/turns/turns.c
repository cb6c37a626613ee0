/*
 * turns.c - maps, strobes and silence (turns.h).
 *
 * A strobe counts if it names a map that is known, this one or the one before; if not,
 * everything runs.  So does all without a strobe: each says for how long it holds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"
#include "turns_private.h"

/* Wake up so long before a strobe expires, to continue all steps in time. */
#define WAKE_TIME (15 * STORM_MS)
/* slurmd's guard, which looks at intervals, acts so long before a strobe
 * expires. */
#define GUARD_TIME (35 * STORM_MS)
#define NOBODY UINT32_MAX

struct turns *turns_create(uint64_t long_turn)
{
	struct turns *t = calloc(1, sizeof(*t));

	if (t && !turns_acts_grow(t, 0)) {
		free(t);
		return NULL;
	}
	if (t)
		t->long_turn = long_turn;
	return t;
}

static void turns_forget_maps(struct turns *t)
{
	for (int i = 0; i < 2; i++) {
		if (t->known[i].there)
			gang_map_clear(&t->known[i].map);
		t->known[i].there = false;
	}
}

void turns_destroy(struct turns *t)
{
	struct turns_step *s;

	if (!t)
		return;
	while ((s = t->steps)) {
		t->steps = s->next;
		free(s);
	}
	turns_forget_maps(t);
	free(t->acts);
	free(t);
}

/* -------------------------------------------------------------------- maps --- */

static uint32_t turns_jobs_here(const struct turns_known *k)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < k->map.njobs; i++)
		n += turns_is_here(k, &k->map.jobs[i]);
	return n;
}

/* The map and each job's rows, so that the trace explains the slots. */
static void turns_note_map(struct turns *t, const struct turns_known *k,
			   uint32_t jobs)
{
	struct gang_event *e;

	turns_note(t, GANG_MAP, NULL,
		   k->zone == NOBODY ? 0 : k->map.zones[k->zone].rows, jobs);
	t->acts[t->nacts - 1].event.version = k->map.version;
	for (uint32_t i = 0; i < k->map.njobs; i++) {
		const struct gang_job *j = &k->map.jobs[i];

		if (!turns_is_here(k, j))
			continue;
		turns_note(t, GANG_JOB, NULL, 0, 0);
		e = &t->acts[t->nacts - 1].event;
		e->version = k->map.version;
		e->job = j->job_id;
		for (uint32_t row = 0; row < 64; row++)
			if (storm_idset_has(&j->rows, row))
				*(row < 32 ? &e->a : &e->b) |= 1u << (row % 32);
	}
}

void turns_map(struct turns *t, struct gang_map *map, uint64_t digest,
	       uint32_t zone, uint32_t self, uint64_t now)
{
	struct turns_known *k = t->known, fresh = {
		.there = true,
		.map = *map,
		.digest = digest,
		.zone = zone,
		.self = self,
	};
	struct turns_known old = k[1];
	uint32_t jobs = turns_jobs_here(&fresh);

	turns_acts_clear(t);
	k[1] = k[0];
	k[0] = fresh;
	*map = old.there ? old.map : (struct gang_map) { 0 };
	/* strobes still name the previous map */
	if (t->now)
		t->now = t->now == &k[0] ? &k[1] : NULL;
	t->count.maps++;
	if (turns_acts_grow(t, jobs)) /* else the trace lacks it */
		turns_note_map(t, &k[0], jobs);
	t->shared = jobs > 0;
	t->alone = false;
	if (!t->now)
		turns_open_now(t, GANG_WHY_UNKNOWN_MAP, now);
	turns_apply(t, now);
}

/* ----------------------------------------------------------------- strobes --- */

/* The map that a strobe names, or NULL. */
static const struct turns_known *turns_meant(const struct turns *t,
					     const struct gang_strobe *st)
{
	for (int i = 0; i < 2; i++)
		if (t->known[i].there && t->known[i].digest == st->digest &&
		    t->known[i].map.version == st->version)
			return &t->known[i];
	return NULL;
}

static void turns_count_missed(struct turns *t, uint64_t number)
{
	uint64_t missed = number - t->number - 1;

	/* unknown for the first strobe of all, or of an epoch */
	if ((t->now || t->was_away) && missed &&
	    number >> 32 == t->number >> 32) {
		t->count.missed += missed;
		t->number = number;
		turns_note(t, GANG_MISSED, NULL, (uint32_t) missed, 0);
	}
	t->number = number;
	t->was_away = false;
	t->count.strobes++;
}

bool turns_strobe(struct turns *t, uint64_t number,
		  const struct gang_strobe *st, uint64_t received, bool slurmd,
		  uint64_t now)
{
	const struct turns_known *k;
	uint64_t limit;

	turns_acts_clear(t);
	turns_count_missed(t, number);
	gang_agreed_clock(&t->agreed, number, st, received);
	k = turns_meant(t, st);
	if (!k) {
		/* a map without sharing is never sent */
		t->alone |= st->slot == GANG_SLOT_ALL;
		turns_open_now(t, GANG_WHY_UNKNOWN_MAP, now);
		return false;
	}
	if (st->zone != k->zone || !slurmd)
		return false;
	t->heard = now;
	t->alone = st->slot == GANG_SLOT_ALL;
	if (st->slot >= k->map.zones[k->zone].rows) {
		turns_open_now(
			t, t->alone ? GANG_WHY_ALL : GANG_WHY_UNKNOWN_MAP, now);
		return false;
	}
	limit = gang_silence(k->map.zones[k->zone].quantum);
	t->silence = limit - WAKE_TIME;
	t->limit = limit - GUARD_TIME;
	if (gang_agreed_hear(&t->agreed, number, st, received, now))
		return false; /* the next one will be in time, too */
	turns_slot(t, k, st->slot, number, now);
	return true;
}

/* No strobe has come.  A newer map may have other slots. */
static bool turns_goes_on(struct turns *t, const struct turns_known *k)
{
	if (!t->now || k != &t->known[0])
		return false;
	t->count.planned++;
	turns_note(t, GANG_PLANNED, NULL, 0, 0);
	return true;
}

bool turns_agreed(struct turns *t, bool slurmd, uint64_t now)
{
	const struct turns_known *k;
	struct gang_strobe st;
	uint64_t number;
	bool by_plan;

	turns_acts_clear(t);
	if (!gang_agreed_take(&t->agreed, now, &st, &number, &by_plan))
		return false;
	k = turns_meant(t, &st);
	if (!k || st.slot >= k->map.zones[k->zone].rows) {
		turns_open_now(t, GANG_WHY_UNKNOWN_MAP, now);
		return false;
	}
	/* without one turns_late() lets everything run */
	if (!slurmd || (by_plan && !turns_goes_on(t, k)))
		return false;
	t->count.agreed++;
	turns_slot(t, k, st.slot, number, now);
	return true;
}

/* ----------------------------------------------------------------- silence --- */

uint64_t turns_late_at(const struct turns *t)
{
	return !t->now && !turns_standing(t) ? STORM_NEVER :
					       t->heard + t->silence;
}

uint64_t turns_late(struct turns *t, bool slurmd, uint64_t now)
{
	uint64_t end = turns_late_at(t);

	turns_acts_clear(t);
	if (end == STORM_NEVER || (now < end && slurmd))
		return end;
	turns_open_now(t, now >= end ? GANG_WHY_SILENCE : GANG_WHY_NO_SLURMD,
		       now);
	return STORM_NEVER;
}

void turns_freed(struct turns *t)
{
	t->freed = true;
}

void turns_decide(struct turns *t, uint64_t now)
{
	turns_acts_clear(t);
	turns_apply(t, now);
}

void turns_open(struct turns *t, enum gang_why why, uint64_t now)
{
	turns_acts_clear(t);
	turns_open_now(t, why, now);
}

void turns_returned(struct turns *t, uint64_t now)
{
	turns_acts_clear(t);
	t->was_away |= t->now != NULL;
	turns_open_now(t, GANG_WHY_RETURNED, now);
}

void turns_close(struct turns *t, uint64_t now)
{
	turns_acts_clear(t);
	turns_open_now(t, GANG_WHY_CLOSED, now);
	turns_forget_maps(t);
	t->shared = t->was_away = false;
	t->number = 0;
	memset(&t->agreed, 0, sizeof(t->agreed));
}
