/*
 * test_launcher.c - the other launchers against what the paper prints: Tables 4
 * and 5 to the digit, and the crossover points of its section 5.1.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <math.h>

#include "contribs/bench/launcher.h"
#include "src/storm_sim/model/model.h"
#include "unit.h"

#define LAUNCHERS 5

/* Table 5, in hundredths of a second: as printed, and what the line printed
 * beside it gives.  The lines' numbers are in thousandths. */
static const struct row {
	const char *name;
	long printed, by_line, slope, base;
} table5[LAUNCHERS] = {
	{ "rsh", 382710, 382693, 934, 1266 },
	{ "RMS", 31767, 31648, 77, 1092 },
	{ "GLUnix", 4938, 4938, 12, 228 },
	{ "Cplant", 2273, 2273, 1379, 6177 },
	{ "BProc", 488, 487, 413, -84 },
};

/* Half a unit goes up: 22.725 has no exact double. */
static long rounded(double v, double unit)
{
	return lround(floor(v / unit + 0.5 + 1e-6));
}

static const struct storm_launcher *launcher(int i)
{
	const struct storm_launcher *l = &storm_launchers[i];

	ck_assert_str_eq(l->name, table5[i].name);
	return l;
}

START_TEST(test_table5)
{
	const struct storm_launcher *l = launcher(_i);
	const struct row *r = &table5[_i];
	double nodes = STORM_LAUNCHER_NODES;

	ck_assert_int_eq(rounded(l->slope, 1e-3), r->slope);
	ck_assert_int_eq(rounded(l->base, 1e-3), r->base);
	ck_assert_int_eq(rounded(l->printed, 1e-2), r->printed);
	ck_assert_int_eq(rounded(storm_launcher_time(l, l->slope, nodes), 1e-2),
			 r->by_line);
	/* more digits of the slope, which round to those printed */
	ck_assert_int_eq(rounded(l->fine_slope, 1e-3), r->slope);
	ck_assert_int_eq(rounded(storm_launcher_time(l, l->fine_slope, nodes),
				 1e-2),
			 r->printed);
}
END_TEST

/* Table 5 needs no other digits than those that rounding took away. */
START_TEST(test_rounding_explains)
{
	const struct storm_launcher *l = launcher(_i);
	double x = l->logarithmic ? 12 : 4096, slack = 5e-4 * x + 5e-4 + 5e-3;

	must(fabs(l->slope * x + l->base - l->printed) <= slack);
}
END_TEST

/* Table 5's last row, in hundredths: 0.11 s at 4,096 nodes; Table 4's at 64. */
START_TEST(test_storm)
{
	static const double nodes[] = { 64, 4096 };
	double ns = storm_model_launch(storm_model_net("qsnet"), nodes[_i],
				       STORM_MODEL_ES40_BUS,
				       12 * STORM_MODEL_MB, STORM_MODEL_T_EXEC,
				       STORM_MODEL_T_TIMESLICE);

	ck_assert_int_eq(rounded(ns / 1e9, 1e-2), 11);
}
END_TEST

/* Table 4's times lie on the lines, within what the paper's own cluster sizes
 * scatter. */
START_TEST(test_table4)
{
	const struct storm_launcher *l = launcher(_i);
	double t = storm_launcher_time(l, l->slope, l->nodes);

	must(fabs(t / l->measured - 1) < 0.06);
}
END_TEST

/* "approximately 1 billion" and "17 billion" nodes: powers of two. */
START_TEST(test_crossovers)
{
	must(storm_launcher_crossover(launcher(4)) == ldexp(1, 30));
	must(storm_launcher_crossover(launcher(3)) == ldexp(1, 34));
	for (int i = 0; i < 3; i++) /* linear: never */
		must(storm_launcher_crossover(launcher(i)) == 0);
}
END_TEST

START_TEST(test_all)
{
	must(!storm_launchers[LAUNCHERS].name);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("launcher");
	TCase *t = tcase_create("launcher");

	tcase_add_loop_test(t, test_table5, 0, LAUNCHERS);
	tcase_add_loop_test(t, test_rounding_explains, 0, LAUNCHERS);
	tcase_add_loop_test(t, test_storm, 0, 2);
	tcase_add_loop_test(t, test_table4, 0, LAUNCHERS);
	tcase_add_test(t, test_crossovers);
	tcase_add_test(t, test_all);
	suite_add_tcase(s, t);
	return unit_main(s);
}
