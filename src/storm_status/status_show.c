/*
 * status_show.c - see status_show.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "src/storm_common/state_keys.h"
#include "status_show.h"

/* ------------------------------------------------------------------------- text --- */

static void status_line(FILE *f, const char *label, const char *names,
			const char *text)
{
	fprintf(f, "%-10s %s: %s\n", label, names, text);
}

static void status_text_silent(void *arg, const char *names, const char *why)
{
	status_line(arg, "no answer", names, why);
}

static void status_text_values(FILE *f, const struct status_nodes *n,
			       const struct status_answer *a, const char *key,
			       const char *label)
{
	for (uint32_t i = 0; i < a->table.count; i++) {
		const struct storm_gather_entry *e = &a->table.entry[i];
		struct status_word w;
		char *names;

		if (!status_is_key(e, key))
			continue;
		if (e->kind == STORM_GATHER_REST)
			fprintf(f, "%-10s and %" PRIu64 " more\n", label,
				e->count);
		if (e->kind != STORM_GATHER_VALUE)
			continue;
		w = status_word_of(e);
		names = status_names_of(n, a, &e->nodes);
		status_line(f, label, names ? names : "?", w.text);
		free(names);
	}
}

static void status_text_count(FILE *f, const struct status_nodes *n,
			      const struct status_answer *a, const char *key,
			      const char *failed)
{
	const struct storm_gather_entry *e = status_counter(a, key);
	const struct storm_gather_entry *bad =
		failed ? status_counter(a, failed) : NULL;

	if (!e)
		return;
	fprintf(f, "%-10s %" PRIu64, key, e->sum);
	if (bad && bad->sum && bad->max_node < a->count)
		fprintf(f, ", %" PRIu64 " failed, most on %s (%" PRIu64 ")",
			bad->sum, n->node[a->asked[bad->max_node]].name,
			bad->max);
	else if (e->max && e->max_node < a->count && e->max < e->sum)
		fprintf(f, ", most on %s (%" PRIu64 ")",
			n->node[a->asked[e->max_node]].name, e->max);
	fputc('\n', f);
}

static void status_text_age(FILE *f, const struct status_answer *a)
{
	const struct storm_gather_entry *e = status_counter(a, STATE_AGE);
	uint64_t s = e ? e->max : 0;

	if (e)
		fprintf(f,
			"counted since their agents began, at most %" PRIu64
			" d %02" PRIu64 ":%02" PRIu64 ":%02" PRIu64 " ago:\n",
			s / 86400, s / 3600 % 24, s / 60 % 60, s % 60);
}

/* The steps, and how many Slurm launched in STORM's place, by cause. */
static void status_text_steps(FILE *f, const struct status_answer *a)
{
	const struct storm_gather_entry *e = status_counter(a, STATE_STEPS);
	const size_t len = strlen(STATE_FALLBACK);
	const uint64_t stock = status_fallbacks(a);
	const char *sep = ": ";

	if (!e)
		return;
	fprintf(f, "%-10s %" PRIu64, STATE_STEPS, e->sum);
	if (stock)
		fprintf(f, ", and %" PRIu64 " by Slurm in STORM's place",
			stock);
	for (uint32_t i = 0; i < a->table.count; i++) {
		if (!status_is_fallback(&a->table.entry[i]))
			continue;
		e = &a->table.entry[i];
		fprintf(f, "%s%s %" PRIu64, sep, status_key_of(e).text + len,
			e->sum);
		sep = ", ";
	}
	fputc('\n', f);
}

bool status_show_text(FILE *f, const struct status_nodes *n,
		      const struct status_answer *a, uint16_t port)
{
	fprintf(f, "%u of %u agents answer\n", n->count - status_silent(n),
		n->count);
	status_each_silent(n, port, status_text_silent, f);
	status_text_values(f, n, a, STATE_BUILD, STATE_BUILD);
	status_text_values(f, n, a, STATE_SLURMD, STATE_SLURMD);
	status_text_values(f, n, a, STATE_HEALTH, STATE_HEALTH);
	status_text_values(f, n, a, STATE_GANG, STATE_GANG);
	status_text_values(f, n, a, STATE_EPOCH, STATE_EPOCH);
	status_text_values(f, n, a, STATE_QUANTUM, STATE_QUANTUM);
	status_text_count(f, n, a, STATE_SESSIONS, NULL);
	status_text_age(f, a);
	status_text_steps(f, a);
	status_text_count(f, n, a, STATE_LAUNCHES, STATE_LAUNCHES_FAILED);
	status_text_count(f, n, a, STATE_FILES, STATE_FILES_FAILED);
	status_text_count(f, n, a, STATE_BYTES, NULL);
	status_text_count(f, n, a, STATE_SIGNALS, NULL);
	status_text_count(f, n, a, STATE_REPAIRED, NULL);
	return status_is_wrong(n, a);
}

/* ------------------------------------------------------------------------- JSON --- */

static void status_json_silent(void *arg, const char *names, const char *why)
{
	json_object *one = json_object_new_object();

	json_object_object_add(one, "nodes", json_object_new_string(names));
	json_object_object_add(one, "reason", json_object_new_string(why));
	json_object_array_add(arg, one);
}

static json_object *status_json_entry(const struct status_nodes *n,
				      const struct status_answer *a,
				      const struct storm_gather_entry *e)
{
	json_object *o = json_object_new_object();
	struct status_word w;
	char *names;

	w = status_key_of(e);
	json_object_object_add(o, "key", json_object_new_string(w.text));
	switch (e->kind) {
	case STORM_GATHER_VALUE:
		w = status_word_of(e);
		names = status_names_of(n, a, &e->nodes);
		json_object_object_add(o, "value",
				       json_object_new_string(w.text));
		json_object_object_add(o, "nodes",
				       json_object_new_string(names ? names :
								      "?"));
		free(names);
		break;
	case STORM_GATHER_COUNTER:
		json_object_object_add(o, "sum",
				       json_object_new_uint64(e->sum));
		json_object_object_add(o, "max",
				       json_object_new_uint64(e->max));
		json_object_object_add(
			o, "node",
			json_object_new_string(status_name(n, a, e->max_node)));
		break;
	case STORM_GATHER_REST:
		json_object_object_add(o, "more",
				       json_object_new_uint64(e->count));
	}
	return o;
}

json_object *status_json(const struct status_nodes *n,
			 const struct status_answer *a, uint16_t port)
{
	json_object *all = json_object_new_object();
	json_object *silent = json_object_new_array();
	json_object *state = json_object_new_array();

	status_each_silent(n, port, status_json_silent, silent);
	for (uint32_t i = 0; i < a->table.count; i++)
		json_object_array_add(
			state, status_json_entry(n, a, &a->table.entry[i]));
	json_object_object_add(all, "nodes", json_object_new_int64(n->count));
	json_object_object_add(all, "no_answer", silent);
	json_object_object_add(all, "state", state);
	json_object_object_add(all, "datagrams",
			       json_object_new_uint64(a->stats.rx_datagrams));
	return all;
}

bool status_show_json(FILE *f, const struct status_nodes *n,
		      const struct status_answer *a, uint16_t port)
{
	json_object *all = status_json(n, a, port);

	fprintf(f, "%s\n",
		json_object_to_json_string_ext(all, JSON_C_TO_STRING_PLAIN));
	json_object_put(all);
	return status_is_wrong(n, a);
}
