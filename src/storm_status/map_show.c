/*
 * map_show.c - see map_show.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "map_show.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/shown.h"
#include "src/storm_check/check_tell.h"
#include "src/storm_common/state_keys.h"
#include "status_facts.h"

#define NAME_MOST 40 /* characters of a row's name */
#define LEAST 10     /* nodes in a row, however few the columns are */
#define GROUP 10     /* nodes before a blank */

enum { RED = 31, YELLOW = 33 };

static const struct {
	char mark;
	int colour; /* 0: none */
	const char *means;
} marks[MAP_MARKS] = {
	[MAP_SILENT] = { 'x', RED, "no answer" },
	[MAP_BUILD] = { 'v', YELLOW, "another version" },
	[MAP_NO_SLURMD] = { 's', RED, "no slurmd" },
	[MAP_UNWELL] = { '!', RED, "not well" },
	[MAP_NO_GANG] = { 'e', YELLOW, "no gang scheduling" },
	[MAP_DOWN] = { 'D', RED, "down" },
	[MAP_DRAIN] = { 'd', YELLOW, "drain" },
	[MAP_TURNS] = { '%', 0, "takes turns" },
	[MAP_BUSY] = { '#', 0, "busy" },
	[MAP_IDLE] = { '.', 0, "idle" },
	[MAP_ANSWERS] = { '-', 0, "answers" },
};

/* The entry with this key that has the node; NULL: none. */
static const struct storm_gather_entry *
map_entry(const struct status_answer *a, const char *key, uint32_t asked)
{
	for (uint32_t i = 0; i < a->table.count; i++) {
		const struct storm_gather_entry *e = &a->table.entry[i];

		if (status_is_value(e, key) &&
		    storm_idset_has(&e->nodes, asked))
			return e;
	}
	return NULL;
}

/* Do most nodes have this one's build? */
static bool map_is_usual(const struct status_answer *a,
			 const struct storm_gather_entry *own)
{
	for (uint32_t i = 0; own && i < a->table.count; i++) {
		const struct storm_gather_entry *e = &a->table.entry[i];

		if (status_is_value(e, STATE_BUILD) &&
		    storm_idset_size(&e->nodes) > storm_idset_size(&own->nodes))
			return false;
	}
	return true;
}

static enum map_mark map_agent(const struct status_answer *a, uint32_t asked)
{
	const struct storm_gather_entry *e;

	if (!map_is_usual(a, map_entry(a, STATE_BUILD, asked)))
		return MAP_BUILD;
	if (map_entry(a, STATE_SLURMD, asked))
		return MAP_NO_SLURMD;
	e = map_entry(a, STATE_HEALTH, asked);
	if (e && !status_is_fine(e))
		return MAP_UNWELL;
	e = map_entry(a, STATE_GANG, asked);
	if (e && !status_is_fine(e))
		return MAP_NO_GANG;
	return map_entry(a, STATE_QUANTUM, asked) ? MAP_TURNS : MAP_ANSWERS;
}

static enum map_mark map_slurm_mark(enum map_slurm s)
{
	return s == MAP_SLURM_DOWN  ? MAP_DOWN :
	       s == MAP_SLURM_DRAIN ? MAP_DRAIN :
	       s == MAP_SLURM_BUSY  ? MAP_BUSY :
	       s == MAP_SLURM_IDLE  ? MAP_IDLE :
				      MAP_ANSWERS;
}

/* All marks (free); NULL: no memory.  *count: how many nodes have each. */
static enum map_mark *map_marks(const struct map *m,
				uint32_t (*count)[MAP_MARKS])
{
	enum map_mark *all = calloc(m->nodes->count + 1, sizeof(*all));

	memset(*count, 0, sizeof(*count));
	if (!all)
		return NULL;
	for (uint32_t i = 0; i < m->nodes->count; i++)
		all[i] = m->slurm ? map_slurm_mark(m->slurm[i]) : MAP_ANSWERS;
	for (uint32_t i = 0; i < m->answer->count; i++) {
		enum map_mark mark = map_agent(m->answer, i);

		if (mark < all[m->answer->asked[i]])
			all[m->answer->asked[i]] = mark;
	}
	for (uint32_t i = 0; i < m->nodes->count; i++) {
		if (m->nodes->node[i].silent)
			all[i] = MAP_SILENT;
		++(*count)[all[i]];
	}
	return all;
}

