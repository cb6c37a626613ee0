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
#include "src/gang/rows.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/sorted.h"

/* -------------------------------------------------------- begin and end --- */

struct matrix *matrix_create(uint32_t columns, enum matrix_packing packing,
			     const struct policy *policy)
{
	struct matrix *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->columns = columns;
	m->packing = packing;
	m->policy = policy;
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

/* ----------------------------------------------------------------- jobs --- */

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

/* A row that the policy may not choose counts as none. */
static uint32_t matrix_choose_row(const struct matrix *m,
				  const struct storm_idset *s)
{
	const struct policy_rows rows = { .row = m->busy,
					  .rows = m->nbusy,
					  .columns = m->columns,
					  .packing = m->packing };
	uint32_t row = m->policy->choose_row(&rows, s);

	return row < m->nbusy && row_fits(m->busy[row], s) ? row : m->nbusy;
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
	struct matrix_job j = { .id = job, .weight = 1 };
	uint32_t at = matrix_find(m, job);

	if (!columns->count ||
	    columns->r[columns->count - 1].last >= m->columns)
		return STORM_EINVAL;
	if (at < m->njobs && m->jobs[at].id == job)
		return STORM_EEXIST;
	j.row = matrix_choose_row(m, columns);
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

int matrix_weigh(struct matrix *m, uint64_t job, uint32_t weight)
{
	struct matrix_job *j = matrix_lookup(m, job);

	if (!weight || weight > MATRIX_WEIGHT_MAX)
		return STORM_EINVAL;
	if (!j)
		return STORM_ENOENT;
	m->changed |= j->weight != weight;
	j->weight = weight;
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
