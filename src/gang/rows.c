/*
 * rows.c - rows of columns as bit sets: see rows.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "rows.h"

static uint64_t row_mask(uint32_t first, uint32_t last, uint32_t word)
{
	uint64_t bits = ~0ULL;

	if (first / 64 == word)
		bits &= ~0ULL << first % 64;
	if (last / 64 == word)
		bits &= ~0ULL >> (63 - last % 64);
	return bits;
}

bool row_range_free(const uint64_t *row, uint32_t first, uint32_t last)
{
	for (uint32_t w = first / 64; w <= last / 64; w++)
		if (row[w] & row_mask(first, last, w))
			return false;
	return true;
}

bool row_fits(const uint64_t *row, const struct storm_idset *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (!row_range_free(row, s->r[i].first, s->r[i].last))
			return false;
	return true;
}

void row_flip(uint64_t *row, const struct storm_idset *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t first = s->r[i].first, last = s->r[i].last;

		for (uint32_t w = first / 64; w <= last / 64; w++)
			row[w] ^= row_mask(first, last, w);
	}
}

int rows_make(uint64_t ***rows, uint32_t *have, uint32_t n, uint32_t columns)
{
	uint64_t **p;

	if (n <= *have)
		return STORM_OK;
	p = realloc(*rows, n * sizeof(*p));
	if (!p)
		return STORM_ENOMEM;
	*rows = p;
	while (*have < n) {
		p[*have] = calloc(row_words(columns) + 1, sizeof(**p));
		if (!p[*have])
			return STORM_ENOMEM;
		++*have;
	}
	return STORM_OK;
}

void rows_free(uint64_t **rows, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		free(rows[i]);
	free(rows);
}
