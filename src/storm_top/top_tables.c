/*
 * top_tables.c - the matrix, and the jobs that share: see top_layout.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/libstorm/base/minmax.h"
#include "src/storm_jobs/jobs_row.h"
#include "top_layout.h"
#include "top_matrix.h"

#define LABEL 6 /* characters before the first column */
#define GAP 2	/* between two */
#define NAMES_LEAST \
	20 /* characters that names of nodes may have on any screen */

/* ------------------------------------------------------------------- the matrix --- */

/* The matrix as texts: a column's names, how many, and a cell for each slot. */
struct top_grid {
	struct top_matrix matrix;
	bool folded;
	unsigned int names_most;
	char **cell;	     /* (slots + 1) * columns of them */
	unsigned int *width; /* of each column */
	uint64_t whole;	     /* the sum, with gaps */
};

static char *top_grid_head(const struct top_view *v, struct top_grid *g,
			   const struct top_column *c)
{
	char *names = top_matrix_names(v->nodes, c), *text = NULL;

	if (!names)
		return NULL;
	if (strlen(names) > g->names_most)
		strcpy(names + g->names_most - 3, "...");
	if (asprintf(&text, "%s%s", names, c->silent ? "!" : "") < 0)
		text = NULL;
	free(names);
	return text;
}

static unsigned int top_digits(uint32_t n)
{
	unsigned int digits = 1;

	for (; n >= 10; n /= 10)
		digits++;
	return digits;
}

static void top_grid_clear(struct top_grid *g)
{
	uint64_t cells = (uint64_t) (g->matrix.slots + 1) * g->matrix.columns;

	for (uint64_t i = 0; g->cell && i < cells; i++)
		free(g->cell[i]);
	free(g->cell);
	free(g->width);
	top_matrix_clear(&g->matrix);
}

static bool top_grid_make(const struct top_view *v, bool fold,
			  unsigned int columns, struct top_grid *g)
{
	struct top_matrix *m = &g->matrix;
	uint64_t at = 0;

	*g = (struct top_grid) { .folded = fold };
	g->names_most = (unsigned int) storm_max(NAMES_LEAST, columns / 3);
	if (!top_matrix_make(v->jobs, v->nodes, fold, m))
		return false;
	g->cell = calloc((uint64_t) (m->slots + 1) * m->columns + 1,
			 sizeof(*g->cell));
	g->width = calloc(m->columns + 1, sizeof(*g->width));
	if (!g->cell || !g->width)
		return false;
	for (uint32_t i = 0; i < m->columns; i++) {
		const struct top_column *c = &m->column[i];
		unsigned int width = fold ? top_digits(c->count) : 0;

		for (uint32_t k = 0; k <= m->slots; k++, at++) {
			char *text = k ? top_matrix_cell(v->jobs, c,
							 m->slot[k - 1]) :
					 top_grid_head(v, g, c);

			if (!text)
				return false;
			g->cell[at] = text;
			width = (unsigned int) storm_max(width, strlen(text));
		}
		g->width[i] = width;
		g->whole += width + GAP;
	}
	return true;
}

/* One line of columns first to last - 1; row -1: how many nodes each has. */
static void top_grid_line(const struct top_grid *g, struct top_text *out,
			  uint32_t first, uint32_t last, int64_t row)
{
	const struct top_matrix *m = &g->matrix;
	char label[16] = "", *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f) {
		out->failed = true;
		return;
	}
	if (!row)
		snprintf(label, sizeof(label), "SLOT");
	else if (row > 0 && m->slot[row - 1] == TOP_ALWAYS)
		snprintf(label, sizeof(label), "all");
	else if (row > 0)
		snprintf(label, sizeof(label), "%4u", m->slot[row - 1]);
	fprintf(f, "%-*s", LABEL, label);
	for (uint32_t i = first; i < last; i++)
		if (row < 0)
			fprintf(f, "%-*u", (int) g->width[i] + GAP,
				m->column[i].count);
		else
			fprintf(f, "%-*s", (int) g->width[i] + GAP,
				g->cell[(uint64_t) i * (m->slots + 1) +
					(uint64_t) row]);
	fclose(f);
	top_text_add(out, row ? TOP_PLAIN : TOP_HEAD, "%s", text);
	free(text);
}

/* As many columns as there is room for, and then the others below. */
static void top_grid_lay(const struct top_grid *g, struct top_text *out)
{
	const struct top_matrix *m = &g->matrix;
	uint32_t last;

	for (uint32_t first = 0; first < m->columns; first = last) {
		uint64_t room = LABEL + g->width[first];

		for (last = first + 1; last < m->columns; last++) {
			room += GAP + g->width[last];
			if (room > out->columns)
				break;
		}
		top_grid_line(g, out, first, last, 0);
		if (g->folded)
			top_grid_line(g, out, first, last, -1);
		for (uint32_t k = 1; k <= m->slots; k++)
			top_grid_line(g, out, first, last, k);
	}
}

