/*
 * rota.c - whose turn it is: see rota.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "rota.h"
#include "src/gang/policy.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

#define ALL_TIMES 3 /* how often "everything runs" is strobed */
#define ALL_EVERY (10 * STORM_MS)
#define NO_SLOT POLICY_NONE

struct zone {
	struct policy_slot *slots;
	uint32_t now; /* whose turn it is; NO_SLOT: none yet */
	uint64_t since;
	uint64_t end;	  /* of the quantum */
	uint64_t again;	  /* when to repeat the strobe */
	uint32_t next;	  /* of the longest wait; NO_SLOT: the next one */
	unsigned int all; /* strobes "everything runs" still to be sent */
	bool fresh;	  /* `now` has not been strobed yet */
};

struct rota_history {
	uint64_t given, last; /* in maps before this one */
	uint64_t since;	      /* in all maps */
};

struct rota {
	struct gang_map map;
	uint64_t digest;
	struct zone *zones;
	struct rota_history *jobs; /* as in the map */
	struct rota_stats stats;
	bool paused;
};

static bool rota_shared(const struct rota *r, uint32_t zone)
{
	return !r->paused && r->map.zones[zone].rows > 1;
}

static uint64_t rota_job_last(const struct rota *r, uint32_t i, uint64_t now)
{
	const struct gang_job *j = &r->map.jobs[i];
	const struct zone *z = &r->zones[j->zone];
	uint64_t last = r->jobs[i].last;

	if (!rota_shared(r, j->zone) || storm_idset_has(&j->rows, z->now))
		return now;
	for (uint32_t k = 0; k < j->rows.count; k++)
		for (uint32_t s = j->rows.r[k].first; s <= j->rows.r[k].last;
		     s++)
			if (z->slots[s].last > last)
				last = z->slots[s].last;
	return last;
}

uint64_t rota_given(const struct rota *r, uint32_t i, uint64_t now)
{
	const struct gang_job *j = &r->map.jobs[i];
	const struct zone *z = &r->zones[j->zone];
	uint64_t ns = r->jobs[i].given;

	for (uint32_t k = 0; k < j->rows.count; k++)
		for (uint32_t s = j->rows.r[k].first; s <= j->rows.r[k].last;
		     s++)
			ns += z->slots[s].given;
	if (!rota_shared(r, j->zone) || storm_idset_has(&j->rows, z->now))
		ns += now - z->since;
	return ns;
}

uint64_t rota_waited(const struct rota *r, uint32_t i, uint64_t now)
{
	return now - r->jobs[i].since - rota_given(r, i, now);
}

/* --------------------------------------------- from one map to the next --- */

/* The job's index in the map, or NO_SLOT. */
static uint32_t rota_job_index(const struct gang_map *m, uint32_t job_id)
{
	const struct gang_job *j = gang_map_job(m, job_id);

	return j ? (uint32_t) (j - m->jobs) : NO_SLOT;
}

static bool rota_job_runs(const struct rota *r, uint32_t i)
{
	uint32_t zone = r->map.jobs[i].zone;

	return rota_shared(r, zone) &&
	       storm_idset_has(&r->map.jobs[i].rows, r->zones[zone].now);
}

/* Note the slots in which a job that runs now can continue, and until when. */
static void rota_carry_on(struct rota *r, const struct rota *before, uint32_t i,
			  uint32_t old, uint64_t now)
{
	const struct gang_job *j = &r->map.jobs[i];
	struct zone *z = &r->zones[j->zone];
	uint64_t end = before->zones[before->map.jobs[old].zone].end;

	if (!rota_shared(r, j->zone) || !rota_job_runs(before, old) ||
	    end <= now || gang_job_held(j))
		return;
	for (uint32_t k = 0; k < j->rows.count; k++)
		for (uint32_t s = j->rows.r[k].first; s <= j->rows.r[k].last;
		     s++)
			z->slots[s].runs++;
	if (z->end)
		return;
	if (end > now + r->map.zones[j->zone].quantum)
		end = now + r->map.zones[j->zone].quantum;
	z->end = end;
}

