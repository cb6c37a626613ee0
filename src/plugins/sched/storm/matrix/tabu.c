/*
 * tabu.c - see tabu.h.
 *
 * All jobs are in some row, also where they are in each other's way.  With each move
 * one of those goes where it is in the fewest others' way, and does not come back for
 * a while, so that the search leaves what is best only nearby.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "exchange.h"
#include "tabu.h"

struct tabu_search {
	uint32_t n, rows;
	const uint64_t *beside;
	uint32_t *row;
	/* of each job and row */
	uint32_t *met;		/* those there that it is beside */
	uint64_t *until;	/* the move before which it does not go there */
	uint64_t *crossed;	/* a bit for each job that is beside one in its row */
	uint32_t conflicts, least;	/* pairs that are in a row and must not */
	uint64_t move, chance;
};

/* One job to one row: what that changes. */
struct step {
	uint32_t job, row;
	int64_t gain;
};

static uint32_t tabu_draw(struct tabu_search *s, uint32_t below)
{
	s->chance = s->chance * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t) ((s->chance >> 33) % below);
}

static uint32_t *tabu_met(const struct tabu_search *s, uint32_t job, uint32_t row)
{
	return &s->met[(size_t) job * s->rows + row];
}

static uint64_t *tabu_until(const struct tabu_search *s, uint32_t job, uint32_t row)
{
	return &s->until[(size_t) job * s->rows + row];
}

static void tabu_look(struct tabu_search *s, uint32_t job)
{
	uint64_t bit = 1ULL << job % 64;

	if (*tabu_met(s, job, s->row[job]))
		s->crossed[job / 64] |= bit;
	else
		s->crossed[job / 64] &= ~bit;
}

/* Count for those that it is beside: it is in their row, or no more. */
static void tabu_notify(struct tabu_search *s, uint32_t job, uint32_t row, int by)
{
	uint32_t words = exchange_words(s->n);
	const uint64_t *set = s->beside + (size_t) job * words;

	for (uint32_t w = 0; w < words; w++)
		for (uint64_t bits = set[w]; bits; bits &= bits - 1) {
			uint32_t k = w * 64 + (uint32_t) __builtin_ctzll(bits);

			*tabu_met(s, k, row) += (uint32_t) by;
			if (s->row[k] == row)
				tabu_look(s, k);
		}
}

static void tabu_begin(struct tabu_search *s)
{
	uint32_t twice = 0;

	for (uint32_t k = 0; k < s->n; k++)
		if (s->row[k] >= s->rows)
			s->row[k] = tabu_draw(s, s->rows);
	for (uint32_t k = 0; k < s->n; k++)
		tabu_notify(s, k, s->row[k], 1);
	for (uint32_t k = 0; k < s->n; k++)
		twice += *tabu_met(s, k, s->row[k]);
	s->conflicts = s->least = twice / 2;
}

/* Of equals any. */
static void tabu_consider(struct tabu_search *s, struct step *best, uint32_t *equals,
			  uint32_t job, uint32_t row)
{
	int64_t gain = (int64_t) *tabu_met(s, job, s->row[job]) -
		       *tabu_met(s, job, row);

	if (row == s->row[job])
		return;
	/* what is better than all before is always allowed */
	if (*tabu_until(s, job, row) > s->move &&
	    (int64_t) s->conflicts - gain >= s->least)
		return;
	if (*equals && gain < best->gain)
		return;
	if (!*equals || gain > best->gain)
		*equals = 0;
	if (!tabu_draw(s, ++*equals))
		*best = (struct step) { job, row, gain };
}

static void tabu_go(struct tabu_search *s, const struct step *best)
{
	uint32_t from = s->row[best->job];

	tabu_notify(s, best->job, from, -1);
	tabu_notify(s, best->job, best->row, 1);
	s->row[best->job] = best->row;
	tabu_look(s, best->job);
	s->conflicts = (uint32_t) (s->conflicts - best->gain);
	if (s->conflicts < s->least)
		s->least = s->conflicts;
	*tabu_until(s, best->job, from) = s->move + s->conflicts * 3 / 5 +
		     1 + tabu_draw(s, 10);
}

static void tabu_consider_all(struct tabu_search *s, struct step *best,
			      uint32_t *equals)
{
	for (uint32_t w = 0; w < exchange_words(s->n); w++)
		for (uint64_t bits = s->crossed[w]; bits; bits &= bits - 1) {
			uint32_t k = w * 64 + (uint32_t) __builtin_ctzll(bits);

			for (uint32_t r = 0; r < s->rows; r++)
				tabu_consider(s, best, equals, k, r);
		}
}

static bool tabu_search(struct tabu_search *s, uint64_t moves)
{
	tabu_begin(s);
	for (; s->conflicts && s->move < moves; s->move++) {
		struct step best = { 0 };
		uint32_t equals = 0;

		tabu_consider_all(s, &best, &equals);
		if (equals)
			tabu_go(s, &best);
	}
	return !s->conflicts;
}

bool tabu_pack(uint32_t n, const uint64_t *beside, uint32_t *row,
	       uint32_t rows, uint64_t moves)
{
	size_t places = (size_t) n * rows;
	struct tabu_search s = {
		.n = n, .rows = rows, .beside = beside, .chance = n,
		.row = malloc((n + 1) * sizeof(*s.row)),
		.met = calloc(places + 1, sizeof(*s.met)),
		.until = calloc(places + 1, sizeof(*s.until)),
		.crossed = calloc(exchange_words(n) + 1, sizeof(*s.crossed)),
	};
	bool good = false;

	if (rows && s.row && s.met && s.until && s.crossed) {
		memcpy(s.row, row, n * sizeof(*row));
		good = tabu_search(&s, moves);
	}
	if (good)
		memcpy(row, s.row, n * sizeof(*row));
	free(s.row);
	free(s.met);
	free(s.until);
	free(s.crossed);
	return good;
}
