/*
 * figures.c - the figures of a run: the simulated time of each operation, what
 * the owner and the nodes sent and received for it, and the memory and time of
 * the run.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "run_private.h"

static const struct storm_sim_traffic *figures_traffic(const struct run *r,
						       uint32_t i)
{
	return storm_sim_traffic(r->sim, i < r->n ? i : STORM_NO_NODE);
}

void figures_begin(struct run *r)
{
	r->op_start = storm_sim_now(r->sim);
	for (uint32_t i = 0; i <= r->n; i++)
		r->before[i] = *figures_traffic(r, i);
}

static struct storm_sim_count figures_more(struct storm_sim_count now,
					   struct storm_sim_count was)
{
	return (struct storm_sim_count) { now.datagrams - was.datagrams,
					  now.bytes - was.bytes };
}

/* The traffic of an endpoint since figures_begin(). */
static struct storm_sim_traffic figures_since(const struct run *r, uint32_t i)
{
	const struct storm_sim_traffic *t = figures_traffic(r, i);
	const struct storm_sim_traffic *b = &r->before[i];

	return (struct storm_sim_traffic) {
		figures_more(t->tx_control, b->tx_control),
		figures_more(t->tx_bulk, b->tx_bulk),
		figures_more(t->rx_control, b->rx_control),
		figures_more(t->rx_bulk, b->rx_bulk),
	};
}

/* A number in its shortest form. */
static json_object *figures_real(double v)
{
	json_object *o;
	char text[32];

	snprintf(text, sizeof(text), "%.9g", v);
	o = json_object_new_double_s(v, text);
	return o;
}

static void figures_add_count(json_object *o, const char *name,
			      struct storm_sim_count c, double nodes)
{
	json_object *two = json_object_new_object();

	json_object_object_add(two, "datagrams",
			       figures_real((double) c.datagrams / nodes));
	json_object_object_add(two, "bytes",
			       figures_real((double) c.bytes / nodes));
	json_object_object_add(o, name, two);
}

static json_object *figures_traffic_json(const struct storm_sim_traffic *t,
					 double nodes)
{
	json_object *o = json_object_new_object();

	figures_add_count(o, "control_sent", t->tx_control, nodes);
	figures_add_count(o, "control_received", t->rx_control, nodes);
	figures_add_count(o, "bulk_sent", t->tx_bulk, nodes);
	figures_add_count(o, "bulk_received", t->rx_bulk, nodes);
	return o;
}

static void figures_max_and_sum(struct storm_sim_count c,
				struct storm_sim_count *max,
				struct storm_sim_count *sum)
{
	if (c.datagrams > max->datagrams)
		max->datagrams = c.datagrams;
	if (c.bytes > max->bytes)
		max->bytes = c.bytes;
	sum->datagrams += c.datagrams;
	sum->bytes += c.bytes;
}

static void figures_add_traffic(struct run *r, const struct op *op,
				json_object *o)
{
	struct storm_sim_traffic max = { 0 }, sum = { 0 };
	struct storm_sim_traffic owner = figures_since(r, r->n);

	for (uint32_t i = 0; i < r->n; i++) {
		struct storm_sim_traffic t = figures_since(r, i);

		figures_max_and_sum(t.tx_control, &max.tx_control,
				    &sum.tx_control);
		figures_max_and_sum(t.rx_control, &max.rx_control,
				    &sum.rx_control);
		figures_max_and_sum(t.tx_bulk, &max.tx_bulk, &sum.tx_bulk);
		figures_max_and_sum(t.rx_bulk, &max.rx_bulk, &sum.rx_bulk);
	}
	json_object_object_add(o, "owner", figures_traffic_json(&owner, 1));
	json_object_object_add(o, "node_most", figures_traffic_json(&max, 1));
	json_object_object_add(o, "node_mean",
			       figures_traffic_json(&sum, r->n));
	if (op->owner_datagrams > 0 &&
	    (double) owner.tx_control.datagrams > op->owner_datagrams)
		run_violated(
			r,
			"the owner sent %llu control datagrams for one operation: more than %.0f",
			(unsigned long long) owner.tx_control.datagrams,
			op->owner_datagrams);
	if (op->node_datagrams > 0 &&
	    (double) max.tx_control.datagrams > op->node_datagrams)
		run_violated(
			r,
			"a node sent %llu control datagrams for one operation: more than %.0f",
			(unsigned long long) max.tx_control.datagrams,
			op->node_datagrams);
}

static void figures_judge_time(struct run *r, const char *what, double seconds,
			       double model, double error, double most)
{
	if (most > 0 && fabs(error) > most)
		run_violated(
			r,
			"%u nodes: %s took %.6f s, but the model gives %.6f s: %.1f %% more",
			r->s->nodes, what, seconds, model, error * 100);
}

