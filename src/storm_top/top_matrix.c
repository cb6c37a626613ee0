/*
 * top_matrix.c - see top_matrix.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/libstorm/base/shown.h"
#include "src/storm_check/check_tell.h"
#include "top_matrix.h"

#define CELL_JOBS 4 /* that a cell names */

struct top_name {
	const char *name;
	uint32_t node;
};

static int top_by_name(const void *x, const void *y)
{
	const struct top_name *a = x, *b = y;

	return strcmp(a->name, b->name);
}

/* The index of each of the jobs' nodes, or n->count (free).  NULL: no memory. */
static uint32_t *top_places(const struct jobs *j, const struct status_nodes *n)
{
	struct top_name *sorted = calloc(n->count + 1, sizeof(*sorted));
	uint32_t *place = calloc(j->nnodes + 1, sizeof(*place));

	for (uint32_t i = 0; sorted && i < n->count; i++)
		sorted[i] = (struct top_name) { n->node[i].name, i };
	if (sorted)
		qsort(sorted, n->count, sizeof(*sorted), top_by_name);
	for (uint32_t i = 0; sorted && place && i < j->nnodes; i++) {
		const struct top_name key = { j->node[i], 0 };
		const struct top_name *found = bsearch(
			&key, sorted, n->count, sizeof(*sorted), top_by_name);

		place[i] = found ? found->node : n->count;
	}
	if (!sorted) {
		free(place);
		place = NULL;
	}
	free(sorted);
	return place;
}

static int top_parts_order(const void *x, const void *y)
{
	const struct top_part *a = x, *b = y;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->slot != b->slot)
		return a->slot < b->slot ? -1 : 1;
	return a->job < b->job ? -1 : a->job > b->job;
}

/* Each job's part of a node once, sorted. */
static bool top_parts(const struct jobs *j, const struct status_nodes *n,
		      struct top_matrix *m)
{
	uint32_t *place = top_places(j, n), count = 0;

	m->part = calloc(j->ncores + 1, sizeof(*m->part));
	for (uint32_t i = 0; place && m->part && i < j->ncores; i++) {
		const struct jobs_cores *c = &j->cores[i];
		const struct jobs_job *job = &j->job[c->job];

		if (c->node < j->nnodes && place[c->node] < n->count)
			m->part[count++] = (struct top_part) {
				place[c->node],
				job->takes_turns ? job->turns.slot : TOP_ALWAYS,
				c->job
			};
	}
	if (m->part)
		qsort(m->part, count, sizeof(*m->part), top_parts_order);
	for (uint32_t i = 0; i < count; i++)
		if (!m->parts ||
		    top_parts_order(&m->part[m->parts - 1], &m->part[i]))
			m->part[m->parts++] = m->part[i];
	free(place);
	return place && m->part;
}

static int top_slot_order(const void *x, const void *y)
{
	const uint32_t *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

static bool top_slots(struct top_matrix *m)
{
	m->slot = calloc(m->parts + 1, sizeof(*m->slot));
	if (!m->slot)
		return false;
	for (uint32_t i = 0; i < m->parts; i++)
		m->slot[i] = m->part[i].slot;
	qsort(m->slot, m->parts, sizeof(*m->slot), top_slot_order);
	for (uint32_t i = 0; i < m->parts; i++)
		if (!m->slots || m->slot[m->slots - 1] != m->slot[i])
			m->slot[m->slots++] = m->slot[i];
	return true;
}

/* ------------------------------------------------------------------ columns --- */

static int top_columns_order(const void *x, const void *y)
{
	const struct top_column *a = x, *b = y;

	if (a->silent != b->silent)
		return a->silent ? 1 : -1;
	if (a->parts != b->parts)
		return a->parts < b->parts ? -1 : 1;
	for (uint32_t i = 0; i < a->parts; i++) {
		if (a->part[i].slot != b->part[i].slot)
			return a->part[i].slot < b->part[i].slot ? -1 : 1;
		if (a->part[i].job != b->part[i].job)
			return a->part[i].job < b->part[i].job ? -1 : 1;
	}
	return 0;
}

static int top_same_first(const void *x, const void *y)
{
	const struct top_column *a = x, *b = y;
	int order = top_columns_order(a, b);

	return order ? order : top_slot_order(a->node, b->node);
}

static int top_by_first(const void *x, const void *y)
{
	const struct top_column *a = x, *b = y;

	return top_slot_order(a->node, b->node);
}

/* One column for each node. */
static bool top_each_node(const struct status_nodes *n, struct top_matrix *m)
{
	uint32_t at = 0;

	m->column = calloc(n->count + 1, sizeof(*m->column));
	m->order = calloc(n->count + 1, sizeof(*m->order));
	for (uint32_t i = 0; m->column && m->order && i < n->count; i++) {
		struct top_column *c = &m->column[i];

		m->order[i] = i;
		*c = (struct top_column) { &m->order[i], 1, m->part + at, 0,
					   n->node[i].silent };
		for (; at < m->parts && m->part[at].node == i; at++)
			c->parts++;
	}
	m->columns = n->count;
	return m->column && m->order;
}

/* Make one of those that are equal.  Their nodes stand side by side in order then. */
static bool top_fold(struct top_matrix *m)
{
	uint32_t *order = calloc(m->columns + 1, sizeof(*order)), left = 0;

	if (!order)
		return false;
	qsort(m->column, m->columns, sizeof(*m->column), top_same_first);
	for (uint32_t i = 0; i < m->columns; i++) {
		struct top_column *c = &m->column[i];

		order[i] = *c->node;
		if (left && !top_columns_order(&m->column[left - 1], c)) {
			m->column[left - 1].count++;
			continue;
		}
		m->column[left] = *c;
		m->column[left++].node = &order[i];
	}
	free(m->order);
	m->order = order;
	m->columns = left;
	qsort(m->column, m->columns, sizeof(*m->column), top_by_first);
	return true;
}

bool top_matrix_make(const struct jobs *j, const struct status_nodes *n,
		     bool fold, struct top_matrix *out)
{
	*out = (struct top_matrix) { 0 };
	return top_parts(j, n, out) && top_slots(out) &&
	       top_each_node(n, out) && (!fold || top_fold(out));
}

void top_matrix_clear(struct top_matrix *m)
{
	free(m->column);
	free(m->slot);
	free(m->part);
	free(m->order);
	*m = (struct top_matrix) { 0 };
}

/* -------------------------------------------------------------------- texts --- */

char *top_matrix_cell(const struct jobs *j, const struct top_column *c,
		      uint32_t slot)
{
	uint32_t count = 0;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	for (uint32_t i = 0; i < c->parts; i++) {
		const struct jobs_job *job = &j->job[c->part[i].job];
		bool stands = job->held || job->suspended;

		if (c->part[i].slot != slot || count++ >= CELL_JOBS)
			continue;
		fprintf(f, "%s%s%.20s%s", count > 1 ? "," : "",
			stands ? "(" : "", STORM_SHOWN(job->id),
			stands ? ")" : "");
	}
	if (!count)
		fputc('.', f);
	if (count > CELL_JOBS)
		fprintf(f, "+%u", count - CELL_JOBS);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

char *top_matrix_names(const struct status_nodes *n, const struct top_column *c)
{
	const char **name = calloc(c->count + 1, sizeof(*name));
	char *text;

	for (uint32_t i = 0; name && i < c->count; i++)
		name[i] = n->node[c->node[i]].name;
	text = name ? check_names(name, c->count) : NULL;
	free(name);
	return text;
}
