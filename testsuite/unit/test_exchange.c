/*
 * test_exchange.c - one row less, by exchanges: exchange.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/plugins/sched/storm/matrix/exchange.h"
#include "unit.h"

#define STEPS 50000

static bool beside(const uint64_t *b, uint32_t n, uint32_t i, uint32_t k)
{
	return b[i * exchange_words(n) + k / 64] >> k % 64 & 1;
}

static void part(uint64_t *b, uint32_t n, uint32_t i, uint32_t k)
{
	b[i * exchange_words(n) + k / 64] |= 1ULL << k % 64;
	b[k * exchange_words(n) + i / 64] |= 1ULL << i % 64;
}

static uint64_t *graph(uint32_t n)
{
	uint64_t *b = calloc(n * exchange_words(n) + 1, sizeof(*b));

	must(b);
	return b;
}

static void valid(const uint64_t *b, uint32_t n, const uint32_t *row,
		  uint32_t rows)
{
	for (uint32_t i = 0; i < n; i++) {
		must(row[i] < rows);
		for (uint32_t k = 0; k < i; k++)
			must(row[i] != row[k] || !beside(b, n, i, k));
	}
}

/* Until there is none to spare; how many are left. */
static uint32_t spare_all(const uint64_t *b, uint32_t n, uint32_t *row,
			  uint32_t rows)
{
	uint32_t was[200];

	valid(b, n, row, rows);
	while (rows > 1) {
		memcpy(was, row, n * sizeof(*row));
		if (!exchange_spare(n, b, row, rows, STEPS))
			break;
		valid(b, n, row, --rows);
	}
	/* in vain: as it was */
	must(rows == 1 || !memcmp(was, row, n * sizeof(*row)));
	return rows;
}

/* Two sides: each job conflicts with all of the other side but its partner,
 * with which it shares a row. Two rows suffice, and only chains lead there. */
START_TEST(test_crown)
{
	for (uint32_t half = 2; half <= 40; half += 19) {
		uint64_t *b = graph(2 * half);
		uint32_t row[80];

		for (uint32_t i = 0; i < half; i++) {
			row[i] = row[half + i] = i;
			for (uint32_t k = 0; k < half; k++)
				if (i != k)
					part(b, 2 * half, i, half + k);
		}
		ck_assert_uint_eq(spare_all(b, 2 * half, row, half), 2);
		free(b);
	}
}
END_TEST

/* So many that are all in each other's way need so many rows. */
START_TEST(test_clique)
{
	uint64_t *b = graph(70);
	uint32_t row[70];

	for (uint32_t i = 0; i < 70; i++) {
		row[i] = i;
		for (uint32_t k = 0; k < i; k++)
			if (i < 7)
				part(b, 70, i, k);
	}
	ck_assert_uint_eq(spare_all(b, 70, row, 70), 7);
	free(b);
}
END_TEST

/* Graphs for which so many rows are known to do; from first fit on. */
START_TEST(test_random)
{
	struct rnd r = rnd_of(_i);
	uint32_t n = 1 + below(&r, 150), k = 1 + below(&r, 6), rows = 0;
	uint32_t dense = 1 + below(&r, 100), row[200];
	uint64_t *b = graph(n);

	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t j = 0; j < i; j++)
			if (i % k != j % k && below(&r, 100) < dense)
				part(b, n, i, j);
		row[i] = i;
		if (i + 1 > rows)
			rows = i + 1;
	}
	must(spare_all(b, n, row, rows) <= rows);
	free(b);
}
END_TEST

/* Where two rows suffice they are found, for certain. */
START_TEST(test_two_sides)
{
	struct rnd r = rnd_of(_i);
	uint32_t n = 2 + below(&r, 190), dense = 1 + below(&r, 30);
	uint32_t *order = shuffled(&r, n), row[200], rows = 0;
	uint64_t *b = graph(n);

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < i; j++)
			if (i % 2 != j % 2 && below(&r, 100) < dense)
				part(b, n, order[i], order[j]);
	for (uint32_t i = 0; i < n; i++) { /* first fit */
		row[i] = 0;
		for (uint32_t j = 0; j < i; j++)
			if (row[j] == row[i] && beside(b, n, i, j)) {
				row[i]++;
				j = UINT32_MAX;
			}
		if (row[i] + 1 > rows)
			rows = row[i] + 1;
	}
	must(spare_all(b, n, row, rows) <= 2);
	free(order);
	free(b);
}
END_TEST

START_TEST(test_little)
{
	uint64_t none[1] = { 0 };
	uint32_t row[1] = { 0 };

	must(!exchange_spare(0, none, row, 1, STEPS));
	must(!exchange_spare(1, none, row, 1, STEPS));
	must(exchange_spare(1, none, row, 2, STEPS) && !row[0]);
	must(!exchange_spare(1, none, row, 2, 0));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("exchange");
	TCase *t = tcase_create("exchange");

	tcase_add_test(t, test_crown);
	tcase_add_test(t, test_clique);
	tcase_add_loop_test(t, test_random, 0, unit_runs(30));
	tcase_add_loop_test(t, test_two_sides, 0, unit_runs(30));
	tcase_add_test(t, test_little);
	suite_add_tcase(s, t);
	return unit_main(s);
}
