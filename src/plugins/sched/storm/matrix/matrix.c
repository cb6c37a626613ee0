/*
 * matrix.c - the jobs of the Ousterhout matrix and their rows: see matrix.h.  A
 * job that is added gets its row at once, by the chosen packing.
 * matrix_settle.c then packs all jobs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "matrix_private.h"
#include "rows.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/sorted.h"

#define NO_ROW UINT32_MAX

/* -------------------------------------------------------- begin and end --- */

struct matrix *matrix_create(uint32_t columns, enum matrix_packing packing)
{
	struct matrix *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->columns = columns;
	m->packing = packing;
	m->cycle = 1;
	return m;
}

static void matrix_job_clear(struct matrix_job *j)
{
	storm_idset_clear(&j->columns);
	storm_idset_clear(&j->slots);
}

void matrix_destroy(struct matrix *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; i < m->njobs; i++)
		matrix_job_clear(&m->jobs[i]);
	rows_free(m->busy, m->nbusy);
	free(m->jobs);
	free(m);
}

/* ------------------------------------------------------ choice of a row --- */

/* The smallest aligned block of 2^n columns around the set. */
static uint32_t matrix_buddy_block(const struct storm_idset *s)
{
	uint32_t first = s->r[0].first, last = s->r[s->count - 1].last;
	uint32_t log = 0;

	while (log < 31 && first >> log != last >> log)
		log++;
	return log;
}

/* The binary logarithm of the largest free aligned block around the column,
 * from `log` on; -1: not even that one is free. */
static int matrix_buddy_free(const struct matrix *m, const uint64_t *row,
			     uint32_t column, uint32_t log)
{
	int best = -1;

	for (; log < 32; log++) {
		uint64_t first = (uint64_t) (column >> log) << log;
		uint64_t last = first + (1ULL << log) - 1;

		if (last >= m->columns)
			last = m->columns - 1;
		if (!row_range_free(row, (uint32_t) first, (uint32_t) last))
			break;
		best = (int) log;
		if (!first && last == m->columns - 1)
			break;
	}
	return best;
}

static uint32_t matrix_choose_row(const struct matrix *m,
				  const struct storm_idset *s)
{
	uint32_t log = matrix_buddy_block(s), best = NO_ROW, first = NO_ROW;
	int least = INT32_MAX;

	for (uint32_t r = 0; r < m->nbusy; r++) {
		int block;

		if (!row_fits(m->busy[r], s))
			continue;
		if (m->packing == MATRIX_FIRST_FIT)
			return r;
		if (first == NO_ROW)
			first = r;
		block = matrix_buddy_free(m, m->busy[r], s->r[0].first, log);
		if (block >= 0 && block < least) {
			least = block;
			best = r;
		}
	}
	return best != NO_ROW ? best : first;
}

static uint64_t matrix_job_id(const void *job)
{
	return ((const struct matrix_job *) job)->id;
}

/* The index where the job is, or belongs. */
static uint32_t matrix_find(const struct matrix *m, uint64_t id)
{
	return storm_sorted_at(m->jobs, m->njobs, sizeof(*m->jobs), id,
			       matrix_job_id);
}

static struct matrix_job *matrix_lookup(const struct matrix *m, uint64_t id)
{
	uint32_t i = matrix_find(m, id);

	return i < m->njobs && m->jobs[i].id == id ? &m->jobs[i] : NULL;
}

static int matrix_copy_set(struct storm_idset *to,
			   const struct storm_idset *from)
{
	for (uint32_t i = 0; i < from->count; i++)
		if (storm_idset_add(to, from->r[i].first, from->r[i].last))
			return STORM_ENOMEM;
	return STORM_OK;
}

static int matrix_make_room(struct matrix *m)
{
	uint32_t room = m->room ? m->room * 2 : 16;
	void *p;

	if (m->njobs < m->room)
		return STORM_OK;
	p = realloc(m->jobs, room * sizeof(*m->jobs));
	if (!p)
		return STORM_ENOMEM;
	m->jobs = p;
	m->room = room;
	return STORM_OK;
}

int matrix_add(struct matrix *m, uint64_t job,
	       const struct storm_idset *columns)
{
	struct matrix_job j = { .id = job };
	uint32_t at = matrix_find(m, job);

	if (!columns->count ||
	    columns->r[columns->count - 1].last >= m->columns)
		return STORM_EINVAL;
	if (at < m->njobs && m->jobs[at].id == job)
		return STORM_EEXIST;
	j.row = matrix_choose_row(m, columns);
	if (j.row == NO_ROW)
		j.row = m->nbusy;
	if (matrix_make_room(m) ||
	    rows_make(&m->busy, &m->nbusy, j.row + 1, m->columns) ||
	    matrix_copy_set(&j.columns, columns)) {
		matrix_job_clear(&j);
		return STORM_ENOMEM;
	}
	row_flip(m->busy[j.row], columns);
	memmove(m->jobs + at + 1, m->jobs + at,
		(m->njobs - at) * sizeof(*m->jobs));
	m->jobs[at] = j;
	m->njobs++;
	m->changed = true;
	return STORM_OK;
}

int matrix_shrink(struct matrix *m, uint64_t job,
		  const struct storm_idset *columns)
{
	struct storm_idset left = { 0 }, others = { 0 };
	struct matrix_job *j = matrix_lookup(m, job);
	int err = STORM_ENOENT;

	if (!j)
		return err;
	err = storm_idset_minus(columns, &j->columns, &others) ||
			      matrix_copy_set(&left, columns) ?
		      STORM_ENOMEM :
		      STORM_OK;
	if (!err && (others.count || !left.count))
		err = STORM_EINVAL;
	storm_idset_clear(&others);
	if (err) {
		storm_idset_clear(&left);
		return err;
	}
	row_flip(m->busy[j->row], &j->columns);
	row_flip(m->busy[j->row], &left);
	storm_idset_clear(&j->columns);
	j->columns = left;
	m->changed = true;
	return STORM_OK;
}

int matrix_remove(struct matrix *m, uint64_t job)
{
	struct matrix_job *j = matrix_lookup(m, job);

	if (!j)
		return STORM_ENOENT;
	row_flip(m->busy[j->row], &j->columns);
	matrix_job_clear(j);
	m->njobs--;
	memmove(j, j + 1, (size_t) (m->jobs + m->njobs - j) * sizeof(*j));
	m->changed = true;
	return STORM_OK;
}

/* ------------------------------------------------------------- queries --- */

uint32_t matrix_jobs(const struct matrix *m)
{
	return m->njobs;
}

uint32_t matrix_rows(const struct matrix *m)
{
	return m->rows;
}

uint32_t matrix_cycle(const struct matrix *m)
{
	return m->cycle;
}

const struct storm_idset *matrix_slots(const struct matrix *m, uint64_t job)
{
	const struct matrix_job *j = matrix_lookup(m, job);

	return j && j->slots.count ? &j->slots : NULL;
}

uint32_t matrix_round(const struct matrix *m, uint64_t job)
{
	const struct matrix_job *j = matrix_lookup(m, job);

	return j ? j->round : 0;
}
