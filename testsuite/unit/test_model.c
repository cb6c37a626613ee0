/*
 * test_model.c - the scalability model against what the paper prints: Table 3
 * to the digit, its text's figures, and what must hold of any network.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <math.h>

#include "src/libstorm/storm.h"
#include "src/storm_sim/model/model.h"
#include "unit.h"

#define COLUMNS 9 /* 10, 20 ... 90 m */

/* Table 3, MB/s. */
static const struct row {
	uint32_t nodes, processors;
	int stages, switches, bandwidth[COLUMNS];
} table3[] = {
	{ 4, 16, 1, 1, { 320, 320, 320, 315, 291, 271, 253, 238, 224 } },
	{ 16, 64, 2, 3, { 320, 319, 295, 274, 256, 240, 226, 213, 202 } },
	{ 64, 256, 3, 5, { 298, 277, 258, 242, 228, 215, 204, 194, 184 } },
	{ 256, 1024, 4, 7, { 261, 244, 230, 217, 206, 195, 186, 177, 170 } },
	{ 1024, 4096, 5, 9, { 232, 219, 207, 197, 187, 178, 171, 163, 157 } },
	{ 4096, 16384, 6, 11, { 209, 198, 188, 180, 172, 164, 158, 152, 146 } },
};
#define ROWS (int) (sizeof(table3) / sizeof(table3[0]))

static const uint32_t counts[] = { 1,
				   2,
				   3,
				   4,
				   5,
				   15,
				   16,
				   17,
				   64,
				   100,
				   256,
				   1000,
				   1024,
				   4096,
				   10000,
				   16384,
				   STORM_NODES_MAX };
#define COUNTS (int) (sizeof(counts) / sizeof(counts[0]))

static const struct storm_model_net *known(const char *name)
{
	const struct storm_model_net *net = storm_model_net(name);

	must(net);
	return net;
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fabs(b);
}

static double broadcast_mb(const struct storm_model_net *net, uint32_t nodes)
{
	return storm_model_broadcast(net, nodes) / STORM_MODEL_MB;
}

static double launch_ms(uint32_t nodes, double bus)
{
	return storm_model_launch(known("qsnet"), nodes, bus,
				  12 * STORM_MODEL_MB, STORM_MODEL_T_EXEC,
				  STORM_MODEL_T_TIMESLICE) /
	       1e6;
}

START_TEST(test_table3)
{
	const struct row *r = &table3[_i / COLUMNS];
	int column = _i % COLUMNS;
	double cable = 10 * (column + 1), bw;

	bw = storm_model_bandwidth(known("qsnet"), cable, r->switches);
	ck_assert_int_eq(lround(bw / STORM_MODEL_MB), r->bandwidth[column]);
}
END_TEST

/* The table's column of switches is (5).  A node has 4 processors, a switch of
 * the tree 4 links down. */
START_TEST(test_table3_switches)
{
	const struct storm_model_net *net = known("qsnet");

	for (int i = 0; i < ROWS; i++) {
		const struct row *r = &table3[i];

		must(near(storm_model_switches(net, r->nodes), r->switches));
		must(r->processors == 4 * r->nodes);
		must(near(pow(net->arity, r->stages), r->nodes));
		must(r->switches == 2 * r->stages - 1);
	}
	/* a tree that is not full, and one switch that is not */
	must(storm_model_switches(net, 17) > 3);
	must(storm_model_switches(net, 63) < 5);
	must(storm_model_switches(net, 1) == 1);
	must(near(storm_model_switches(known("ndr"), 32 * 32), 3));
}
END_TEST

START_TEST(test_diameter)
{
	must(storm_model_diameter(2) == 2);
	must(storm_model_diameter(8) == 4);
	must(near(storm_model_diameter(16384), 128 * sqrt(2)));
}
END_TEST

