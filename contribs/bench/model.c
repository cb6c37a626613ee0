/*
 * model.c - what the paper's scalability model gives, as JSON for storm_bench:
 * its Tables 3 and 5, and by nodes the diameter, the switches, the broadcast's
 * bandwidth, the latency of the rounds and the launch time of each network.
 *
 *	model [--size BYTES] [--bus BYTES/S] [--exec S] [--timeslice S]
 *	      [--radix N]
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <getopt.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

#include "contribs/bench/launcher.h"
#include "src/storm_sim/model/model.h"

#define NODES_MAX 16384
#define TABLE3_MAX 4096
#define CABLE_MAX 90 /* meters */

struct constants {
	double size, bus, exec, timeslice, radix;
};

static json_object *of_number(double v)
{
	char text[32];

	snprintf(text, sizeof(text), "%.12g", v);
	return json_object_new_double_s(v, text);
}

static void add_number(json_object *o, const char *name, double v)
{
	json_object_object_add(o, name, of_number(v));
}

static void add_text(json_object *o, const char *name, const char *text)
{
	json_object_object_add(o, name, json_object_new_string(text));
}

static json_object *table3(void)
{
	const struct storm_model_net *net = storm_model_net("qsnet");
	json_object *rows = json_object_new_array();

	for (double nodes = 4; nodes <= TABLE3_MAX; nodes *= 4) {
		json_object *row = json_object_new_object();
		json_object *mb = json_object_new_array();
		double switches = storm_model_switches(net, nodes);

		for (int cable = 10; cable <= CABLE_MAX; cable += 10)
			json_object_array_add(
				mb, of_number(storm_model_bandwidth(net, cable,
								    switches) /
					      STORM_MODEL_MB));
		add_number(row, "nodes", nodes);
		add_number(row, "switches", switches);
		json_object_object_add(row, "mb_s", mb);
		json_object_array_add(rows, row);
	}
	return rows;
}

static json_object *launcher(const struct storm_launcher *l)
{
	json_object *o = json_object_new_object();

	add_text(o, "name", l->name);
	add_number(o, "mb", l->size);
	json_object_object_add(o, "logarithmic",
			       json_object_new_boolean(l->logarithmic));
	add_number(o, "slope", l->slope);
	add_number(o, "fine_slope", l->fine_slope);
	add_number(o, "base", l->base);
	add_number(o, "by_line",
		   storm_launcher_time(l, l->slope, STORM_LAUNCHER_NODES));
	add_number(o, "by_fine_slope",
		   storm_launcher_time(l, l->fine_slope, STORM_LAUNCHER_NODES));
	add_number(o, "printed", l->printed);
	add_number(o, "measured", l->measured);
	add_number(o, "measured_nodes", l->nodes);
	add_number(o, "crossover", storm_launcher_crossover(l));
	return o;
}

static json_object *launchers(void)
{
	json_object *all = json_object_new_array();

	for (const struct storm_launcher *l = storm_launchers; l->name; l++)
		json_object_array_add(all, launcher(l));
	return all;
}

static double launch(const struct storm_model_net *net, double nodes,
		     double bus, const struct constants *c)
{
	return storm_model_launch(net, nodes, bus, c->size, c->exec * 1e9,
				  c->timeslice * 1e9) /
	       1e9;
}

static json_object *point(const struct storm_model_net *net, double nodes,
			  const struct constants *c)
{
	json_object *o = json_object_new_object();
	double cable = storm_model_diameter(nodes);
	double switches = storm_model_switches(net, nodes);

	add_number(o, "nodes", nodes);
	add_number(o, "meters", cable);
	add_number(o, "switches", switches);
	add_number(o, "round_trip",
		   storm_model_round_trip(net, cable, switches) / 1e9);
	add_number(o, "broadcast", storm_model_broadcast(net, nodes));
	add_number(o, "rounds",
		   storm_model_rounds(net, nodes, (uint32_t) c->radix) / 1e9);
	add_number(o, "transfer",
		   c->size / storm_model_transfer(net, nodes, c->bus));
	add_number(o, "launch", launch(net, nodes, c->bus, c));
	add_number(o, "launch_without_bus",
		   launch(net, nodes, STORM_MODEL_NO_BUS, c));
	return o;
}

static json_object *networks(const struct constants *c)
{
	json_object *all = json_object_new_object();

	for (const struct storm_model_net *n = storm_model_nets; n->name; n++) {
		json_object *o = json_object_new_object();
		json_object *points = json_object_new_array();

		for (double nodes = 1; nodes <= NODES_MAX; nodes *= 2)
			json_object_array_add(points, point(n, nodes, c));
		add_text(o, "title", n->title);
		add_number(o, "packet", n->packet_size);
		add_number(o, "header", n->header);
		json_object_object_add(o, "points", points);
		json_object_object_add(all, n->name, o);
	}
	return all;
}

/* Equation (2) with the paper's measurements, MB/s. */
static json_object *pipelines(void)
{
	json_object *o = json_object_new_object();

	add_number(o, "main_memory",
		   storm_model_pipeline(STORM_MODEL_READ_MAIN,
					STORM_MODEL_CAST_MAIN,
					STORM_MODEL_NO_BUS) /
			   STORM_MODEL_MB);
	add_number(o, "nic_memory",
		   storm_model_pipeline(STORM_MODEL_READ_NIC,
					STORM_MODEL_CAST_NIC,
					STORM_MODEL_NO_BUS) /
			   STORM_MODEL_MB);
	return o;
}

static json_object *constants(const struct constants *c)
{
	json_object *o = json_object_new_object();

	add_number(o, "size", c->size);
	add_number(o, "bus", c->bus);
	add_number(o, "exec", c->exec);
	add_number(o, "timeslice", c->timeslice);
	add_number(o, "radix", c->radix);
	return o;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: model [--size BYTES] [--bus BYTES/S] [--exec S] "
		"[--timeslice S] [--radix N]\n");
	return 2;
}

static bool read_options(int argc, char **argv, struct constants *c)
{
	static const struct option options[] = {
		{ "size", required_argument, NULL, 0 },
		{ "bus", required_argument, NULL, 1 },
		{ "exec", required_argument, NULL, 2 },
		{ "timeslice", required_argument, NULL, 3 },
		{ "radix", required_argument, NULL, 4 },
		{ NULL, 0, NULL, 0 },
	};
	double *value[] = { &c->size, &c->bus, &c->exec, &c->timeslice,
			    &c->radix };
	int o;

	while ((o = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		char *end;

		if (o > 4)
			return false;
		*value[o] = strtod(optarg, &end);
		if (*end || end == optarg || !(*value[o] >= 0))
			return false;
	}
	return optind == argc && c->size > 0 && c->bus > 0 && c->radix >= 2;
}

int main(int argc, char **argv)
{
	struct constants c = {
		.size = 12 * STORM_MODEL_MB,
		.bus = STORM_MODEL_ES40_BUS,
		.exec = STORM_MODEL_T_EXEC / 1e9,
		.timeslice = STORM_MODEL_T_TIMESLICE / 1e9,
		.radix = 8,
	};
	json_object *o;

	if (!read_options(argc, argv, &c))
		return usage();
	o = json_object_new_object();
	json_object_object_add(o, "constants", constants(&c));
	json_object_object_add(o, "pipeline_mb_s", pipelines());
	json_object_object_add(o, "table3", table3());
	json_object_object_add(o, "launchers", launchers());
	json_object_object_add(o, "networks", networks(&c));
	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY));
	json_object_put(o);
	return 0;
}
