/*
 * test_tabu.c - jobs into so many rows by a tabu search: tabu.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/plugins/sched/storm/matrix/exchange.h"
#include "src/plugins/sched/storm/matrix/tabu.h"
#include "unit.h"

#define JOBS 200

static uint64_t set[JOBS * ((JOBS + 63) / 64)];

static bool beside(uint32_t n, uint32_t i, uint32_t k)
{
	return set[i * exchange_words(n) + k / 64] >> k % 64 & 1;
}

static void part(uint32_t n, uint32_t i, uint32_t k)
{
	set[i * exchange_words(n) + k / 64] |= 1ULL << k % 64;
	set[k * exchange_words(n) + i / 64] |= 1ULL << i % 64;
}

static void valid(uint32_t n, const uint32_t *row, uint32_t rows)
{
	for (uint32_t i = 0; i < n; i++) {
		must(row[i] < rows);
		for (uint32_t k = 0; k < i; k++)
			must(row[i] != row[k] || !beside(n, i, k));
	}
}

/* Graphs for which so many rows suffice, in an order that does not show how. */
START_TEST(test_planted)
{
	struct rnd r = rnd_of(_i);
	uint32_t n = 20 + below(&r, JOBS - 20), k = 2 + below(&r, 4);
	uint32_t dense = below(&r, 2) ? 60 + below(&r, 40) : 1 + below(&r, 3);
	uint32_t row[JOBS], again[JOBS], *order = shuffled(&r, n);

	memset(set, 0, sizeof(set));
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < i; j++)
			if (i % k != j % k && below(&r, 100) < dense)
				part(n, order[i], order[j]);
	for (uint32_t i = 0; i < n; i++)
		row[i] = again[i] = i;
	must(tabu_pack(n, set, row, k, 20000));
	valid(n, row, k);
	must(tabu_pack(n, set, again, k, 20000));
	must(!memcmp(row, again, n * sizeof(*row)));
	free(order);
}
END_TEST

/* What cannot be leaves all where they were. */
START_TEST(test_in_vain)
{
	uint32_t row[5] = { 4, 3, 2, 1, 0 };

	memset(set, 0, sizeof(set));
	for (uint32_t i = 0; i < 5; i++)
		for (uint32_t k = 0; k < i; k++)
			part(5, i, k);
	must(!tabu_pack(5, set, row, 4, 1000));
	for (uint32_t i = 0; i < 5; i++)
		must(row[i] == 4 - i);
	must(!tabu_pack(5, set, row, 0, 1000) && row[0] == 4);
	must(tabu_pack(5, set, row, 5, 0));
	valid(5, row, 5);
	must(tabu_pack(0, set, row, 1, 0));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tabu");
	TCase *t = tcase_create("tabu");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, test_planted, 0, unit_runs(20));
	tcase_add_test(t, test_in_vain);
	suite_add_tcase(s, t);
	return unit_main(s);
}
