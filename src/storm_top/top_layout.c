/*
 * top_layout.c - see top_layout.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/storm_common/state_keys.h"
#include "top_layout.h"

#define NUMBER 32
#define NAMES 60 /* characters of a list of nodes within a line */

static const char *const unit[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };

/* Bytes, by SI. */
static void top_bytes(double n, char (*out)[NUMBER])
{
	size_t i = 0;

	for (; n >= 1000 && i + 1 < sizeof(unit) / sizeof(*unit); i++)
		n /= 1000;
	snprintf(*out, sizeof(*out), i ? "%.1f %s" : "%.0f %s", n, unit[i]);
}

/* " (3.5/s)", or nothing. */
static const char *top_rate(const struct top_view *v, enum top_count c,
			    char (*out)[NUMBER])
{
	char bytes[NUMBER];

	**out = '\0';
	if (!v->rates.known)
		return *out;
	if (c == TOP_BYTES) {
		top_bytes(v->rates.per_second[c], &bytes);
		snprintf(*out, sizeof(*out), " (%.20s/s)", bytes);
	} else {
		snprintf(*out, sizeof(*out), " (%.1f/s)",
			 v->rates.per_second[c]);
	}
	return *out;
}

static void top_lay_counts(const struct top_view *v, struct top_text *out)
{
	const uint64_t *sum = v->counts.sum;
	char a[NUMBER], b[NUMBER], bytes[NUMBER];

	if (!v->counts.seen && status_silent(v->nodes) < v->nodes->count) {
		top_text_add(out, TOP_PLAIN,
			     "counters  not to be seen: PrivateData");
		return;
	}
	if (!v->counts.seen)
		return;
	top_text_add(out, TOP_PLAIN,
		     "steps     %" PRIu64
		     "%s, by Slurm in STORM's place %" PRIu64 "%s",
		     sum[TOP_STEPS], top_rate(v, TOP_STEPS, &a),
		     sum[TOP_FALLBACKS], top_rate(v, TOP_FALLBACKS, &b));
	top_text_add(out, TOP_PLAIN,
		     "launches  %" PRIu64 "%s, failed %" PRIu64
		     ", signals %" PRIu64 "%s",
		     sum[TOP_LAUNCHES], top_rate(v, TOP_LAUNCHES, &a),
		     sum[TOP_LAUNCHES_FAILED], sum[TOP_SIGNALS],
		     top_rate(v, TOP_SIGNALS, &b));
	top_bytes((double) sum[TOP_BYTES], &bytes);
	top_text_add(out, TOP_PLAIN,
		     "files     %" PRIu64 "%s, failed %" PRIu64
		     ", %s%s, repaired %" PRIu64,
		     sum[TOP_FILES], top_rate(v, TOP_FILES, &a),
		     sum[TOP_FILES_FAILED], bytes, top_rate(v, TOP_BYTES, &b),
		     sum[TOP_REPAIRED]);
}

/* ------------------------------------------------------------------ the strober --- */

/* epoch: the newest that nodes have heard of; 0: none. */
static void top_lay_strober(const struct top_view *v, uint64_t epoch,
			    struct top_text *out)
{
	const struct status_answer *a = v->answer;
	uint64_t members = 0;
	bool turns = false;
	char *text = NULL;
	size_t len;
	FILE *f;

	if (!v->counts.seen || !(f = open_memstream(&text, &len)))
		return;
	for (uint32_t i = 0; i < a->table.count; i++) {
		const struct storm_gather_entry *e = &a->table.entry[i];

		if (status_is_value(e, STATE_GANG) &&
		    !strcmp(status_word_of(e).text, STATE_GANG_IN))
			members += storm_idset_size(&e->nodes);
	}
	fprintf(f, "strober   ");
	if (epoch)
		fprintf(f, "epoch %" PRIu64 ", ", epoch);
	fprintf(f, "%" PRIu64 " member%s", members, members == 1 ? "" : "s");
	for (uint32_t i = 0; i < a->table.count; i++) {
		const struct storm_gather_entry *e = &a->table.entry[i];
		char *names;

		if (!status_is_value(e, STATE_QUANTUM))
			continue;
		names = status_names_of(v->nodes, a, &e->nodes);
		fprintf(f, ", quantum %s on %.*s%s", status_word_of(e).text,
			NAMES, names ? names : "?",
			names && strlen(names) > NAMES ? "..." : "");
		turns = true;
		free(names);
	}
	if (!turns)
		fputs(", no node takes turns", f);
	fclose(f);
	top_text_wrap(out, TOP_PLAIN, "%s", text);
	free(text);
}

