/*
 * jobs_show.c - see jobs_show.h.
 *
 * Names of users, partitions and nodes are others' words: the table has them as
 * storm_shown() does, and JSON whole, in printable ASCII.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "jobs_show.h"
#include "src/libstorm/base/shown.h"

#define CELL_MAX 28 /* characters of a cell that has a list */
#define WITH_MAX 4  /* jobs that a cell names */

enum jobs_column {
	JOBS_ID,
	JOBS_USER,
	JOBS_PARTITION,
	JOBS_NODES,
	JOBS_TURNS,
	JOBS_QUANTUM,
	JOBS_HAD,
	JOBS_WAITED,
	JOBS_GOT,
	JOBS_WITH,
	JOBS_COLUMNS
};

static const char *const heading[JOBS_COLUMNS] = {
	[JOBS_ID] = "JOB",	   [JOBS_USER] = "USER",
	[JOBS_PARTITION] = "PART", [JOBS_NODES] = "NODES",
	[JOBS_TURNS] = "TURNS",	   [JOBS_QUANTUM] = "QUANTUM",
	[JOBS_HAD] = "HAD",	   [JOBS_WAITED] = "WAITED",
	[JOBS_GOT] = "GOT/DUE",	   [JOBS_WITH] = "WITH",
};

struct jobs_row {
	char cell[JOBS_COLUMNS][CELL_MAX + 4];
};

static bool jobs_is_wished(const struct jobs_job *job,
			   const struct jobs_wish *w)
{
	for (unsigned int i = 0; i < w->nids; i++)
		if (jobs_is_named(job, w->ids[i]))
			return true;
	return !w->nids && (w->all || jobs_has_part(job));
}

static void jobs_put(char (*cell)[CELL_MAX + 4], const char *text)
{
	const char *shown = STORM_SHOWN(text);

	snprintf(*cell, sizeof(*cell), "%.*s%s", CELL_MAX, shown,
		 strlen(shown) > CELL_MAX ? "..." : "");
}

/* A time as "3.8s", or in minutes or hours if it is long. */
static void jobs_put_time(char (*cell)[CELL_MAX + 4], double s)
{
	if (s < 600)
		snprintf(*cell, sizeof(*cell), "%.1fs", s);
	else if (s < 36000)
		snprintf(*cell, sizeof(*cell), "%.1fm", s / 60);
	else
		snprintf(*cell, sizeof(*cell), "%.1fh", s / 3600);
}

static void jobs_put_with(char (*cell)[CELL_MAX + 4], const struct jobs *j,
			  const struct jobs_job *job)
{
	uint32_t named = 0, count = 0;
	char text[CELL_MAX * WITH_MAX] = "";
	size_t len = 0;

	for (uint32_t i = 0; i < job->with.count; i++)
		for (uint64_t k = job->with.r[i].first;
		     k <= job->with.r[i].last; k++, count++)
			if (named < WITH_MAX && len < CELL_MAX) {
				len += (size_t) snprintf(text + len,
							 sizeof(text) - len,
							 "%s%.20s",
							 named ? "," : "",
							 j->job[k].id);
				named++;
			}
	if (count > named)
		snprintf(text + len, sizeof(text) - len, "+%u", count - named);
	jobs_put(cell, count ? text : "-");
}

static void jobs_row_of(const struct jobs *j, const struct jobs_job *job,
			struct jobs_row *row)
{
	const struct turns_word *t = &job->turns;
	char text[CELL_MAX];
	double got, due;

	for (int i = 0; i < JOBS_COLUMNS; i++)
		jobs_put(&row->cell[i], "-");
	jobs_put(&row->cell[JOBS_ID], job->id);
	jobs_put(&row->cell[JOBS_USER], job->user);
	jobs_put(&row->cell[JOBS_PARTITION], job->partition);
	jobs_put(&row->cell[JOBS_NODES], job->nodes);
	jobs_put_with(&row->cell[JOBS_WITH], j, job);
	if (!job->takes_turns)
		return;
	snprintf(text, sizeof(text), "%u/%u", t->have, t->of);
	jobs_put(&row->cell[JOBS_TURNS], text);
	snprintf(text, sizeof(text), "%.3gms", t->quantum * 1e3);
	jobs_put(&row->cell[JOBS_QUANTUM], text);
	jobs_put_time(&row->cell[JOBS_HAD], t->had);
	jobs_put_time(&row->cell[JOBS_WAITED], t->waited);
	if (!jobs_got(job, &got, &due))
		return;
	snprintf(text, sizeof(text), "%.0f/%.0f%%", 100 * got, 100 * due);
	jobs_put(&row->cell[JOBS_GOT], text);
}

static void jobs_print_row(FILE *f, const struct jobs_row *row,
			   const int (*width)[JOBS_COLUMNS])
{
	for (int i = 0; i < JOBS_COLUMNS - 1; i++)
		fprintf(f, "%-*s  ", (*width)[i], row->cell[i]);
	fprintf(f, "%s\n", row->cell[JOBS_COLUMNS - 1]);
}

/* What stands below a job's row. */
static void jobs_print_notes(FILE *f, const struct jobs_job *job)
{
	if (job->suspended)
		fputs("    suspended\n", f);
	if (job->held)
		fprintf(f, "    held: stands on %u of %u nodes%s%s\n",
			job->hold.stands, job->hold.nodes,
			*job->hold.loose ? ", not on " : "",
			*job->hold.loose ? STORM_SHOWN(job->hold.loose) : "");
	if (job->takes_turns && *job->turns.out)
		fprintf(f,
			"    runs all the time on %s, which is out of gang scheduling: scontrol show node says why\n",
			STORM_SHOWN(job->turns.out));
}

bool jobs_show_text(FILE *f, const struct jobs *j, const struct jobs_wish *w,
		    uint32_t *shown)
{
	struct jobs_row row, head;
	int width[JOBS_COLUMNS];
	bool wrong = false;

	*shown = 0;
	for (int i = 0; i < JOBS_COLUMNS; i++) {
		jobs_put(&head.cell[i], heading[i]);
		width[i] = (int) strlen(heading[i]);
	}
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

bool jobs_show_json(FILE *f, const struct jobs *j, const struct jobs_wish *w,
		    uint32_t *shown)
{
	json_object *list = json_object_new_array();
	bool wrong = false;

	*shown = 0;
	for (uint32_t i = 0; i < j->count; i++) {
		if (!jobs_is_wished(&j->job[i], w))
			continue;
		++*shown;
		json_object_array_add(list, jobs_json(j, &j->job[i]));
		wrong = wrong || jobs_is_wrong(&j->job[i]);
	}
	fprintf(f, "%s\n",
		json_object_to_json_string_ext(list, JSON_C_TO_STRING_PLAIN));
	json_object_put(list);
	return wrong;
}
