/*
 * metrics_text.c - see metrics_text.h.  storm-metrics(1) has the list of these.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "metrics_text.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/shown.h"

#define MORE "other" /* what there is no label of its own for */

struct metrics_out {
	FILE *f;
	enum metrics_form form;
	const struct metrics *m;
	const char *name; /* of the family that is being written */
	const char *end;  /* of its samples' names */
};

void metrics_label(FILE *f, const char *value)
{
	fputc('"', f);
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			fputc('\\', f);
		/* a newline, too, as no word of ours has one */
		fputc(storm_printed(*value), f);
	}
	fputc('"', f);
}

/* Begin a family.  Its unit, if it has one, is the end of its name. */
static void metrics_family(struct metrics_out *o, const char *name,
			   const char *unit, const char *help)
{
	o->name = name;
	o->end = "";
	if (unit && o->form == METRICS_OPEN)
		fprintf(o->f, "# UNIT %s %s\n", name, unit);
	fprintf(o->f, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

/* OpenMetrics has the family's name without _total. */
static void metrics_counters(struct metrics_out *o, const char *name,
			     const char *unit, const char *help)
{
	const char *end = o->form == METRICS_OPEN ? "" : "_total";

	o->name = name;
	o->end = "_total";
	if (unit && o->form == METRICS_OPEN)
		fprintf(o->f, "# UNIT %s %s\n", name, unit);
	fprintf(o->f, "# HELP %s%s %s\n# TYPE %s%s counter\n", name, end, help,
		name, end);
}

static void metrics_number(struct metrics_out *o, uint64_t n)
{
	fprintf(o->f, "%s%s %" PRIu64 "\n", o->name, o->end, n);
}

static void metrics_seconds(struct metrics_out *o, double s)
{
	fprintf(o->f, "%s%s %.6f\n", o->name, o->end, s);
}

static void metrics_labelled(struct metrics_out *o, const char *label,
			     const char *value, uint64_t n)
{
	fprintf(o->f, "%s%s{%s=", o->name, o->end, label);
	metrics_label(o->f, value);
	fprintf(o->f, "} %" PRIu64 "\n", n);
}

static void metrics_labelled_2(struct metrics_out *o,
			       const char *const label[2],
			       const char *const value[2], uint64_t n)
{
	fprintf(o->f, "%s%s{%s=", o->name, o->end, label[0]);
	metrics_label(o->f, value[0]);
	fprintf(o->f, ",%s=", label[1]);
	metrics_label(o->f, value[1]);
	fprintf(o->f, "} %" PRIu64 "\n", n);
}

/* ------------------------------------------------------------------ the query --- */

static void metrics_text_query(struct metrics_out *o)
{
	const struct metrics *m = o->m;

	metrics_family(o, "storm_query_success", NULL,
		       "Whether the query to the agents has succeeded.");
	metrics_number(o, m->answered);
	metrics_family(o, "storm_query_duration_seconds", "seconds",
		       "How long the query took.");
	metrics_seconds(o, (double) m->took / STORM_SEC);
	metrics_family(o, "storm_query_timestamp_seconds", "seconds",
		       "When the query ended, in Unix time.");
	metrics_seconds(o, (double) m->at / 1000);
	metrics_family(o, "storm_nodes", NULL, "Nodes that were asked.");
	metrics_number(o, m->nodes);
	if (!m->answered)
		return;
	metrics_family(o, "storm_query_datagrams", NULL,
		       "Datagrams of the answer that came to this host.");
	metrics_number(o, m->datagrams);
}

static void metrics_text_agents(struct metrics_out *o)
{
	const struct metrics *m = o->m;
	uint32_t down = m->silent[FALLBACK_NO_AGENT];

	metrics_family(
		o, "storm_agents", NULL,
		"Agents that answer, that are not there, and that do not answer.");
	metrics_labelled(o, "state", "up", m->up);
	metrics_labelled(o, "state", "down", down);
	metrics_labelled(o, "state", "silent", m->nodes - m->up - down);
	metrics_family(o, "storm_agents_unanswered", NULL,
		       "Agents that do not answer, by why.");
	for (unsigned int i = 0; i < FALLBACK_CAUSES; i++)
		if (i != FALLBACK_OPTION)
			metrics_labelled(o, "reason", fallback_word(i),
					 m->silent[i]);
	metrics_labelled(o, "reason", "no-address", m->nowhere);
}

static void metrics_text_builds(struct metrics_out *o)
{
	static const char *const label[2] = { "version", "slurm" };
	const bool open = o->form == METRICS_OPEN;
	const struct metrics *m = o->m;

	fprintf(o->f,
		"# HELP storm_build%s Versions of STORM, and of the Slurm that they are for, on the nodes.\n"
		"# TYPE storm_build%s %s\n",
		open ? "" : "_info", open ? "" : "_info",
		open ? "info" : "gauge");
	o->name = "storm_build";
	o->end = "_info";
	for (uint32_t i = 0; i < m->builds; i++)
		metrics_labelled_2(o, label,
				   (const char *const[2]) { m->build[i].version,
							    m->build[i].slurm },
				   1);
	metrics_family(
		o, "storm_build_agents", NULL,
		"Agents of a version; those of further ones than 16 have no slurm.");
	for (uint32_t i = 0; i < m->builds; i++)
		metrics_labelled_2(o, label,
				   (const char *const[2]) { m->build[i].version,
							    m->build[i].slurm },
				   m->build[i].agents);
	if (m->other_builds)
		metrics_labelled_2(
			o, label, (const char *const[2]) { "more than 16", "" },
			m->other_builds);
}

/* ------------------------------------------------------------- what agents are --- */

static void metrics_text_health(struct metrics_out *o)
{
	const char *none = health_word(HEALTH_CAUSES);
	const struct metrics *m = o->m;

	metrics_family(o, "storm_agents_health", NULL,
		       "Agents by what launches lack on their nodes.");
	for (unsigned int i = 0; i < HEALTH_CAUSES; i++) {
		const char *word = i == HEALTH_WELL ? "well" : health_word(i);

		if (word != none)
			metrics_labelled(o, "health", word, m->health[i]);
	}
	metrics_labelled(o, "health", MORE, m->other_health);
	metrics_family(o, "storm_agents_without_slurmd", NULL,
		       "Agents whose slurmd is gone.");
	metrics_number(o, m->no_slurmd);
	metrics_family(o, "storm_agents_oldest_seconds", "seconds",
		       "Time since the first of the agents that answer began.");
	metrics_number(o, m->oldest);
	metrics_family(
		o, "storm_sessions", NULL,
		"Sessions that are open on the nodes, each on each node.");
	metrics_number(o, m->sessions);
}

static void metrics_text_gang(struct metrics_out *o)
{
	static const char *const state[METRICS_GANGS] = {
		"member", "no-member", "excluded", "strober-silent", "lacking"
	};
	const struct metrics *m = o->m;

	metrics_family(o, "storm_agents_gang", NULL,
		       "Agents by their part in gang scheduling.");
	for (unsigned int i = 0; i < METRICS_GANGS; i++)
		metrics_labelled(o, "state", state[i], m->gang[i]);
	metrics_family(o, "storm_strober_up", NULL,
		       "Whether any node hears the strober.");
	metrics_number(o, m->gang[METRICS_GANG_MEMBER] > 0);
	metrics_family(
		o, "storm_strober_epoch", NULL,
		"The last epoch of the cluster domain that a node has heard.");
	metrics_number(o, m->epoch);
	metrics_family(o, "storm_agents_behind", NULL,
		       "Agents that have heard another epoch than the last.");
	metrics_number(o, m->behind);
	metrics_family(o, "storm_turns_quantum_seconds", "seconds",
		       "The longest turn on a node; 0: none takes turns.");
	metrics_seconds(o, (double) m->quantum / STORM_SEC);
	metrics_family(o, "storm_turns_agents", NULL,
		       "Agents whose nodes take turns.");
	metrics_number(o, m->turning);
}

/* ------------------------------------------------------------------ the counters --- */

static void metrics_text_launches(struct metrics_out *o, const uint64_t *c)
{
	static const char *const label[2] = { "result", "reason" };

	metrics_counters(
		o, "storm_launches", NULL,
		"Steps that asked for STORM, by who launched them, and why Slurm did.");
	metrics_labelled_2(o, label, (const char *const[2]) { "storm", "none" },
			   c[METRICS_STEPS]);
	for (unsigned int i = 0; i < FALLBACK_CAUSES; i++)
		metrics_labelled_2(o, label,
				   (const char *const[2]) { "slurm",
							    fallback_word(i) },
				   c[METRICS_FALLBACK + i]);
	metrics_counters(o, "storm_node_launches", NULL,
			 "Launches on nodes, each step on each node.");
	metrics_labelled(o, "result", "done", c[METRICS_LAUNCHES]);
	metrics_labelled(o, "result", "failed", c[METRICS_LAUNCHES_FAILED]);
}

static void metrics_text_took(struct metrics_out *o, const uint64_t *c)
{
	static const unsigned int end[LAUNCH_TOOKS - 1] = LAUNCH_TOOK_ENDS;
	uint64_t n = 0;

	o->name = "storm_launch_duration_seconds";
	if (o->form == METRICS_OPEN)
		fprintf(o->f, "# UNIT %s seconds\n", o->name);
	fprintf(o->f,
		"# HELP %s How long launches by STORM took, as their sruns say.\n"
		"# TYPE %s histogram\n",
		o->name, o->name);
	for (unsigned int i = 0; i < LAUNCH_TOOKS - 1; i++) {
		n += c[METRICS_TOOK + i];
		/* canonical: "1.0", "0.05" */
		fprintf(o->f, "%s_bucket{le=\"%g%s\"} %" PRIu64 "\n", o->name,
			end[i] / 1000.0, end[i] % 1000 ? "" : ".0", n);
	}
	n += c[METRICS_TOOK + LAUNCH_TOOKS - 1];
	fprintf(o->f, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", o->name, n);
	fprintf(o->f, "%s_sum %.6f\n", o->name,
		(double) c[METRICS_TOOK_SUM] / 1e6);
	fprintf(o->f, "%s_count %" PRIu64 "\n", o->name, n);
}

static void metrics_text_files(struct metrics_out *o, const uint64_t *c)
{
	metrics_counters(o, "storm_node_files", NULL,
			 "Files of broadcasts, each file on each node.");
	metrics_labelled(o, "result", "done", c[METRICS_FILES]);
	metrics_labelled(o, "result", "failed", c[METRICS_FILES_FAILED]);
	metrics_counters(o, "storm_node_written_bytes", "bytes",
			 "Bytes of files that nodes have written.");
	metrics_number(o, c[METRICS_BYTES]);
	metrics_counters(o, "storm_node_repaired_parts", NULL,
			 "Parts of files that were sent to a node again.");
	metrics_number(o, c[METRICS_REPAIRED]);
	metrics_counters(o, "storm_node_signals", NULL,
			 "Signals that nodes have passed on.");
	metrics_number(o, c[METRICS_SIGNALS]);
}

void metrics_text(FILE *f, const struct metrics_shown *s,
		  enum metrics_form form)
{
	struct metrics_out o = { .f = f, .form = form, .m = s->m };

	metrics_text_query(&o);
	if (s->m->answered) {
		metrics_text_agents(&o);
		metrics_text_builds(&o);
	}
	if (s->m->answered && s->m->shown) {
		metrics_text_health(&o);
		metrics_text_gang(&o);
	}
	if (s->counter) {
		metrics_text_launches(&o, s->counter);
		metrics_text_took(&o, s->counter);
		metrics_text_files(&o, s->counter);
	}
	if (s->gaps) {
		metrics_counters(
			&o, "storm_count_gaps", NULL,
			"Queries at which events can be missing in the counters.");
		metrics_number(&o, *s->gaps);
	}
	if (form == METRICS_OPEN)
		fputs("# EOF\n", f);
}