/* ------------------------------------------------------------- nodes to look at --- */

static void top_lay_node(struct top_text *out, const char *label,
			 const char *names, const char *text)
{
	top_text_wrap(out, TOP_BAD, "%-9s %s: %s", label, names, text);
}

static void top_lay_silent(void *arg, const char *names, const char *why)
{
	top_lay_node(arg, "no answer", names, why);
}

/* Is it a value to be looked at?  builds: there are several. */
static bool top_is_odd(const struct storm_gather_entry *e, bool builds,
		       uint64_t epoch)
{
	if (e->kind != STORM_GATHER_VALUE)
		return false;
	if (status_is_key(e, STATE_BUILD))
		return builds;
	if (status_is_key(e, STATE_EPOCH))
		return status_epoch_of(e) != epoch;
	return !status_is_fine(e);
}

static void top_lay_nodes(const struct top_view *v, uint64_t epoch,
			  struct top_text *out)
{
	const struct status_answer *a = v->answer;
	const bool builds = status_builds(a) > 1;

	for (uint32_t i = 0; i < a->table.count; i++) {
		const struct storm_gather_entry *e = &a->table.entry[i];
		char *names;

		if (!top_is_odd(e, builds, epoch))
			continue;
		names = status_names_of(v->nodes, a, &e->nodes);
		top_lay_node(out, status_key_of(e).text, names ? names : "?",
			     status_word_of(e).text);
		free(names);
	}
}

/* -------------------------------------------------------------------- the whole --- */

static void top_lay_why(struct top_text *out, const char *who, const char *why,
			bool some, double old)
{
	if (why && !some)
		top_text_wrap(out, TOP_BAD, "%s: %s", who, why);
	else if (why)
		top_text_wrap(out, TOP_BAD,
			      "%s: %s; what follows is %.0f s old", who, why,
			      old);
	else if (old > 0)
		top_text_wrap(out, TOP_BAD, "%s: no answer yet, for %.0f s",
			      who, old);
}

void top_layout(const struct top_view *v, struct top_text *out)
{
	const uint64_t epoch = v->answer ? status_epoch(v->answer, UINT64_MAX) :
					   0;

	if (v->answer)
		top_text_add(out, TOP_HEAD,
			     "storm top  %s  %u of %u agents answer", v->time,
			     v->nodes->count - status_silent(v->nodes),
			     v->nodes->count);
	else
		top_text_add(out, TOP_HEAD, "storm top  %s  %u nodes", v->time,
			     v->nodes->count);
	top_lay_why(out, "the agents cannot be asked", v->agents_why, v->answer,
		    v->agents_old);
	if (v->answer) {
		top_lay_counts(v, out);
		top_lay_strober(v, epoch, out);
	}
	status_each_silent(v->nodes, v->port, top_lay_silent, out);
	if (v->answer)
		top_lay_nodes(v, epoch, out);
	top_lay_why(out, "slurmctld does not say its jobs", v->jobs_why,
		    v->jobs, v->jobs_old);
	if (v->jobs) {
		top_lay_matrix(v, out);
		top_lay_jobs(v, out);
	}
}

bool top_is_wrong(const struct top_view *v)
{
	bool wrong = v->agents_why || v->jobs_why || !v->answer || !v->jobs ||
		     status_is_wrong(v->nodes, v->answer);

	for (uint32_t i = 0; !wrong && i < v->jobs->count; i++)
		wrong = jobs_is_wrong(&v->jobs->job[i]);
	return wrong;
}
