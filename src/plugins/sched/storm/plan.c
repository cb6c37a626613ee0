/*
 * plan.c - from snapshots to matrices and maps: see plan.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "slurm/slurm.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "plan.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

/* -------------------------------------------------------- into matrices --- */

void plan_clear(struct plan *p)
{
	for (uint32_t i = 0; i < p->now.nzones; i++)
		matrix_destroy(p->matrix[i]);
	xfree(p->matrix);
	snapshot_clear(&p->now);
}

static bool plan_make_matrices(struct plan *p, const struct snapshot *s,
			       enum matrix_packing packing)
{
	bool good = true;

	p->matrix = xcalloc(s->nzones + 1, sizeof(*p->matrix));
	for (uint32_t i = 0; i < s->nzones; i++) {
		p->matrix[i] = matrix_create(s->zones[i].columns, packing,
					     policy_of(s->zones[i].policy));
		good &= p->matrix[i] != NULL;
	}
	return good;
}

/* A gang in a zone: a job, or all components of a heterogeneous job. */
struct gang_columns {
	uint64_t gang;
	uint32_t weight; /* the most of its components' */
	struct storm_idset columns;
};

static int plan_by_gang(const void *a, const void *b)
{
	const struct gang_columns *x = a, *y = b;

	return x->gang < y->gang ? -1 : x->gang > y->gang;
}

/* The gangs of one zone that have turns, ascending; free them with
 * plan_gangs_free(). */
static struct gang_columns *plan_gangs(const struct snapshot *s, uint32_t zone,
				       uint32_t *count)
{
	struct gang_columns *all = xcalloc(s->njobs + 1, sizeof(*all));
	uint32_t n = 0, kept = 0;

	for (uint32_t i = 0; i < s->njobs; i++) {
		if (s->jobs[i].zone != zone || s->jobs[i].held)
			continue;
		all[n].gang = s->jobs[i].gang;
		all[n].weight = s->jobs[i].weight;
		storm_idset_union(&all[n++].columns, &s->jobs[i].columns);
	}
	qsort(all, n, sizeof(*all), plan_by_gang);
	for (uint32_t i = 0; i < n; i++) {
		if (kept && all[kept - 1].gang == all[i].gang) {
			storm_idset_union(&all[kept - 1].columns,
					  &all[i].columns);
			all[kept - 1].weight =
				storm_max(all[kept - 1].weight, all[i].weight);
			storm_idset_clear(&all[i].columns);
		} else if (kept != i) {
			all[kept++] = all[i];
			memset(&all[i], 0, sizeof(all[i]));
		} else {
			kept++;
		}
	}
	*count = kept;
	return all;
}

static void plan_gangs_free(struct gang_columns *all, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		storm_idset_clear(&all[i].columns);
	xfree(all);
}

/* Apply what has changed in one zone.  A job that stays keeps its row. */
static bool plan_update_zone(struct matrix *m, uint32_t zone,
			     const struct snapshot *was,
			     const struct snapshot *now)
{
	uint32_t nold, nnew, i = 0, k = 0;
	struct gang_columns *old = plan_gangs(was, zone, &nold);
	struct gang_columns *new = plan_gangs(now, zone, &nnew);
	int err = 0;

	/* ends come first: their rows are then free for jobs that start */
	for (i = 0; i < nold; i++) {
		while (k < nnew && new[k].gang < old[i].gang)
			k++;
		if (k < nnew && new[k].gang == old[i].gang &&
		    (snapshot_same_set(&new[k].columns, &old[i].columns) ||
		     !matrix_shrink(m, new[k].gang, &new[k].columns)))
			continue;
		matrix_remove(m, old[i].gang);
	}
	for (i = 0; i < nnew; i++) {
		int rc = matrix_add(m, new[i].gang, &new[i].columns);

		if (rc != STORM_EEXIST)
			err |= rc;
		matrix_weigh(m, new[i].gang, new[i].weight);
	}
	err |= matrix_settle(m);
	plan_gangs_free(old, nold);
	plan_gangs_free(new, nnew);
	return !err;
}

bool plan_update(struct plan *p, struct snapshot *s, bool anew,
		 enum matrix_packing packing)
{
	bool good = true;

	if (anew) {
		plan_clear(p);
		good = plan_make_matrices(p, s, packing);
	}
	for (uint32_t i = 0; i < s->nzones && good; i++)
		good = plan_update_zone(p->matrix[i], i, &p->now, s);
	if (!anew)
		snapshot_clear(&p->now);
	p->now = *s;
	memset(s, 0, sizeof(*s));
	return good;
}

/* ------------------------------------------------------------ into maps --- */

/* The rows of a zone in which nothing is shared, but a job is held: so it has
 * strobes. */
#define HELD_ROWS 2

static bool plan_map_zone(const struct plan *p, uint32_t i, struct gang_zone *z)
{
	const struct snapshot_zone *s = &p->now.zones[i];

	z->quantum = s->quantum;
	z->policy = s->policy;
	z->rows = matrix_shared(p->matrix[i]) ? matrix_cycle(p->matrix[i]) : 1;
	return !storm_idset_union(&z->nodes, &s->nodes);
}

const struct storm_idset *plan_slots(const struct plan *p,
				     const struct snapshot_job *j)
{
	const struct matrix *m = p->matrix[j->zone];

	if (j->held)
		return NULL;
	return matrix_round(m, j->gang) > 1 ? matrix_slots(m, j->gang) : NULL;
}

static bool plan_map_job(const struct plan *p, const struct snapshot_job *s,
			 struct gang_map *m)
{
	const struct storm_idset *slots = plan_slots(p, s);
	struct gang_job *j = &m->jobs[m->njobs];

	if (!slots && !s->held)
		return true;
	j->job_id = s->job_id;
	j->zone = s->zone;
	m->njobs++;
	if (s->held && m->zones[s->zone].rows < HELD_ROWS)
		m->zones[s->zone].rows = HELD_ROWS;
	return (s->held || !storm_idset_union(&j->rows, slots)) &&
	       !storm_idset_union(&j->nodes, &s->nodes);
}

bool plan_map(const struct plan *p, struct gang_map *m)
{
	bool good;

	memset(m, 0, sizeof(*m));
	m->nodes = p->now.nnodes;
	m->zones = calloc(p->now.nzones + 1, sizeof(*m->zones));
	m->jobs = calloc(p->now.njobs + 1, sizeof(*m->jobs));
	good = m->zones && m->jobs;
	for (uint32_t i = 0; i < p->now.nzones && good; i++) {
		m->nzones++;
		good = plan_map_zone(p, i, &m->zones[i]);
	}
	for (uint32_t i = 0; i < p->now.njobs && good; i++)
		good = plan_map_job(p, &p->now.jobs[i], m);
	if (!good)
		gang_map_clear(m);
	return good;
}