void top_lay_matrix(const struct top_view *v, struct top_text *out)
{
	/* there is no room for a character of each */
	bool fold = v->nodes->count > out->columns / (1 + GAP), fine;
	struct top_grid g;

	fine = top_grid_make(v, fold, out->columns, &g);
	top_text_add(out, TOP_PLAIN, "%s", "");
	if (fine && !fold && LABEL + g.whole > out->columns + GAP) {
		top_grid_clear(&g);
		fine = top_grid_make(v, true, out->columns, &g);
	}
	if (!fine)
		out->failed = true;
	else if (g.matrix.slots)
		top_grid_lay(&g, out);
	else
		top_text_add(out, TOP_PLAIN, "no job runs that you may see");
	top_grid_clear(&g);
}

/* --------------------------------------------------------------------- the jobs --- */

static const enum jobs_column shown[] = {
	JOBS_ID,     JOBS_USER,	   JOBS_NAME, JOBS_PARTITION, JOBS_TURNS,
	JOBS_SLOT,   JOBS_QUANTUM, JOBS_GOT,  JOBS_MISSED,    JOBS_HAD,
	JOBS_WAITED, JOBS_NODES,   JOBS_WITH,
};
#define SHOWN (sizeof(shown) / sizeof(*shown))

/* On a narrow screen columns are cut to so many characters, or left out (0), one after
 * the other. */
static const struct {
	enum jobs_column column;
	int width;
} narrower[] = {
	{ JOBS_NAME, 16 },  { JOBS_QUANTUM, 0 }, { JOBS_PARTITION, 0 },
	{ JOBS_USER, 10 },  { JOBS_NODES, 0 },	 { JOBS_NAME, 10 },
	{ JOBS_WAITED, 0 }, { JOBS_HAD, 0 },	 { JOBS_NAME, 0 },
	{ JOBS_USER, 0 },   { JOBS_SLOT, 0 },
};

static int top_jobs_whole(const int (*width)[JOBS_COLUMNS])
{
	int whole = -GAP;

	for (int i = 0; i < JOBS_COLUMNS; i++)
		if ((*width)[i])
			whole += (*width)[i] + GAP;
	return whole;
}

static void top_jobs_fit(int (*width)[JOBS_COLUMNS], unsigned int columns)
{
	for (size_t i = 0; i < sizeof(narrower) / sizeof(*narrower) &&
			   top_jobs_whole(width) > (int) columns;
	     i++)
		if ((*width)[narrower[i].column] > narrower[i].width)
			(*width)[narrower[i].column] = narrower[i].width;
}

static void top_jobs_row(struct top_text *out, enum top_look look,
			 const struct jobs_row *row,
			 const int (*width)[JOBS_COLUMNS])
{
	char text[JOBS_COLUMNS * (JOBS_CELL + 4 + GAP) + 1] = "";
	size_t len = 0;

	for (size_t i = 0; i < SHOWN; i++) {
		int w = (*width)[shown[i]];

		if (w)
			len += (size_t) snprintf(text + len, sizeof(text) - len,
						 "%-*.*s%*s", w, w,
						 row->cell[shown[i]], GAP, "");
	}
	top_text_add(out, look, "%s", text);
}

/* What stands below a job's row in storm jobs, too. */
static void top_jobs_notes(struct top_text *out, const struct jobs_job *job)
{
	char *text = NULL, *rest, *line;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f) {
		out->failed = true;
		return;
	}
	jobs_print_notes(f, job);
	fclose(f);
	for (rest = text; (line = strsep(&rest, "\n")) && *line;)
		top_text_wrap(out, jobs_is_wrong(job) ? TOP_BAD : TOP_PLAIN,
			      "%s", line);
	free(text);
}

void top_lay_jobs(const struct top_view *v, struct top_text *out)
{
	const struct jobs *j = v->jobs;
	int width[JOBS_COLUMNS] = { 0 };
	struct jobs_row row;
	bool any = false;

	top_text_add(out, TOP_PLAIN, "%s", "");
	jobs_row_head(&row);
	for (uint32_t i = 0; i <= j->count; i++) {
		if (i && !jobs_has_part(&j->job[i - 1]))
			continue;
		if (i)
			jobs_row_of(j, &j->job[i - 1], &row);
		any = any || i;
		for (size_t k = 0; k < SHOWN; k++)
			width[shown[k]] =
				(int) storm_max((uint64_t) width[shown[k]],
						strlen(row.cell[shown[k]]));
	}
	if (!any) {
		top_text_add(out, TOP_PLAIN, "no jobs share cores");
		return;
	}
	top_jobs_fit(&width, out->columns);
	jobs_row_head(&row);
	top_jobs_row(out, TOP_HEAD, &row, &width);
	for (uint32_t i = 0; i < j->count; i++) {
		if (!jobs_has_part(&j->job[i]))
			continue;
		jobs_row_of(j, &j->job[i], &row);
		top_jobs_row(out,
			     jobs_is_wrong(&j->job[i]) ? TOP_BAD : TOP_PLAIN,
			     &row, &width);
		top_jobs_notes(out, &j->job[i]);
	}
}