/* The slot in which most running jobs continue; NO_SLOT: none runs. */
static uint32_t rota_slot_to_keep(const struct rota *r, uint32_t zone)
{
	const struct policy_slot *slots = r->zones[zone].slots;
	uint32_t most = 0, best = NO_SLOT;

	for (uint32_t s = 0; s < r->map.zones[zone].rows; s++)
		if (slots[s].runs > most) {
			most = slots[s].runs;
			best = s;
		}
	return best;
}

static void rota_inherit(struct rota *r, const struct rota *before,
			 uint64_t now)
{
	for (uint32_t i = 0; i < r->map.njobs; i++) {
		uint32_t old =
			rota_job_index(&before->map, r->map.jobs[i].job_id);

		if (old == NO_SLOT)
			continue;
		r->jobs[i].given = rota_given(before, old, now);
		r->jobs[i].last = rota_job_last(before, old, now);
		r->jobs[i].since = before->jobs[old].since;
		rota_carry_on(r, before, i, old, now);
	}
	r->stats = before->stats;
}

/* Choose a slot of the job that has waited longest: any of them will do. */
static void rota_choose_next(struct rota *r, uint32_t zone)
{
	struct zone *z = &r->zones[zone];
	uint64_t longest = STORM_NEVER;

	for (uint32_t i = 0; i < r->map.njobs; i++) {
		const struct gang_job *j = &r->map.jobs[i];

		if (j->zone != zone || r->jobs[i].last >= longest ||
		    gang_job_held(j))
			continue;
		if (z->now != NO_SLOT && storm_idset_has(&j->rows, z->now))
			continue; /* it runs */
		longest = r->jobs[i].last;
		z->next = j->rows.r[0].first;
	}
}

/* Do the nodes still need a strobe that everything runs? */
static bool rota_may_be_frozen(const struct rota *before)
{
	for (uint32_t i = 0; before && i < before->map.nzones; i++)
		if (rota_shared(before, i) || before->zones[i].all)
			return true;
	return false;
}

static void rota_zone_begin(struct rota *r, uint32_t i,
			    const struct rota *before, uint64_t now)
{
	struct zone *z = &r->zones[i];

	z->since = now;
	z->again = now;
	if (!rota_shared(r, i)) {
		z->now = NO_SLOT;
		z->all = rota_may_be_frozen(before) ? ALL_TIMES : 0;
		return;
	}
	z->now = rota_slot_to_keep(r, i);
	rota_choose_next(r, i);
	if (z->now == NO_SLOT)
		z->end = now; /* rota_next() takes z->next */
	else
		z->fresh = true;
}

static int rota_zones_make(struct rota *r)
{
	r->zones = calloc(r->map.nzones + 1, sizeof(*r->zones));
	r->jobs = calloc(r->map.njobs + 1, sizeof(*r->jobs));
	if (!r->zones || !r->jobs)
		return -1;
	for (uint32_t i = 0; i < r->map.nzones; i++) {
		r->zones[i].now = r->zones[i].next = NO_SLOT;
		r->zones[i].slots = calloc(r->map.zones[i].rows + 1,
					   sizeof(*r->zones[i].slots));
		if (!r->zones[i].slots)
			return -1;
	}
	return 0;
}

struct rota *rota_create(struct gang_map *map, uint64_t digest,
			 const struct rota *before, uint64_t now)
{
	struct rota *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->map = *map;
	r->digest = digest;
	if (rota_zones_make(r)) {
		memset(&r->map, 0, sizeof(r->map)); /* still the caller's */
		rota_destroy(r);
		return NULL;
	}
	memset(map, 0, sizeof(*map));
	/* a new job waits from now on */
	for (uint32_t i = 0; i < r->map.njobs; i++)
		r->jobs[i].last = r->jobs[i].since = now;
	if (before) {
		r->paused = before->paused;
		rota_inherit(r, before, now);
	}
	for (uint32_t i = 0; i < r->map.nzones; i++)
		rota_zone_begin(r, i, before, now);
	return r;
}

void rota_destroy(struct rota *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; r->zones && i < r->map.nzones; i++)
		free(r->zones[i].slots);
	free(r->zones);
	free(r->jobs);
	gang_map_clear(&r->map);
	free(r);
}