/* Table 2 itself, and the two branches of max() in (3). */
START_TEST(test_gap)
{
	const struct storm_model_net *net = known("qsnet");

	/* by hand: 580 + 2 * 10 * 3.94 + 3 * 73 */
	must(near(storm_model_round_trip(net, 10, 3), 877.8));
	must(near(storm_model_bandwidth(net, 10, 3), 320e9 / 953));
	/* 580 + 2 * 50 * 3.94 + 73 */
	must(near(storm_model_bandwidth(net, 50, 1), 320e9 / 1047));
	/* no cable, no switch: the line's rate; both without end: none */
	must(near(storm_model_bandwidth(net, 0, 0), 320e9 / 953));
	must(storm_model_bandwidth(net, 1e15, 1) < 1);
	must(storm_model_bandwidth(net, 1, 1e15) < 1);
}
END_TEST

/* (6) is (3) at (4) and (5). */
START_TEST(test_broadcast)
{
	const struct storm_model_net *net = known("qsnet");

	must(near(storm_model_broadcast(net, 1024),
		  320e9 / (580 + 2 * sqrt(2048) * 3.94 + 9 * 73)));
	/* up to 16 nodes nothing interrupts the packets */
	must(near(storm_model_broadcast(net, 16), 320e9 / 953));
	ck_assert_int_eq(lround(broadcast_mb(net, 64)), 295);
	ck_assert_int_eq(lround(broadcast_mb(net, 4096)), 146);
	ck_assert_int_eq(lround(broadcast_mb(net, 16384)), 103);
}
END_TEST

/* The values in section 4.4.2 for Fig. 8, and in 4.2.1 for the measured
 * cluster. */
START_TEST(test_launch)
{
	double es40 = STORM_MODEL_ES40_BUS, ideal = STORM_MODEL_NO_BUS;

	/* 12 MB on 64 nodes: 92 ms on the bus; launched "within 110 ms" */
	ck_assert_int_eq(lround(12e3 / 131), 92);
	must(launch_ms(64, es40) > 105 && launch_ms(64, es40) < 110);
	/* the bus hides the network: as fast on 4,096 nodes as on 4 */
	must(launch_ms(4, es40) == launch_ms(4096, es40));
	/* 135 ms on 16,384, within a hundredth */
	must(fabs(launch_ms(16384, es40) - 135) < 1.35);
	/* both models converge beyond 4,096 nodes */
	must(launch_ms(4096, ideal) < launch_ms(4096, es40) - 5);
	must(launch_ms(16384, ideal) == launch_ms(16384, es40));
	/* the ideal machine is never slower */
	for (int i = 0; i < COUNTS; i++)
		must(launch_ms(counts[i], ideal) <= launch_ms(counts[i], es40));
}
END_TEST

/* Section 4.4.1: (1), and (2) with what it measured: buffers in main memory, and
 * in the NIC's. */
START_TEST(test_parts)
{
	must(storm_model_sum(92, 10, 8) == 110);
	must(storm_model_pipeline(3, 2, 4) == 2);
	must(storm_model_pipeline(2, 4, 1) == 1);
	must(near(storm_model_pipeline(STORM_MODEL_READ_MAIN,
				       STORM_MODEL_CAST_MAIN, HUGE_VAL),
		  175 * STORM_MODEL_MB));
	must(near(storm_model_pipeline(STORM_MODEL_READ_NIC,
				       STORM_MODEL_CAST_NIC, HUGE_VAL),
		  120 * STORM_MODEL_MB));
}
END_TEST

START_TEST(test_launch_parts)
{
	const struct storm_model_net *net = known("qsnet");
	double none = STORM_MODEL_NO_BUS;

	must(storm_model_launch(net, 64, none, 0, 3, 4) == 7);
	must(near(storm_model_launch(net, 64, 1e6, 5e6, 0, 0), 5e9));
	must(storm_model_transfer(net, 64, none) ==
	     storm_model_broadcast(net, 64));
	must(storm_model_transfer(net, 64, 1) == 1);
}
END_TEST

/* Of every network: more nodes, more cable, more switches are never faster;
 * nothing is faster than the line. */
