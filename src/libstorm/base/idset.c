/*
 * idset.c - sets of numbers as ranges: small when whole subtrees agree.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "idset.h"

int storm_idset_add(struct storm_idset *s, uint32_t first, uint32_t last)
{
	uint32_t lo = 0, hi = s->count;

	if (last < first)
		return STORM_EINVAL;
	/* [lo, hi) are the ranges that touch or overlap the new one.  A set may
	 * have as many ranges as a job has tasks: find lo by bisection. */
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if ((uint64_t) s->r[mid].last + 1 < first)
			lo = mid + 1;
		else
			hi = mid;
	}
	while (hi < s->count && s->r[hi].first <= (uint64_t) last + 1)
		hi++;
	if (hi > lo) {
		if (s->r[lo].first < first)
			first = s->r[lo].first;
		if (s->r[hi - 1].last > last)
			last = s->r[hi - 1].last;
		memmove(s->r + lo + 1, s->r + hi,
			(s->count - hi) * sizeof(*s->r));
		s->count -= hi - lo - 1;
	} else {
		if (s->count == s->room) {
			uint32_t room = s->room ? s->room * 2 : 4;
			void *p = realloc(s->r, room * sizeof(*s->r));

			if (!p)
				return STORM_ENOMEM;
			s->r = p;
			s->room = room;
		}
		memmove(s->r + lo + 1, s->r + lo,
			(s->count - lo) * sizeof(*s->r));
		s->count++;
	}
	s->r[lo].first = first;
	s->r[lo].last = last;
	return STORM_OK;
}

int storm_idset_union(struct storm_idset *s, const struct storm_idset *other)
{
	size_t room = (size_t) s->count + other->count;
	uint32_t i = 0, j = 0, n = 0;
	struct storm_range *r;

	if (other->count <= 1)
		return other->count ? storm_idset_add(s, other->r[0].first,
						      other->r[0].last) :
				      STORM_OK;
	r = malloc(room * sizeof(*r));
	if (!r)
		return STORM_ENOMEM;
	while (i < s->count || j < other->count) {
		bool mine = j == other->count ||
			    (i < s->count && s->r[i].first < other->r[j].first);
		struct storm_range next = mine ? s->r[i++] : other->r[j++];

		if (n && next.first <= (uint64_t) r[n - 1].last + 1) {
			if (next.last > r[n - 1].last)
				r[n - 1].last = next.last;
		} else {
			r[n++] = next;
		}
	}
	free(s->r);
	s->r = r;
	s->count = n;
	s->room = (uint32_t) room;
	return STORM_OK;
}

int storm_idset_minus(const struct storm_idset *a, const struct storm_idset *b,
		      struct storm_idset *out)
{
	uint32_t j = 0;

	for (uint32_t i = 0; i < a->count; i++) {
		uint64_t at = a->r[i].first;

		while (j < b->count && b->r[j].last < at)
			j++;
		for (uint32_t k = j;
		     k < b->count && b->r[k].first <= a->r[i].last; k++) {
			if (b->r[k].first > at) {
				int err = storm_idset_add(out, (uint32_t) at,
							  b->r[k].first - 1);
				if (err)
					return err;
			}
			at = (uint64_t) b->r[k].last + 1;
		}
		if (at <= a->r[i].last) {
			int err = storm_idset_add(out, (uint32_t) at,
						  a->r[i].last);
			if (err)
				return err;
		}
	}
	return STORM_OK;
}

int storm_idset_drop(struct storm_idset *s, const struct storm_idset *other)
{
	struct storm_idset rest = { 0 };
	int err = storm_idset_minus(s, other, &rest);

	if (err) {
		storm_idset_clear(&rest);
		return err;
	}
	storm_idset_clear(s);
	*s = rest;
	return STORM_OK;
}

int storm_idset_keep(struct storm_idset *s, const struct storm_idset *other)
{
	struct storm_idset drop = { 0 };
	int err = storm_idset_minus(s, other, &drop);

	if (!err)
		err = storm_idset_drop(s, &drop);
	storm_idset_clear(&drop);
	return err;
}

bool storm_idset_has(const struct storm_idset *s, uint32_t id)
{
	uint32_t lo = 0, hi = s->count;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (id < s->r[mid].first)
			hi = mid;
		else if (id > s->r[mid].last)
			lo = mid + 1;
		else
			return true;
	}
	return false;
}

bool storm_idset_covers(const struct storm_idset *s,
			const struct storm_idset *other)
{
	for (uint32_t i = 0; i < other->count; i++) {
		uint32_t lo = 0, hi = s->count;
		bool in = false;

		while (lo < hi) {
			uint32_t mid = (lo + hi) / 2;

			if (other->r[i].first < s->r[mid].first)
				hi = mid;
			else if (other->r[i].first > s->r[mid].last)
				lo = mid + 1;
			else {
				in = other->r[i].last <= s->r[mid].last;
				break;
			}
		}
		if (!in)
			return false;
	}
	return true;
}

/* The number of ids between range i and the next. */
static uint32_t idset_gap(const struct storm_idset *s, uint32_t i)
{
	return s->r[i + 1].first - s->r[i].last;
}

static int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;

	return (x > y) - (x < y);
}

void storm_idset_join(struct storm_idset *s, uint32_t max)
{
	uint32_t gaps = s->count - 1, close, n = 0, *size;
	uint32_t below = UINT32_MAX, equal = 0; /* without memory: close all */

	if (s->count <= max)
		return;
	close = s->count - max;
	size = malloc(gaps * sizeof(*size));
	if (size) {
		for (uint32_t i = 0; i < gaps; i++)
			size[i] = idset_gap(s, i);
		qsort(size, gaps, sizeof(*size), by_size);
		below = size[close - 1];
		for (uint32_t i = 0; i < close; i++)
			equal += size[i] == below;
		free(size);
	}
	for (uint32_t i = 0; i < gaps; i++) {
		uint32_t g = s->r[i + 1].first - s->r[n].last;

		if (g < below || (g == below && equal)) {
			equal -= g == below;
			s->r[n].last = s->r[i + 1].last;
		} else {
			s->r[++n] = s->r[i + 1];
		}
	}
	s->count = n + 1;
}

uint64_t storm_idset_size(const struct storm_idset *s)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->count; i++)
		n += (uint64_t) s->r[i].last - s->r[i].first + 1;
	return n;
}

void storm_idset_clear(struct storm_idset *s)
{
	free(s->r);
	memset(s, 0, sizeof(*s));
}
