/*
 * status_show.c - see status_show.h.
 *
 * Values are other hosts' words: what is not printable ASCII becomes '?'.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/shown.h"
#include "src/storm_check/check_tell.h"
#include "src/storm_common/state_keys.h"
#include "status_show.h"

#define MTU 1500 /* no path is tried, so no verdict needs it */

static struct status_word status_printed(const uint8_t *from, unsigned int len)
{
	struct status_word w = { 0 };

	for (unsigned int i = 0; i < len && i < STORM_GATHER_DATA; i++)
		w.text[i] = storm_printed((char) from[i]);
	return w;
}

struct status_word status_word_of(const struct storm_gather_entry *e)
{
	return status_printed(e->value, e->value_len);
}

struct status_word status_key_of(const struct storm_gather_entry *e)
{
	return status_printed(e->key, e->key_len);
}

static bool status_is_key(const struct storm_gather_entry *e, const char *key)
{
	return e->key_len == strlen(key) && !memcmp(e->key, key, e->key_len);
}

static const struct storm_gather_entry *
status_counter(const struct status_answer *a, const char *key)
{
	for (uint32_t i = 0; i < a->table.count; i++)
		if (a->table.entry[i].kind == STORM_GATHER_COUNTER &&
		    status_is_key(&a->table.entry[i], key))
			return &a->table.entry[i];
	return NULL;
}

static bool status_is_fallback(const struct storm_gather_entry *e)
{
	const size_t len = strlen(STATE_FALLBACK);

	return e->kind == STORM_GATHER_COUNTER && e->key_len > len &&
	       !memcmp(e->key, STATE_FALLBACK, len);
}

/* The names of some of the nodes that were asked, folded (free). */
static char *status_names_of(const struct status_nodes *n,
			     const struct status_answer *a,
			     const struct storm_idset *set)
{
	const char **name = calloc(a->count + 1, sizeof(*name));
	size_t count = 0;
	char *text;

	for (uint32_t i = 0; name && i < a->count; i++)
		if (storm_idset_has(set, i))
			name[count++] = n->node[a->asked[i]].name;
	text = name ? check_names(name, count) : NULL;
	free(name);
	return text;
}

/* ---------------------------------------------------------------- what is wrong --- */

uint32_t status_silent(const struct status_nodes *n)
{
	uint32_t silent = 0;

	for (uint32_t i = 0; i < n->count; i++)
		silent += n->node[i].silent;
	return silent;
}

static bool status_is_fine(const struct storm_gather_entry *e)
{
	struct status_word w = status_word_of(e);

	if (status_is_key(e, STATE_HEALTH))
		return !strcmp(w.text, STATE_WELL);
	if (status_is_key(e, STATE_GANG))
		return !strcmp(w.text, STATE_GANG_IN) ||
		       !strcmp(w.text, STATE_GANG_OUT);
	return !status_is_key(e, STATE_SLURMD);
}

static bool status_is_wrong(const struct status_nodes *n,
			    const struct status_answer *a)
{
	unsigned int builds = 0;

	if (status_silent(n))
		return true;
	for (uint32_t i = 0; i < a->table.count; i++) {
		const struct storm_gather_entry *e = &a->table.entry[i];

		builds += e->kind == STORM_GATHER_VALUE &&
			  status_is_key(e, STATE_BUILD);
		if (e->kind == STORM_GATHER_REST ||
		    (e->kind == STORM_GATHER_VALUE && !status_is_fine(e)))
			return true;
	}
	return builds > 1;
}

/* Why a silent node is (free). */
static char *status_why(const struct status_node *node, uint16_t port)
{
	char *text =
		node->got.why == STORM_EINVAL ?
			strdup("Slurm has no address for it: correct the name, or slurm.conf") :
			check_verdict(&node->got, port, MTU);

	return text ? text : strdup("?");
}

/* Calls back with each reason, and the nodes that have it. */
static void status_each_silent(const struct status_nodes *n, uint16_t port,
			       void (*tell)(void *arg, const char *names,
					    const char *why),
			       void *arg)
{
	char **why = calloc(n->count + 1, sizeof(*why));
	const char **name = calloc(n->count + 1, sizeof(*name));

	for (uint32_t i = 0; why && name && i < n->count; i++)
		if (n->node[i].silent)
			why[i] = status_why(&n->node[i], port);
	for (uint32_t i = 0; why && name && i < n->count; i++) {
		char *one = why[i], *names;
		size_t count = 0;

		if (!one)
			continue;
		for (uint32_t k = i; k < n->count; k++) {
			if (!why[k] || strcmp(why[k], one))
				continue;
			name[count++] = n->node[k].name;
			if (k > i)
				free(why[k]);
			why[k] = NULL;
		}
		names = check_names(name, count);
		tell(arg, names ? names : "?", one);
		free(names);
		free(one);
	}
	free(why);
	free(name);
}

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
	uint64_t stock = 0;
	const char *sep = ": ";

	if (!e)
		return;
	fprintf(f, "%-10s %" PRIu64, STATE_STEPS, e->sum);
	for (uint32_t i = 0; i < a->table.count; i++)
		if (status_is_fallback(&a->table.entry[i]))
			stock += a->table.entry[i].sum;
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
			json_object_new_string(
				e->max_node < a->count ?
					n->node[a->asked[e->max_node]].name :
					"?"));
		break;
	case STORM_GATHER_REST:
		json_object_object_add(o, "more",
				       json_object_new_uint64(e->count));
	}
	return o;
}

bool status_show_json(FILE *f, const struct status_nodes *n,
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
	fprintf(f, "%s\n",
		json_object_to_json_string_ext(all, JSON_C_TO_STRING_PLAIN));
	json_object_put(all);
	return status_is_wrong(n, a);
}