const struct gang_map *rota_map(const struct rota *r)
{
	return &r->map;
}

/* -------------------------------------------------------------- in time --- */

static uint64_t rota_zone_due(const struct rota *r, uint32_t i)
{
	const struct zone *z = &r->zones[i];

	if (!rota_shared(r, i))
		return z->all ? z->again : STORM_NEVER;
	return storm_min(z->again, z->end);
}

uint64_t rota_due(const struct rota *r)
{
	uint64_t due = STORM_NEVER;

	for (uint32_t i = 0; i < r->map.nzones; i++)
		if (rota_zone_due(r, i) < due)
			due = rota_zone_due(r, i);
	return due;
}

static void rota_book_turn(struct zone *z, uint64_t now)
{
	if (z->now != NO_SLOT) {
		z->slots[z->now].given += now - z->since;
		z->slots[z->now].last = now;
	}
	z->since = now;
}

static uint32_t rota_next_slot(const struct rota *r, uint32_t i)
{
	const struct gang_zone *m = &r->map.zones[i];
	const struct policy_turn t = { .now = r->zones[i].now,
				       .longest = r->zones[i].next,
				       .slot = r->zones[i].slots,
				       .slots = m->rows };

	return policy_of(m->policy)->next_slot(&t) % m->rows;
}

/* The next slot begins. */
static void rota_turn_begins(struct rota *r, uint32_t i, uint64_t now)
{
	struct zone *z = &r->zones[i];
	uint64_t quantum = r->map.zones[i].quantum;

	rota_book_turn(z, now);
	z->now = rota_next_slot(r, i);
	z->next = NO_SLOT;
	/* quanta that have passed already are skipped */
	if (now - z->end > quantum) {
		r->stats.late += (now - z->end) / quantum;
		z->end = now;
	}
	z->end += quantum;
	r->stats.switches++;
}

static void rota_strobe(const struct rota *r, uint32_t zone, uint32_t slot,
			struct gang_strobe *out)
{
	*out = (struct gang_strobe) { .zone = (uint16_t) zone,
				      .slot = slot,
				      .version = r->map.version,
				      .digest = r->digest };
	if (slot == GANG_SLOT_ALL)
		return;
	out->next = rota_next_slot(r, zone);
	out->next_at = r->zones[zone].end;
}

bool rota_next(struct rota *r, uint64_t now, struct gang_strobe *out)
{
	for (uint32_t i = 0; i < r->map.nzones; i++) {
		struct zone *z = &r->zones[i];
		bool begins = rota_shared(r, i) && now >= z->end;

		if (rota_zone_due(r, i) > now)
			continue;
		if (!rota_shared(r, i)) {
			z->all--;
			z->again = now + ALL_EVERY;
			rota_strobe(r, i, GANG_SLOT_ALL, out);
			return true;
		}
		if (begins)
			rota_turn_begins(r, i, now);
		else if (!z->fresh)
			r->stats.repeats++;
		z->fresh = false;
		z->again = now + gang_repeat(r->map.zones[i].quantum);
		rota_strobe(r, i, z->now, out);
		if (begins)
			out->at = z->end - r->map.zones[i].quantum;
		return true;
	}
	return false;
}

void rota_pause(struct rota *r, uint64_t now)
{
	if (r->paused)
		return;
	for (uint32_t i = 0; i < r->map.nzones; i++) {
		struct zone *z = &r->zones[i];

		if (rota_shared(r, i)) {
			rota_book_turn(z, now);
			z->all = ALL_TIMES;
			z->again = now;
		}
	}
	r->paused = true;
}

void rota_continue(struct rota *r, uint64_t now)
{
	if (!r->paused)
		return;
	for (uint32_t i = 0; i < r->map.njobs; i++) {
		uint64_t since = r->zones[r->map.jobs[i].zone].since;

		r->jobs[i].given += now - since;
		r->jobs[i].last = now;
	}
	r->paused = false;
	for (uint32_t i = 0; i < r->map.nzones; i++)
		r->zones[i].since = r->zones[i].again = r->zones[i].end = now;
}

void rota_stats(const struct rota *r, struct rota_stats *out)
{
	*out = r->stats;
}
