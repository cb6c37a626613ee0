/*
 * exchange.c - one row less, by Kempe chains: see exchange.h.
 *
 * It empties the row with the fewest jobs.  Each of its jobs goes where it
 * fits, or where an exchange between two other rows makes it fit.  If that is
 * not enough, chains are exchanged at random, and the next row is tried.
 *
 * It pays: without it 5,850 of 124,357 changes of testsuite/sim/test_gang_mix (500
 * and 1,000 jobs, seeds 1 to 12; 5,000, seeds 1 to 6) leave more rows than select
 * has, and with it none.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "exchange.h"

#define NONE UINT32_MAX

struct graph {
	uint32_t n, rows, words;
	const uint64_t *beside;
	uint32_t *row;
	uint64_t *in; /* per row, a bit for each of its jobs */
	uint64_t *marked;
	uint32_t *chain;
	uint64_t steps; /* that may still be made */
	uint64_t chance;
};

static const uint64_t *exchange_beside(const struct graph *g, uint32_t k)
{
	return g->beside + (size_t) k * g->words;
}

static void exchange_step(struct graph *g)
{
	g->steps -= g->steps > 0;
}

static uint64_t *exchange_row(const struct graph *g, uint32_t row)
{
	return g->in + (size_t) row * g->words;
}

static bool exchange_has(const uint64_t *set, uint32_t k)
{
	return set[k / 64] >> k % 64 & 1;
}

static void exchange_flip(uint64_t *set, uint32_t k)
{
	set[k / 64] ^= 1ULL << k % 64;
}

static void exchange_put(struct graph *g, uint32_t k, uint32_t row)
{
	if (g->row[k] != NONE)
		exchange_flip(exchange_row(g, g->row[k]), k);
	g->row[k] = row;
	exchange_flip(exchange_row(g, row), k);
}

static bool exchange_fits(const struct graph *g, uint32_t k, uint32_t row)
{
	const uint64_t *a = exchange_beside(g, k), *b = exchange_row(g, row);

	for (uint32_t w = 0; w < g->words; w++)
		if (a[w] & b[w])
			return false;
	return true;
}

/* The jobs of a row that conflict with a job have to leave the row. */
static uint32_t exchange_mark(struct graph *g, uint32_t k, uint32_t row,
			      uint32_t count)
{
	const uint64_t *a = exchange_beside(g, k), *b = exchange_row(g, row);

	for (uint32_t w = 0; w < g->words; w++) {
		uint64_t new = a[w] & b[w] & ~g->marked[w];

		g->marked[w] |= new;
		for (; new; new &= new - 1)
			g->chain[count++] =
				w * 64 + (uint32_t) __builtin_ctzll(new);
	}
	exchange_step(g);
	return count;
}

static uint32_t exchange_other(const struct graph *g, uint32_t k, uint32_t a,
			       uint32_t b)
{
	return g->row[k] == a ? b : a;
}

static void exchange_swap_chain(struct graph *g, uint32_t count, uint32_t a,
				uint32_t b)
{
	for (uint32_t i = 0; i < count; i++)
		exchange_put(g, g->chain[i],
			     exchange_other(g, g->chain[i], a, b));
}

/*
 * Make room for a job in row a by an exchange with row b.  The jobs that
 * conflict with it go to b, those that conflict with these go to a, and so on.
 * False: one of these would also conflict with the job.
 */
static bool exchange_make_room(struct graph *g, uint32_t k, uint32_t a,
			       uint32_t b)
{
	uint32_t count;

	memset(g->marked, 0, g->words * sizeof(*g->marked));
	count = exchange_mark(g, k, a, 0);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t j = g->chain[i];

		if (g->row[j] == b && exchange_has(exchange_beside(g, k), j))
			return false;
		count = exchange_mark(g, j, exchange_other(g, j, a, b), count);
	}
	exchange_swap_chain(g, count, a, b);
	return true;
}

