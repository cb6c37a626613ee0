/*
 * test_gang_bill.c - what a job pays for its switches, and that its neighbours
 * have back what they cost.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/clock.h"
#include "src/storm_agent/turns/gang_bill.h"
#include "unit.h"

#define QUANTUM (10 * STORM_MS)
#define CYCLES 6400

START_TEST(test_ordinary_jobs_pay_nothing)
{
	must(!gang_bill_share(0, 0, QUANTUM));
	must(!gang_bill_share(QUANTUM / 8, 0, QUANTUM));
	/* as much as all others, however much that is */
	must(!gang_bill_share(QUANTUM, QUANTUM, QUANTUM));
	must(!gang_bill_share(9 * QUANTUM, 9 * QUANTUM, QUANTUM));
	for (uint64_t i = 0; i < CYCLES; i++)
		must(!gang_bill_skips(0, i));
}
END_TEST

START_TEST(test_more_costs_more_and_never_all)
{
	unsigned int last = 0, share;

	for (uint64_t cost = 0; cost < 1000 * QUANTUM; cost += STORM_MS) {
		share = gang_bill_share(cost, 0, QUANTUM);
		must(share >= last && share < GANG_BILL_PARTS);
		last = share;
	}
	must(last == GANG_BILL_PARTS - 1);
	must(gang_bill_share(UINT64_MAX, 0, QUANTUM) == last);
}
END_TEST

/* Two jobs by turns, of which one costs; strobes are numbered in steps, as in
 * zones beside others. */
START_TEST(test_neighbours_keep_theirs)
{
	static const uint64_t costs[] = { 1, 3, 5, 10, 20, 40, 100, 300 };
	static const uint64_t steps[] = { 1, 2, 3, 8, 64, 128, 1 << 16 };

	for (unsigned int c = 0; c < 8; c++) {
		uint64_t cost = costs[c] * STORM_MS, had = 0;
		unsigned int share = gang_bill_share(cost, 0, QUANTUM);
		uint64_t turns = 0;

		for (uint64_t i = 0; i < CYCLES; i++) {
			bool skips = gang_bill_skips(
				share, 7ull << 32 | i * steps[_i]);

			turns += !skips;
			had += QUANTUM * (skips ? 2 : 1);
		}
		must(turns);
		/* an eighth is free; chance, and whole parts */
		must(had > turns * cost);
		must(had - turns * cost > CYCLES * QUANTUM * 8 / 10);
		must(had - turns * cost < CYCLES * QUANTUM * 5 / 4);
	}
}
END_TEST

/* A node where it costs more skips what others skip, and more. */
START_TEST(test_nodes_skip_the_same)
{
	for (uint64_t i = 0; i < CYCLES; i++)
		for (unsigned int share = 1; share < GANG_BILL_PARTS; share++)
			must(!gang_bill_skips(share - 1, i) ||
			     gang_bill_skips(share, i));
}
END_TEST

START_TEST(test_mean)
{
	uint64_t mean = gang_bill_mean(0, 400);

	must(mean == 400);
	for (int i = 0; i < 20; i++)
		mean = gang_bill_mean(mean, 8000);
	must(mean > 7900 && mean <= 8000);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gang_bill");
	TCase *t = tcase_create("gang_bill");

	tcase_add_test(t, test_ordinary_jobs_pay_nothing);
	tcase_add_test(t, test_more_costs_more_and_never_all);
	tcase_add_loop_test(t, test_neighbours_keep_theirs, 0, 7);
	tcase_add_test(t, test_nodes_skip_the_same);
	tcase_add_test(t, test_mean);
	suite_add_tcase(s, t);
	return unit_main(s);
}
