/*
 * model.c - evaluate the paper's scalability model for a network: the bandwidths
 * of its Table 3 and the launch times of its Fig. 8.
 *
 *	model [NETWORK]
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>

#include "src/libstorm/sim/model.h"

#define NODES_MAX 16384
#define CABLE_MAX 90 /* meters */

static int usage(void)
{
	const struct storm_model_net *net = storm_model_nets;

	fprintf(stderr, "usage: model [NETWORK]      [qsnet]\n");
	for (; net->name; net++)
		fprintf(stderr, "  %-8s %s\n", net->name, net->title);
	return 2;
}

static void bandwidths(const struct storm_model_net *net)
{
	printf("Bandwidth, MB/s (MB = 2^20 bytes), by meters of cable:\n"
	       "%6s %8s",
	       "nodes", "switches");
	for (int cable = 10; cable <= CABLE_MAX; cable += 10)
		printf(" %6d", cable);
	printf("\n");
	for (uint32_t nodes = 4; nodes <= NODES_MAX; nodes *= 4) {
		double switches = storm_model_switches(net, nodes);

		printf("%6u %8.1f", nodes, switches);
		for (int cable = 10; cable <= CABLE_MAX; cable += 10)
			printf(" %6.0f",
			       storm_model_bandwidth(net, cable, switches) /
				       STORM_MODEL_MB);
		printf("\n");
	}
}

static double launch_ms(const struct storm_model_net *net, uint32_t nodes,
			double bus)
{
	return storm_model_launch(net, nodes, bus, 12 * STORM_MODEL_MB,
				  STORM_MODEL_T_EXEC, STORM_MODEL_T_TIMESLICE) /
	       1e6;
}

static void launches(const struct storm_model_net *net)
{
	printf("\nLaunch of 12 MB, with the paper's T_exec and T_timeslice, "
	       "with an ES40's I/O bus\nand with an ideal one:\n"
	       "%6s %8s %11s %10s %9s %9s\n",
	       "nodes", "diameter", "round trip", "broadcast", "ES40", "ideal");
	for (uint32_t nodes = 4; nodes <= NODES_MAX; nodes *= 4) {
		double cable = storm_model_diameter(nodes);
		double switches = storm_model_switches(net, nodes);

		printf("%6u %6.1f m %8.2f us %5.0f MB/s %6.1f ms %6.1f ms\n",
		       nodes, cable,
		       storm_model_round_trip(net, cable, switches) / 1e3,
		       storm_model_broadcast(net, nodes) / STORM_MODEL_MB,
		       launch_ms(net, nodes, STORM_MODEL_ES40_BUS),
		       launch_ms(net, nodes, STORM_MODEL_NO_BUS));
	}
}

int main(int argc, char **argv)
{
	const struct storm_model_net *net;

	net = storm_model_net(argc > 1 ? argv[1] : "qsnet");
	if (!net || argc > 2)
		return usage();
	printf("%s\n\n", net->title);
	bandwidths(net);
	launches(net);
	return 0;
}