static bool map_is_wrong(const uint32_t (*count)[MAP_MARKS])
{
	for (int i = 0; i < MAP_TURNS; i++)
		if ((*count)[i])
			return true;
	return false;
}

static void map_put(FILE *f, enum map_mark mark, bool colour)
{
	if (colour && marks[mark].colour)
		fprintf(f, "\033[%dm%c\033[0m", marks[mark].colour,
			marks[mark].mark);
	else
		fputc(marks[mark].mark, f);
}

/* The room for a row's name. */
static int map_name_width(const struct status_nodes *n)
{
	size_t most = 0;

	for (uint32_t i = 0; i < n->count; i++) {
		size_t len = strlen(STORM_SHOWN(n->node[i].name));

		most = len > most ? len : most;
	}
	return most < NAME_MOST ? (int) most : NAME_MOST;
}

/* How many nodes a row has: whole groups, each with a blank before it. */
static uint32_t map_per_row(unsigned int columns, int name)
{
	unsigned int groups =
		columns > (unsigned int) name ?
			(columns - (unsigned int) name) / (GROUP + 1) :
			0;

	return groups ? groups * GROUP : LEAST;
}

static void map_legend(FILE *f, const uint32_t (*count)[MAP_MARKS], bool colour)
{
	for (int i = 0; i < MAP_MARKS; i++) {
		if (!(*count)[i])
			continue;
		map_put(f, i, colour);
		fprintf(f, " %u %s\n", (*count)[i], marks[i].means);
	}
}

bool map_show_text(FILE *f, const struct map *m, unsigned int columns,
		   bool colour)
{
	int name = map_name_width(m->nodes);
	uint32_t count[MAP_MARKS], per_row = map_per_row(columns, name);
	enum map_mark *all = map_marks(m, &count);

	for (uint32_t i = 0; all && i < m->nodes->count; i++) {
		if (i % per_row == 0)
			fprintf(f, "%-*.*s", name, name,
				STORM_SHOWN(m->nodes->node[i].name));
		if (i % per_row % GROUP == 0)
			fputc(' ', f);
		map_put(f, all[i], colour);
		if ((i + 1) % per_row == 0 || i + 1 == m->nodes->count)
			fputc('\n', f);
	}
	map_legend(f, &count, colour);
	free(all);
	return map_is_wrong(&count);
}

bool map_show_json(FILE *f, const struct map *m)
{
	json_object *list = json_object_new_array();
	uint32_t count[MAP_MARKS];
	enum map_mark *all = map_marks(m, &count);
	const char **name = calloc(m->nodes->count + 1, sizeof(*name));

	for (int mark = 0; all && name && mark < MAP_MARKS; mark++) {
		json_object *o;
		size_t n = 0;
		char *names;

		for (uint32_t i = 0; i < m->nodes->count; i++)
			if (all[i] == (enum map_mark) mark)
				name[n++] = m->nodes->node[i].name;
		if (!n)
			continue;
		names = check_names(name, n);
		o = json_object_new_object();
		json_object_object_add(
			o, "state", json_object_new_string(marks[mark].means));
		json_object_object_add(o, "count",
				       json_object_new_int64((int64_t) n));
		json_object_object_add(o, "nodes",
				       json_object_new_string(names ? names :
								      "?"));
		json_object_array_add(list, o);
		free(names);
	}
	fprintf(f, "%s\n",
		json_object_to_json_string_ext(list, JSON_C_TO_STRING_PLAIN));
	json_object_put(list);
	free(name);
	free(all);
	return map_is_wrong(&count);
}
