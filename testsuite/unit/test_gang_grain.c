/*
 * test_gang_grain.c - who meets its other nodes often, by made-up accounts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/clock.h"
#include "src/storm_agent/turns/gang_grain.h"
#include "unit.h"

/* So many turns of 10 ms, in which a rank computes for `work` us and waits for
 * `wait` us by turns. */
static void turns(struct gang_grain *g, int n, double work, double wait)
{
	while (n--) {
		double waits = 10000 / (work + wait);

		gang_grain_add(g, waits, waits * work * 1e3, waits * wait * 1e3,
			       10 * STORM_MS);
	}
}

START_TEST(test_fine)
{
	struct gang_grain g = { 0 };

	turns(&g, 4, 100, 100);
	must(!g.fine); /* not known yet */
	turns(&g, 1, 100, 100);
	must(g.fine);
	turns(&g, 1000, 900, 300);
	must(g.fine);
}
END_TEST

/* One that computes and never calls MPI, one that meets rarely, and one that has no
 * peers to wait for. */
START_TEST(test_alone)
{
	struct gang_grain g = { 0 };

	for (int i = 0; i < 100; i++)
		gang_grain_add(&g, 0, 0, 0, 10 * STORM_MS);
	must(!g.fine);
	turns(&g, 100, 2000, 2000);
	must(!g.fine);
	turns(&g, 1000, 100, 1);
	must(!g.fine);
}
END_TEST

/* Around a threshold it keeps its class. */
START_TEST(test_hysteresis)
{
	struct gang_grain g = { 0 };

	turns(&g, 100, 1300, 700);
	must(!g.fine);
	turns(&g, 10, 900, 700);
	must(g.fine);
	turns(&g, 100, 1300, 700);
	must(g.fine);
	turns(&g, 10, 2500, 700);
	must(!g.fine);
	turns(&g, 10, 100, 9);
	must(!g.fine);
	turns(&g, 10, 100, 12);
	must(g.fine);
	turns(&g, 100, 100, 6);
	must(g.fine);
	turns(&g, 10, 100, 4);
	must(!g.fine);
}
END_TEST

/* While it is stopped the clock goes on, for nine tenths of the time here, and it is
 * stopped in its work and in its waits as often as it is in them. */
START_TEST(test_stopped)
{
	struct gang_grain g = { 0 };

	for (int i = 0; i < 100; i++)
		gang_grain_add(&g, 50, i % 2 ? 95 * STORM_MS : 5 * STORM_MS,
			       i % 2 ? 5 * STORM_MS : 95 * STORM_MS,
			       10 * STORM_MS);
	must(g.fine);
}
END_TEST

/* CPU time comes in lumps, and none while it waits for its turn. */
START_TEST(test_lumps)
{
	struct gang_grain g = { 0 };

	for (int i = 0; i < 100; i++)
		gang_grain_add(&g, 10, STORM_MS, STORM_MS, 0);
	must(!g.fine && g.waits == 1000);
	gang_grain_add(&g, 0, 0, 0, 200 * STORM_MS);
	must(g.fine && !g.waits);
}
END_TEST

/* It has met for the last time, and computes on. */
START_TEST(test_quiet)
{
	struct gang_grain g = { 0 };

	for (int i = 0; i < 10; i++) {
		turns(&g, 10, 100, 100);
		for (int j = 1; j < GANG_GRAIN_QUIET; j++) {
			gang_grain_add(&g, 0, 0, 0, 0);
			must(g.fine);
		}
	}
	gang_grain_add(&g, 0, 0, 0, 0);
	must(!g.fine);
	turns(&g, 10, 100, 100);
	must(g.fine);
}
END_TEST

/* An account goes back, and sums wrap around: any class, and a figure that is
 * right makes it right. */
START_TEST(test_forged)
{
	static const uint64_t odd[] = { 0, 1, UINT64_MAX, UINT64_MAX / 2,
					1ULL << 63 };
	struct gang_grain g = { 0 };

	for (int i = 0; i < 625; i++) {
		gang_grain_add(&g, odd[i % 5], odd[i / 5 % 5], odd[i / 25 % 5],
			       odd[i / 125]);
		if (i % 7)
			continue;
		gang_grain_add(&g, 0, 0, 0, UINT64_MAX - g.ran);
		turns(&g, 100, 100, 100);
		must(g.fine);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gang_grain");
	TCase *t = tcase_create("gang_grain");

	tcase_add_test(t, test_fine);
	tcase_add_test(t, test_alone);
	tcase_add_test(t, test_hysteresis);
	tcase_add_test(t, test_stopped);
	tcase_add_test(t, test_lumps);
	tcase_add_test(t, test_quiet);
	tcase_add_test(t, test_forged);
	suite_add_tcase(s, t);
	return unit_main(s);
}