START_TEST(test_monotone)
{
	const struct storm_model_net *n = &storm_model_nets[_i];
	double line = n->packet_size * 1e9 / n->t_packet;

	for (int i = 0; i < COUNTS; i++) {
		double bw = storm_model_broadcast(n, counts[i]);

		must(bw > 0 && bw <= line * (1 + 1e-9));
		if (!i)
			continue;
		must(bw <= storm_model_broadcast(n, counts[i - 1]));
		must(storm_model_diameter(counts[i]) >
		     storm_model_diameter(counts[i - 1]));
		must(storm_model_switches(n, counts[i]) >=
		     storm_model_switches(n, counts[i - 1]));
	}
	for (int i = 0; i < 100; i++) {
		must(storm_model_round_trip(n, i + 1, 1) >
		     storm_model_round_trip(n, i, 1));
		must(storm_model_round_trip(n, 1, i + 1) >
		     storm_model_round_trip(n, 1, i));
		must(storm_model_bandwidth(n, i + 1, 1) <=
		     storm_model_bandwidth(n, i, 1));
		must(storm_model_bandwidth(n, 1, i + 1) <=
		     storm_model_bandwidth(n, 1, i));
	}
}
END_TEST

/* By hand: what each line carries, and that the window hides every round trip
 * up to the largest domain, where waiting for each packet would not. */
START_TEST(test_window)
{
	static const struct {
		const char *name;
		double rate;
	} nets[] = {
		{ "gbe", 1396 / 1538.0 * 125e6 },
		{ "100gbe", 1396 / 1538.0 * 12.5e9 },
		{ "ndr", 4020 / 4170.0 * 50e9 },
	};
	const struct storm_model_net *net = known(nets[_i].name);
	struct storm_model_net one = *net;

	must(near(storm_model_broadcast(net, 4), nets[_i].rate));
	must(near(storm_model_broadcast(net, STORM_NODES_MAX), nets[_i].rate));
	one.window = 1;
	must(storm_model_broadcast(&one, 4) < nets[_i].rate / 3);
}
END_TEST

/* By hand: 3 rounds, each a way down and one up for each level of the tree. */
START_TEST(test_rounds)
{
	const struct storm_model_net *net = known("qsnet");
	static const struct {
		uint32_t nodes, radix;
		int levels;
	} trees[] = { { 1, 8, 1 },   { 8, 8, 1 },   { 9, 8, 2 }, { 72, 8, 2 },
		      { 73, 8, 3 },  { 584, 8, 3 }, { 6, 2, 2 }, { 7, 2, 3 },
		      { 64, 64, 1 }, { 65, 64, 2 } };

	for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++) {
		uint32_t n = trees[i].nodes;
		double trip =
			storm_model_round_trip(net, storm_model_diameter(n),
					       storm_model_switches(net, n));

		must(near(storm_model_rounds(net, n, trees[i].radix),
			  3 * (1 + trees[i].levels) * trip / 2));
	}
}
END_TEST

START_TEST(test_nets)
{
	int n = 0;

	for (; storm_model_nets[n].name; n++) {
		const struct storm_model_net *net = &storm_model_nets[n];

		must(storm_model_net(net->name) == net && net->title);
		must(net->packet_size > net->header && net->header >= 0 &&
		     net->t_packet > 0 && net->t_base > 0 &&
		     net->t_cable > 1 / 0.299792458 && net->t_switch > 0 &&
		     net->arity > 1 && net->window >= 1);
	}
	ck_assert_int_eq(n, 4);
	must(known("qsnet")->header == 0); /* the paper's model has none */
	must(!storm_model_net("qsnet2") && !storm_model_net(""));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("model");
	TCase *t = tcase_create("model");

	tcase_add_loop_test(t, test_table3, 0, ROWS * COLUMNS);
	tcase_add_test(t, test_table3_switches);
	tcase_add_test(t, test_diameter);
	tcase_add_test(t, test_gap);
	tcase_add_test(t, test_broadcast);
	tcase_add_test(t, test_launch);
	tcase_add_test(t, test_parts);
	tcase_add_test(t, test_launch_parts);
	tcase_add_loop_test(t, test_monotone, 0, 4);
	tcase_add_loop_test(t, test_window, 0, 3);
	tcase_add_test(t, test_rounds);
	tcase_add_test(t, test_nets);
	suite_add_tcase(s, t);
	return unit_main(s);
}
