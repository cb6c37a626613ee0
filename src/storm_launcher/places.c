/*
 * places.c - see places.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "places.h"
#include "src/libstorm/base/idset.h"

int places_init(struct places *p, const struct storm_idset *cpus, uint32_t gpus)
{
	uint32_t count = (uint32_t) storm_idset_size(cpus), n = 0;

	/* calloc(3) of nothing may be NULL */
	*p = (struct places) {
		.count = count,
		.cpus = calloc((size_t) count + 1, sizeof(*p->cpus)),
		.taken = calloc((size_t) count + 1, sizeof(*p->taken)),
		.load = calloc((size_t) count + 1, sizeof(*p->load)),
		.order = calloc((size_t) count + 1, sizeof(*p->order)),
		.gpus = gpus,
		.gpu_taken = calloc((size_t) gpus + 1, sizeof(*p->gpu_taken)),
	};
	if (!p->cpus || !p->taken || !p->load || !p->order || !p->gpu_taken) {
		places_fini(p);
		return STORM_ENOMEM;
	}
	for (uint32_t k = 0; k < cpus->count; k++)
		for (uint32_t c = cpus->r[k].first; c <= cpus->r[k].last;
		     c++, n++)
			p->cpus[n] = (struct place_cpu) { .cpu = c, .core = n };
	return STORM_OK;
}

void places_fini(struct places *p)
{
	free(p->cpus);
	free(p->taken);
	free(p->load);
	free(p->order);
	free(p->gpu_taken);
	*p = (struct places) { .count = 0 };
}

/* -------------------------------------------------------------------- CPUs --- */

enum place_level { LEVEL_LDOM, LEVEL_SOCKET, LEVEL_NODE };

static bool place_is_in(const struct place_cpu *a, const struct place_cpu *b,
			enum place_level level)
{
	return level == LEVEL_NODE ||
	       (level == LEVEL_LDOM ? a->ldom == b->ldom :
				      a->socket == b->socket);
}

static int place_by_core(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* How many CPUs of its core have tasks, for each CPU: by their cores' numbers in a row, as
 * there can be hundreds of CPUs, and as many tasks. */
static void place_loads(struct places *p)
{
	for (uint32_t k = 0; k < p->count; k++)
		p->order[k] = (uint64_t) p->cpus[k].core << 32 | k;
	qsort(p->order, p->count, sizeof(*p->order), place_by_core);
	for (uint32_t first = 0, next; first < p->count; first = next) {
		uint32_t load = 0;

		for (next = first;
		     next < p->count &&
		     p->order[next] >> 32 == p->order[first] >> 32;
		     next++)
			load += p->taken[(uint32_t) p->order[next]];
		for (uint32_t k = first; k < next; k++)
			p->load[(uint32_t) p->order[k]] = load;
	}
}

/* CPUs that no task has, in the part of the node in which this one is; idle: of those,
 * the ones in cores of which no task has any. */
static uint32_t place_room(const struct places *p, uint32_t of,
			   enum place_level level, bool idle)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < p->count; k++)
		n += !p->taken[k] && !(idle && p->load[k]) &&
		     place_is_in(&p->cpus[k], &p->cpus[of], level);
	return n;
}

/* Is one of the CPUs before it in the same part?  Most often it is the last one. */
static bool place_had(const struct places *p, uint32_t of,
		      enum place_level level)
{
	for (uint32_t k = of; k--;)
		if (place_is_in(&p->cpus[k], &p->cpus[of], level))
			return true;
	return false;
}

/* A CPU of that part with room for so many which has the least room, so that large ones
 * stay for large tasks.  UINT32_MAX: none has. */
static uint32_t place_best(const struct places *p, uint32_t count,
			   enum place_level level, bool idle)
{
	uint32_t best = UINT32_MAX, least = UINT32_MAX;

	for (uint32_t k = 0; k < p->count; k++) {
		uint32_t room = place_had(p, k, level) ?
					0 :
					place_room(p, k, level, idle);

		if (room >= count && room < least) {
			best = k;
			least = room;
		}
	}
	return best;
}

/* Likewise, of the smallest part that has room, and there rather in idle cores. */
static uint32_t place_part_for(struct places *p, uint32_t count,
			       enum place_level *level)
{
	place_loads(p);
	for (*level = LEVEL_LDOM;; ++*level) {
		uint32_t best = place_best(p, count, *level, true);

		if (best == UINT32_MAX)
			best = place_best(p, count, *level, false);
		if (best != UINT32_MAX || *level == LEVEL_NODE)
			return best;
	}
}

