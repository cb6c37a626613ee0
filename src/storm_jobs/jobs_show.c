/*
 * jobs_show.c - see jobs_show.h.
 *
 * Names of jobs, users, partitions and nodes are others' words: JSON has them whole, in
 * printable ASCII.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "jobs_row.h"
#include "jobs_show.h"
#include "src/libstorm/base/shown.h"

static bool jobs_is_wished(const struct jobs_job *job,
			   const struct jobs_wish *w)
{
	for (unsigned int i = 0; i < w->nids; i++)
		if (jobs_is_named(job, w->ids[i]))
			return true;
	return !w->nids && (w->all || jobs_has_part(job));
}

/* The table's columns. */
static const enum jobs_column column[] = {
	JOBS_ID,      JOBS_USER, JOBS_PARTITION, JOBS_NODES, JOBS_TURNS,
	JOBS_QUANTUM, JOBS_HAD,	 JOBS_WAITED,	 JOBS_GOT,   JOBS_WITH,
};
#define COLUMNS (sizeof(column) / sizeof(*column))

static void jobs_print_row(FILE *f, const struct jobs_row *row,
			   const int (*width)[JOBS_COLUMNS])
{
	for (size_t i = 0; i + 1 < COLUMNS; i++)
		fprintf(f, "%-*s  ", (*width)[column[i]], row->cell[column[i]]);
	fprintf(f, "%s\n", row->cell[column[COLUMNS - 1]]);
}

bool jobs_show_text(FILE *f, const struct jobs *j, const struct jobs_wish *w,
		    uint32_t *shown)
{
	struct jobs_row row, head;
	int width[JOBS_COLUMNS];
	bool wrong = false;

	*shown = 0;
	jobs_row_head(&head);
	for (int i = 0; i < JOBS_COLUMNS; i++)
		width[i] = (int) strlen(head.cell[i]);
	for (uint32_t i = 0; i < j->count; i++) {
		if (!jobs_is_wished(&j->job[i], w))
			continue;
		++*shown;
		jobs_row_of(j, &j->job[i], &row);
		for (int k = 0; k < JOBS_COLUMNS; k++)
			if ((int) strlen(row.cell[k]) > width[k])
				width[k] = (int) strlen(row.cell[k]);
	}
	if (*shown)
		jobs_print_row(f, &head, &width);
	for (uint32_t i = 0; i < j->count; i++) {
		if (!jobs_is_wished(&j->job[i], w))
			continue;
		jobs_row_of(j, &j->job[i], &row);
		jobs_print_row(f, &row, &width);
		jobs_print_notes(f, &j->job[i]);
		wrong = wrong || jobs_is_wrong(&j->job[i]);
	}
	return wrong;
}

/* ------------------------------------------------------------------ JSON --- */

/* The whole text; what is not printable ASCII becomes '?'. */
static void jobs_json_text(json_object *o, const char *key, const char *text)
{
	char *copy = strdup(text);

	for (char *c = copy; c && *c; c++)
		*c = storm_printed(*c);
	json_object_object_add(o, key,
			       json_object_new_string(copy ? copy : ""));
	free(copy);
}

static void jobs_json_turns(json_object *o, const struct jobs_job *job)
{
	const struct turns_word *t = &job->turns;
	double got, due;

	json_object_object_add(o, "turns", json_object_new_int64(t->have));
	json_object_object_add(o, "of", json_object_new_int64(t->of));
	json_object_object_add(o, "quantum",
			       json_object_new_double(t->quantum));
	json_object_object_add(o, "had", json_object_new_double(t->had));
	json_object_object_add(o, "waited", json_object_new_double(t->waited));
	json_object_object_add(o, "missed",
			       json_object_new_int64((int64_t) t->missed));
	jobs_json_text(o, "out", t->out);
	if (!jobs_got(job, &got, &due))
		return;
	json_object_object_add(o, "got", json_object_new_double(got));
	json_object_object_add(o, "due", json_object_new_double(due));
}

static json_object *jobs_json(const struct jobs *j, const struct jobs_job *job)
{
	json_object *o = json_object_new_object();
	json_object *with = json_object_new_array();

	jobs_json_text(o, "job", job->id);
	jobs_json_text(o, "name", job->name);
	jobs_json_text(o, "user", job->user);
	jobs_json_text(o, "partition", job->partition);
	jobs_json_text(o, "nodes", job->nodes);
	json_object_object_add(o, "suspended",
			       json_object_new_boolean(job->suspended));
	for (uint32_t i = 0; i < job->with.count; i++)
		for (uint64_t k = job->with.r[i].first;
		     k <= job->with.r[i].last; k++)
			json_object_array_add(
				with, json_object_new_string(j->job[k].id));
	json_object_object_add(o, "with", with);
	if (job->takes_turns)
		jobs_json_turns(o, job);
	if (job->held) {
		json_object_object_add(o, "held_on",
				       json_object_new_int64(job->hold.nodes));
		json_object_object_add(o, "stands_on",
				       json_object_new_int64(job->hold.stands));
		jobs_json_text(o, "loose", job->hold.loose);
	}
	return o;
}

json_object *jobs_json_list(const struct jobs *j, const struct jobs_wish *w,
			    uint32_t *shown, bool *wrong)
{
	json_object *list = json_object_new_array();

	*shown = 0;
	*wrong = false;
	for (uint32_t i = 0; i < j->count; i++) {
		if (!jobs_is_wished(&j->job[i], w))
			continue;
		++*shown;
		json_object_array_add(list, jobs_json(j, &j->job[i]));
		*wrong = *wrong || jobs_is_wrong(&j->job[i]);
	}
	return list;
}

bool jobs_show_json(FILE *f, const struct jobs *j, const struct jobs_wish *w,
		    uint32_t *shown)
{
	bool wrong;
	json_object *list = jobs_json_list(j, w, shown, &wrong);

	fprintf(f, "%s\n",
		json_object_to_json_string_ext(list, JSON_C_TO_STRING_PLAIN));
	json_object_put(list);
	return wrong;
}
