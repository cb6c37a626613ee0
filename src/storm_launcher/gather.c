/*
 * gather.c - see gather.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "gather.h"
#include "grow.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

/* The first of these ranks that is from a to b - 1.  False: there is none. */
static bool gather_has(const struct storm_idset *ranks, uint32_t a, uint32_t b,
		       uint32_t *which)
{
	for (uint32_t k = 0; k < ranks->count; k++) {
		const struct storm_range *r = &ranks->r[k];

		if (r->first >= b || r->last < a)
			continue;
		*which = (uint32_t) storm_max(r->first, a);
		return true;
	}
	return false;
}

static bool gather_same(const struct storm_idset *a,
			const struct storm_idset *b)
{
	return a->count == b->count &&
	       !memcmp(a->r, b->r, a->count * sizeof(*a->r));
}

void gather_free(struct gather *one)
{
	if (!one)
		return;
	storm_idset_clear(&one->ranks);
	storm_idset_clear(&one->nodes);
	free(one->data);
	free(one);
}

static struct gather *gather_new(struct gathers *g, const uint32_t *rank,
				 uint32_t nodes,
				 const struct storm_idset *ranks)
{
	struct gather *one = calloc(1, sizeof(*one));
	uint32_t which;

	if (!one || storm_idset_union(&one->ranks, ranks)) {
		gather_free(one);
		return NULL;
	}
	for (uint32_t n = 0; n < nodes; n++)
		one->want += gather_has(ranks, rank[n], rank[n + 1], &which);
	one->next = g->first;
	g->first = one;
	g->count++;
	return one;
}

static struct gather *gather_find(const struct gathers *g,
				  const struct storm_idset *ranks)
{
	struct gather *one = g->first;

	while (one && !gather_same(&one->ranks, ranks))
		one = one->next;
	return one;
}

static void gather_take_out(struct gathers *g, const struct gather *one)
{
	struct gather **at = &g->first;

	while (*at != one)
		at = &(*at)->next;
	*at = one->next;
	g->count--;
}

enum gather_rc gather_add(struct gathers *g, const uint32_t *rank,
			  uint32_t nodes, uint32_t nth,
			  const struct storm_idset *ranks, const uint8_t *data,
			  size_t len, size_t most, struct gather **out)
{
	struct gather *one = gather_find(g, ranks);
	uint32_t which;

	if (!ranks->count || ranks->r[ranks->count - 1].last >= rank[nodes] ||
	    nth >= nodes ||
	    !gather_has(ranks, rank[nth], rank[nth + 1], &which) ||
	    (one && storm_idset_has(&one->nodes, nth)) ||
	    (!one && g->count == GATHERS_MAX))
		return GATHER_BAD;
	if ((one ? one->len : 0) + len > most)
		return GATHER_BIG;
	if (!one)
		one = gather_new(g, rank, nodes, ranks);
	if (!one || storm_idset_add(&one->nodes, nth, nth))
		return GATHER_NOMEM;
	if (len) {
		if (!grow_buffer(&one->data, &one->room, one->len + len))
			return GATHER_NOMEM;
		memcpy(one->data + one->len, data, len);
		one->len += len;
	}
	if (storm_idset_size(&one->nodes) < one->want)
		return GATHER_WAITS;
	gather_take_out(g, one);
	*out = one;
	return GATHER_WHOLE;
}

bool gather_is_vain(const struct gathers *g, const uint32_t *rank,
		    uint32_t nodes, const struct storm_idset *gone,
		    uint32_t *which)
{
	for (const struct gather *one = g->first; one; one = one->next) {
		struct storm_idset missing = { 0 };

		/* without memory the next one to come finds it */
		if (storm_idset_union(&missing, &one->ranks) ||
		    storm_idset_keep(&missing, gone))
			storm_idset_clear(&missing);
		for (uint32_t n = 0; missing.count && n < nodes; n++) {
			if (storm_idset_has(&one->nodes, n) ||
			    !gather_has(&missing, rank[n], rank[n + 1], which))
				continue;
			storm_idset_clear(&missing);
			return true;
		}
		storm_idset_clear(&missing);
	}
	return false;
}

void gathers_clear(struct gathers *g)
{
	struct gather *one, *next;

	for (one = g->first; one; one = next) {
		next = one->next;
		gather_free(one);
	}
	*g = (struct gathers) { 0 };
}