/* Move a job out of its row, if possible. */
static void exchange_leave(struct graph *g, uint32_t k)
{
	uint32_t from = g->row[k];

	exchange_step(g);
	for (uint32_t a = 0; a < g->rows; a++)
		if (a != from && exchange_fits(g, k, a)) {
			exchange_put(g, k, a);
			return;
		}
	for (uint32_t a = 0; a < g->rows; a++)
		for (uint32_t b = 0; b < g->rows && g->steps; b++)
			if (a != b && a != from && b != from &&
			    exchange_make_room(g, k, a, b)) {
				exchange_put(g, k, a);
				return;
			}
}

static uint32_t exchange_draw(struct graph *g, uint32_t below)
{
	g->chance = g->chance * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t) ((g->chance >> 33) % below);
}

/* Move a job and its chain to another row, but no job to the victim. */
static void exchange_shake(struct graph *g, uint32_t victim)
{
	uint32_t k = exchange_draw(g, g->n), a = g->row[k];
	uint32_t b = exchange_draw(g, g->rows), count;

	exchange_step(g);
	if (a == b || a == victim || b == victim)
		return;
	memset(g->marked, 0, g->words * sizeof(*g->marked));
	exchange_flip(g->marked, k);
	g->chain[0] = k;
	count = 1;
	for (uint32_t i = 0; i < count; i++)
		count = exchange_mark(g, g->chain[i],
				      exchange_other(g, g->chain[i], a, b),
				      count);
	exchange_swap_chain(g, count, a, b);
}

static uint32_t exchange_jobs_in(const struct graph *g, uint32_t row)
{
	uint32_t count = 0;

	for (uint32_t w = 0; w < g->words; w++)
		count += (uint32_t) __builtin_popcountll(
			exchange_row(g, row)[w]);
	return count;
}

/* The last of the rows with the fewest jobs. */
static uint32_t exchange_smallest(const struct graph *g)
{
	uint32_t best = 0;

	for (uint32_t r = 1; r < g->rows; r++)
		if (exchange_jobs_in(g, r) <= exchange_jobs_in(g, best))
			best = r;
	return best;
}

static bool exchange_vacate(struct graph *g, uint32_t victim)
{
	for (uint32_t k = 0; k < g->n; k++)
		if (g->row[k] == victim)
			exchange_leave(g, k);
	return !exchange_jobs_in(g, victim);
}

/* The row that has become empty, or NONE. */
static uint32_t exchange_search(struct graph *g)
{
	while (g->steps) {
		uint32_t victim = exchange_smallest(g);

		for (int round = 0; round < 8 && g->steps; round++) {
			if (exchange_vacate(g, victim))
				return victim;
			for (uint32_t i = 0; i < g->n / 4 + 1; i++)
				exchange_shake(g, victim);
		}
		/* any row, in the end */
		victim = exchange_draw(g, g->rows);
		if (exchange_vacate(g, victim))
			return victim;
	}
	return NONE;
}

bool exchange_spare(uint32_t n, const uint64_t *beside, uint32_t *row,
		    uint32_t rows, uint64_t steps)
{
	uint32_t words = exchange_words(n), empty = NONE;
	struct graph g = {
		.n = n,
		.rows = rows,
		.words = words,
		.beside = beside,
		.row = malloc((n + 1) * sizeof(*g.row)),
		.in = calloc((size_t) rows * words + 1, sizeof(*g.in)),
		.marked = calloc(words + 1, sizeof(*g.marked)),
		.chain = calloc(n + 1, sizeof(*g.chain)),
		.steps = steps,
		.chance = n,
	};

	if (g.row && g.in && g.marked && g.chain && rows > 1) {
		for (uint32_t k = 0; k < n; k++) {
			g.row[k] = NONE;
			exchange_put(&g, k, row[k]);
		}
		empty = exchange_search(&g);
	}
	for (uint32_t k = 0; k < n && empty != NONE; k++)
		row[k] = g.row[k] - (g.row[k] > empty);
	free(g.row);
	free(g.in);
	free(g.marked);
	free(g.chain);
	return empty != NONE;
}
