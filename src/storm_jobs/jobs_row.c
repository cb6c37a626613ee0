/*
 * jobs_row.c - see jobs_row.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "jobs_row.h"
#include "src/libstorm/base/shown.h"

#define WITH_MAX 4 /* jobs that a cell names */

static const char *const heading[JOBS_COLUMNS] = {
	[JOBS_ID] = "JOB",	[JOBS_NAME] = "NAME",
	[JOBS_USER] = "USER",	[JOBS_PARTITION] = "PART",
	[JOBS_NODES] = "NODES", [JOBS_TURNS] = "TURNS",
	[JOBS_SLOT] = "SLOT",	[JOBS_QUANTUM] = "QUANTUM",
	[JOBS_HAD] = "HAD",	[JOBS_WAITED] = "WAITED",
	[JOBS_GOT] = "GOT/DUE", [JOBS_MISSED] = "MISSED",
	[JOBS_WITH] = "WITH",
};

void jobs_row_head(struct jobs_row *row)
{
	for (int i = 0; i < JOBS_COLUMNS; i++)
		jobs_put(&row->cell[i], heading[i]);
}

void jobs_put(char (*cell)[JOBS_CELL + 4], const char *text)
{
	const char *shown = STORM_SHOWN(text);

	snprintf(*cell, sizeof(*cell), "%.*s%s", JOBS_CELL, shown,
		 strlen(shown) > JOBS_CELL ? "..." : "");
}

/* A time as "3.8s", or in minutes or hours if it is long. */
static void jobs_put_time(char (*cell)[JOBS_CELL + 4], double s)
{
	if (s < 600)
		snprintf(*cell, sizeof(*cell), "%.1fs", s);
	else if (s < 36000)
		snprintf(*cell, sizeof(*cell), "%.1fm", s / 60);
	else
		snprintf(*cell, sizeof(*cell), "%.1fh", s / 3600);
}

static void jobs_put_with(char (*cell)[JOBS_CELL + 4], const struct jobs *j,
			  const struct jobs_job *job)
{
	uint32_t named = 0, count = 0;
	char text[JOBS_CELL * WITH_MAX] = "";
	size_t len = 0;

	for (uint32_t i = 0; i < job->with.count; i++)
		for (uint64_t k = job->with.r[i].first;
		     k <= job->with.r[i].last; k++, count++)
			if (named < WITH_MAX && len < JOBS_CELL) {
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

void jobs_row_of(const struct jobs *j, const struct jobs_job *job,
		 struct jobs_row *row)
{
	const struct turns_word *t = &job->turns;
	char text[JOBS_CELL];
	double got, due;

	for (int i = 0; i < JOBS_COLUMNS; i++)
		jobs_put(&row->cell[i], "-");
	jobs_put(&row->cell[JOBS_ID], job->id);
	jobs_put(&row->cell[JOBS_NAME], job->name);
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
	snprintf(text, sizeof(text), "%u/%u", t->slot, t->round);
	jobs_put(&row->cell[JOBS_SLOT], text);
	snprintf(text, sizeof(text), "%" PRIu64, t->missed);
	jobs_put(&row->cell[JOBS_MISSED], text);
	jobs_put_time(&row->cell[JOBS_HAD], t->had);
	jobs_put_time(&row->cell[JOBS_WAITED], t->waited);
	if (!jobs_got(job, &got, &due))
		return;
	snprintf(text, sizeof(text), "%.0f/%.0f%%", 100 * got, 100 * due);
	jobs_put(&row->cell[JOBS_GOT], text);
}

void jobs_print_notes(FILE *f, const struct jobs_job *job)
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