/* The first CPU that is free in the core with the least load. */
static uint32_t place_next(const struct places *p, uint32_t part,
			   enum place_level level)
{
	uint32_t best = UINT32_MAX, least = UINT32_MAX;

	for (uint32_t k = 0; k < p->count; k++)
		if (!p->taken[k] && p->load[k] < least &&
		    place_is_in(&p->cpus[k], &p->cpus[part], level)) {
			best = k;
			least = p->load[k];
		}
	return best;
}

bool places_take_cpus(struct places *p, uint32_t count, struct storm_idset *out)
{
	enum place_level level;
	uint32_t part = place_part_for(p, count, &level);
	bool good = count && part != UINT32_MAX;

	while (good && count) {
		uint32_t first = place_next(p, part, level);

		/* what the core has besides comes with it, so that loads still hold for
		 * all that is free */
		for (uint32_t k = first; good && count && k < p->count; k++) {
			if (p->taken[k] ||
			    p->cpus[k].core != p->cpus[first].core)
				continue;
			good = !storm_idset_add(out, p->cpus[k].cpu,
						p->cpus[k].cpu);
			p->taken[k] = good;
			count -= good;
		}
	}
	if (!good) {
		places_give_cpus(p, out);
		storm_idset_clear(out);
	}
	return good;
}

void places_give_cpus(struct places *p, const struct storm_idset *cpus)
{
	for (uint32_t k = 0; k < p->count; k++)
		if (storm_idset_has(cpus, p->cpus[k].cpu))
			p->taken[k] = false;
}

static bool place_widens(const struct places *p, uint32_t k,
			 const struct place_cpu *own, enum run_bind unit)
{
	const struct place_cpu *c = &p->cpus[k];

	return unit == RUN_BIND_SOCKETS ? c->socket == own->socket :
	       unit == RUN_BIND_LDOMS	? c->ldom == own->ldom :
	       unit == RUN_BIND_CORES	? c->core == own->core && !p->taken[k] :
					  false;
}

bool places_widen(const struct places *p, const struct storm_idset *own,
		  enum run_bind unit, struct storm_idset *out)
{
	if (storm_idset_union(out, own))
		return false;
	for (uint32_t o = 0; o < p->count; o++) {
		if (!storm_idset_has(own, p->cpus[o].cpu))
			continue;
		for (uint32_t k = 0; k < p->count; k++)
			if (place_widens(p, k, &p->cpus[o], unit) &&
			    storm_idset_add(out, p->cpus[k].cpu,
					    p->cpus[k].cpu))
				return false;
	}
	return true;
}

/* -------------------------------------------------------------------- GPUs --- */

bool places_take_gpus(struct places *p, uint32_t count, struct storm_idset *out)
{
	for (uint32_t k = 0; k < p->gpus && count; k++) {
		if (p->gpu_taken[k])
			continue;
		if (storm_idset_add(out, k, k))
			break;
		p->gpu_taken[k] = true;
		count--;
	}
	if (!count)
		return true;
	places_give_gpus(p, out);
	storm_idset_clear(out);
	return false;
}

void places_give_gpus(struct places *p, const struct storm_idset *gpus)
{
	for (uint32_t k = 0; k < p->gpus; k++)
		if (storm_idset_has(gpus, k))
			p->gpu_taken[k] = false;
}

bool places_part(const struct storm_idset *all, uint32_t nth, uint32_t count,
		 struct storm_idset *out)
{
	for (uint32_t k = 0; k < all->count && count; k++)
		for (uint32_t i = all->r[k].first; i <= all->r[k].last && count;
		     i++) {
			if (nth) {
				nth--;
				continue;
			}
			if (storm_idset_add(out, i, i))
				return false;
			count--;
		}
	return !count;
}

/* ------------------------------------------------------------------- names --- */

uint32_t places_names(const char *names)
{
	uint32_t n = 1;

	if (!names || !*names || !strcmp(names, "NoDevFiles"))
		return 0;
	for (; *names; names++)
		n += *names == ',';
	return n;
}

size_t places_pick(const char *names, const struct storm_idset *which,
		   char *out, size_t size)
{
	size_t len = 0;

	for (uint32_t nth = 0;; nth++) {
		size_t n = strcspn(names, ",");

		if (storm_idset_has(which, nth)) {
			if (len && len + 1 < size)
				out[len] = ',';
			len += len > 0;
			if (len + n < size)
				memcpy(out + len, names, n);
			len += n;
		}
		if (!names[n])
			break;
		names += n + 1;
	}
	if (size)
		out[len < size ? len : size - 1] = '\0';
	return len;
}