/* Compare a time with size / BW_transfer(nodes), equations (6) to (9), and of a
 * launch with (7).  They know no latency: compare also with its rounds. */
static void figures_add_model(struct run *r, const struct op *op,
			      double seconds, json_object *o)
{
	const struct scenario *s = r->s;
	double model =
		storm_model_launch(
			s->net, s->nodes,
			s->bus > 0 ? s->bus : STORM_MODEL_NO_BUS, op->size,
			op->kind == OP_LAUNCH ? op->seconds * 1e9 : 0, 0) /
		1e9;
	double rounds =
		storm_model_rounds(s->net, s->nodes, s->set.radix) / 1e9;
	double error = seconds / model - 1;
	double rounds_error = seconds / (model + rounds) - 1;

	json_object_object_add(o, "model_seconds", figures_real(model));
	json_object_object_add(o, "model_error", figures_real(error));
	json_object_object_add(o, "rounds_seconds", figures_real(rounds));
	json_object_object_add(o, "rounds_error", figures_real(rounds_error));
	figures_judge_time(r, op_name(op->kind), seconds, model, error,
			   op->model_error);
	figures_judge_time(r, op_name(op->kind), seconds, model + rounds,
			   rounds_error, op->rounds_error);
}

static void figures_add_result(struct run *r, const struct op *op,
			       json_object *o)
{
	static const char *const states[] = { "pending", "done", "aborted",
					      "unknown" };
	static const char *const results[] = { "true", "false", "failed" };

	if (op->kind == OP_COMPARE)
		json_object_object_add(
			o, "result",
			json_object_new_string(results[r->compare]));
	else
		json_object_object_add(
			o, "result",
			json_object_new_string(states[r->out.state]));
	json_object_object_add(o, "named",
			       json_object_new_int64(r->out.nfaults));
}

void figures_end(struct run *r, const struct op *op)
{
	json_object *o = json_object_new_object();
	double seconds = (double) (storm_sim_now(r->sim) - r->op_start) / 1e9;

	json_object_object_add(o, "do",
			       json_object_new_string(op_name(op->kind)));
	json_object_object_add(
		o, "start",
		figures_real((double) (r->op_start - r->start) / 1e9));
	json_object_object_add(o, "seconds", figures_real(seconds));
	if (op->kind == OP_LAUNCH && r->reported_at)
		json_object_object_add(
			o, "delivered_seconds",
			figures_real((double) (r->reported_at - r->op_start) /
				     1e9));
	if (op->kind <= OP_LAUNCH)
		figures_add_result(r, op, o);
	if ((op->kind == OP_TRANSFER || op->kind == OP_LAUNCH) && r->s->net &&
	    op->size > 0 && r->out.state == STORM_DONE)
		figures_add_model(r, op, seconds, o);
	figures_add_traffic(r, op, o);
	json_object_array_add(r->ops, o);
}

json_object *figures_whole(struct run *r, double wall)
{
	json_object *o = json_object_new_object();
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	json_object_object_add(o, "scenario",
			       json_object_new_string(r->s->name));
	json_object_object_add(o, "seed",
			       json_object_new_int64((int64_t) r->s->seed));
	json_object_object_add(o, "nodes", json_object_new_int64(r->n));
	json_object_object_add(
		o, "network",
		json_object_new_string(r->s->net ? r->s->net->name :
						   "latency, bandwidth"));
	json_object_object_add(o, "operations", r->ops);
	json_object_object_add(
		o, "simulated_seconds",
		figures_real((double) (storm_sim_now(r->sim) - r->start) /
			     1e9));
	json_object_object_add(o, "wall_seconds", figures_real(wall));
	json_object_object_add(
		o, "cpu_seconds",
		figures_real(
			(double) (use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
			(double) (use.ru_utime.tv_usec + use.ru_stime.tv_usec) /
				1e6));
	json_object_object_add(
		o, "peak_memory_bytes",
		json_object_new_int64((int64_t) use.ru_maxrss * 1024));
	json_object_object_add(o, "violation",
			       r->bad ? json_object_new_string(r->why) : NULL);
	r->ops = NULL;
	return o;
}

/* Print one line per operation. */
void figures_print(json_object *figures, FILE *out)
{
	const char *sep = "{\n\t";

	json_object_object_foreach(figures, name, v)
	{
		fprintf(out, "%s\"%s\": ", sep, name);
		sep = ",\n\t";
		if (!json_object_is_type(v, json_type_array)) {
			fputs(json_object_to_json_string(v), out);
			continue;
		}
		for (size_t i = 0; i < json_object_array_length(v); i++)
			fprintf(out, "%s%s", i ? ",\n\t\t" : "[\n\t\t",
				json_object_to_json_string(
					json_object_array_get_idx(v, i)));
		fputs("\n\t]", out);
	}
	fputs("\n}", out);
}
