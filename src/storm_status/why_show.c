/*
 * why_show.c - see why_show.h.
 *
 * The reasons are users' words: status_word_of() makes them printable ASCII.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/storm_common/fallback_word.h"
#include "status_facts.h"
#include "why_show.h"

#define WORD 16

/* One step, as a node says. */
struct why_step {
	struct status_word name, value;
	uint64_t at; /* s */
	enum fallback_cause cause;
	unsigned int reason; /* where it begins in value */
	const char *node;
};

/* False: it is none, or of a later version. */
static bool why_read(const struct storm_gather_entry *e, struct why_step *out)
{
	char word[WORD];
	int at = 0;

	if (e->kind != STORM_GATHER_VALUE)
		return false;
	out->value = status_word_of(e);
	out->name = status_key_of(e);
	if (sscanf(out->value.text, "%" SCNu64 " %15s %n", &out->at, word,
		   &at) != 2)
		return false;
	out->reason = (unsigned int) at;
	return fallback_find(word, &out->cause);
}

static int why_newer(const void *x, const void *y)
{
	const struct why_step *a = x, *b = y;

	return a->at < b->at ? 1 : a->at > b->at ? -1 : 0;
}

/* In the order of the output (free).  NULL: no memory. */
static struct why_step *why_steps(const struct status_nodes *n,
				  const struct status_answer *a,
				  uint32_t *count)
{
	struct why_step *all = calloc(a->table.count + 1, sizeof(*all));

	*count = 0;
	for (uint32_t i = 0; all && i < a->table.count; i++) {
		const struct storm_gather_entry *e = &a->table.entry[i];

		if (why_read(e, &all[*count]))
			all[(*count)++].node = status_first_name(n, a, e);
	}
	if (all)
		qsort(all, *count, sizeof(*all), why_newer);
	return all;
}

uint64_t why_more(const struct status_answer *a)
{
	uint64_t more = 0;

	for (uint32_t i = 0; i < a->table.count; i++)
		if (a->table.entry[i].kind == STORM_GATHER_REST)
			more += a->table.entry[i].count;
	return more;
}

struct why_when why_when(uint64_t at)
{
	time_t t = (time_t) at;
	struct why_when out;
	struct tm tm;

	if (!localtime_r(&t, &tm) ||
	    !strftime(out.text, sizeof(out.text), "%Y-%m-%dT%H:%M:%S", &tm))
		snprintf(out.text, sizeof(out.text), "%" PRIu64, at);
	return out;
}

static const char *why_reason(const struct why_step *s)
{
	return s->value.text + s->reason;
}

uint32_t why_show_text(FILE *f, const struct status_nodes *n,
		       const struct status_answer *a)
{
	uint32_t count;
	struct why_step *all = why_steps(n, a, &count);

	for (uint32_t i = 0; i < count; i++) {
		const struct why_when when = why_when(all[i].at);

		fprintf(f, "%s  %s  %s: %s\n", all[i].name.text, when.text,
			fallback_word(all[i].cause), why_reason(&all[i]));
		/* once for those that have the same */
		if (i + 1 == count || all[i].cause != all[i + 1].cause)
			fprintf(f, "    %s\n", fallback_remedy(all[i].cause));
	}
	free(all);
	return count;
}

uint32_t why_show_json(json_object *list, const struct status_nodes *n,
		       const struct status_answer *a)
{
	uint32_t count;
	struct why_step *all = why_steps(n, a, &count);

	for (uint32_t i = 0; i < count; i++) {
		json_object *o = json_object_new_object();

		json_object_object_add(
			o, "step", json_object_new_string(all[i].name.text));
		json_object_object_add(o, "time",
				       json_object_new_uint64(all[i].at));
		json_object_object_add(o, "launch",
				       json_object_new_string("slurm"));
		json_object_object_add(
			o, "cause",
			json_object_new_string(fallback_word(all[i].cause)));
		json_object_object_add(
			o, "reason",
			json_object_new_string(why_reason(&all[i])));
		json_object_object_add(
			o, "remedy",
			json_object_new_string(fallback_remedy(all[i].cause)));
		json_object_object_add(o, "node",
				       json_object_new_string(all[i].node));
		json_object_array_add(list, o);
	}
	free(all);
	return count;
}
