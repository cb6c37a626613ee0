/*
 * top_json.c - see top_json.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "src/storm_jobs/jobs_show.h"
#include "src/storm_status/status_show.h"
#include "top_json.h"
#include "top_matrix.h"

/* {"slot": 0, "jobs": [...]} for each slot that a column has; null: all the time. */
static json_object *top_json_slots(const struct jobs *j,
				   const struct top_column *c)
{
	json_object *list = json_object_new_array(), *ids = NULL;

	for (uint32_t i = 0; i < c->parts; i++) {
		const struct top_part *p = &c->part[i];

		if (!i || p->slot != p[-1].slot) {
			json_object *o = json_object_new_object();

			ids = json_object_new_array();
			json_object_object_add(
				o, "slot",
				p->slot == TOP_ALWAYS ?
					NULL :
					json_object_new_int64(p->slot));
			json_object_object_add(o, "jobs", ids);
			json_object_array_add(list, o);
		}
		json_object_array_add(
			ids, json_object_new_string(j->job[p->job].id));
	}
	return list;
}

/* NULL: no memory. */
static json_object *top_json_matrix(const struct top_view *v)
{
	json_object *list = json_object_new_array();
	struct top_matrix m;
	bool fine = top_matrix_make(v->jobs, v->nodes, true, &m);

	for (uint32_t i = 0; fine && i < m.columns; i++) {
		const struct top_column *c = &m.column[i];
		char *names = top_matrix_names(v->nodes, c);
		json_object *o = json_object_new_object();

		fine = names;
		json_object_object_add(
			o, "nodes", json_object_new_string(names ? names : ""));
		json_object_object_add(o, "count",
				       json_object_new_int64(c->count));
		json_object_object_add(o, "silent",
				       json_object_new_boolean(c->silent));
		json_object_object_add(o, "slots", top_json_slots(v->jobs, c));
		json_object_array_add(list, o);
		free(names);
	}
	top_matrix_clear(&m);
	if (!fine) {
		json_object_put(list);
		return NULL;
	}
	return list;
}

static json_object *top_json_rates(const struct top_view *v)
{
	json_object *o = json_object_new_object();

	for (int i = 0; i < TOP_COUNTS; i++)
		json_object_object_add(
			o, top_count_name(i),
			json_object_new_double(v->rates.per_second[i]));
	return o;
}

static json_object *top_json_why(const char *why)
{
	return why ? json_object_new_string(why) : NULL;
}

bool top_json(FILE *f, const struct top_view *v)
{
	json_object *all = json_object_new_object(), *matrix = NULL;
	const struct jobs_wish wish = { 0 };
	uint32_t shown;
	bool wrong;

	json_object_object_add(all, "time", json_object_new_string(v->time));
	json_object_object_add(
		all, "agents",
		v->answer ? status_json(v->nodes, v->answer, v->port) : NULL);
	json_object_object_add(all, "agents_error",
			       top_json_why(v->agents_why));
	json_object_object_add(all, "rates",
			       v->rates.known ? top_json_rates(v) : NULL);
	if (v->jobs)
		matrix = top_json_matrix(v);
	json_object_object_add(all, "matrix", matrix);
	json_object_object_add(all, "jobs",
			       v->jobs ? jobs_json_list(v->jobs, &wish, &shown,
							&wrong) :
					 NULL);
	json_object_object_add(all, "jobs_error", top_json_why(v->jobs_why));
	fprintf(f, "%s\n",
		json_object_to_json_string_ext(all, JSON_C_TO_STRING_PLAIN));
	json_object_put(all);
	return !v->jobs || matrix;
}
