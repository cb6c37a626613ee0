/*
 * policy_gang.c - strict turns, round robin (paper section 2.1): see policy.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdbool.h>

#include "policy.h"
#include "rows.h"

/* The smallest aligned block of 2^n columns around the set. */
static uint32_t policy_buddy_block(const struct storm_idset *s)
{
	uint32_t first = s->r[0].first, last = s->r[s->count - 1].last;
	uint32_t log = 0;

	while (log < 31 && first >> log != last >> log)
		log++;
	return log;
}

/* The binary logarithm of the largest free aligned block around the column,
 * from `log` on; -1: not even that one is free. */
static int policy_buddy_free(const struct policy_rows *r, const uint64_t *row,
			     uint32_t column, uint32_t log)
{
	int best = -1;

	for (; log < 32; log++) {
		uint64_t first = (uint64_t) (column >> log) << log;
		uint64_t last = first + (1ULL << log) - 1;

		if (last >= r->columns)
			last = r->columns - 1;
		if (!row_range_free(row, (uint32_t) first, (uint32_t) last))
			break;
		best = (int) log;
		if (!first && last == r->columns - 1)
			break;
	}
	return best;
}

static uint32_t policy_gang_choose_row(const struct policy_rows *r,
				       const struct storm_idset *columns)
{
	uint32_t log = policy_buddy_block(columns);
	uint32_t best = POLICY_NONE, first = POLICY_NONE;
	int least = INT32_MAX;

	for (uint32_t i = 0; i < r->rows; i++) {
		int block;

		if (!row_fits(r->row[i], columns))
			continue;
		if (r->packing == MATRIX_FIRST_FIT)
			return i;
		if (first == POLICY_NONE)
			first = i;
		block = policy_buddy_free(r, r->row[i], columns->r[0].first,
					  log);
		if (block >= 0 && block < least) {
			least = block;
			best = i;
		}
	}
	return best != POLICY_NONE ? best : first;
}

/* Those with the fewest slots for their weight first. */
static int policy_gang_fill(const struct policy_job *a,
			    const struct policy_job *b)
{
	uint64_t x = (uint64_t) a->given * b->weight;
	uint64_t y = (uint64_t) b->given * a->weight;

	return x < y ? -1 : x > y;
}

/* Round robin; after a change of the map the slot that has waited longest. */
static uint32_t policy_gang_next_slot(const struct policy_turn *t)
{
	if (t->longest != POLICY_NONE)
		return t->longest;
	return t->now == POLICY_NONE ? 0 : (t->now + 1) % t->slots;
}

const struct policy policy_gang = {
	.choose_row = policy_gang_choose_row,
	.fill = policy_gang_fill,
	.next_slot = policy_gang_next_slot,
};
