/*
 * plan.h - from one look at slurmctld's jobs to the next: a matrix for each zone,
 * in which who stays keeps his row, and the map that comes of them.
 *
 * No thread, no clock, none of slurmctld's tables: the simulator has whole
 * clusters of it (testsuite/sim/test_gang_mix.c).  Memory is Slurm's.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PLAN_H
#define STORM_PLAN_H

#include "src/plugins/sched/storm/matrix/matrix.h"
#include "snapshot.h"
#include "src/storm_common/gang_map.h"

/* All zeroes: the one before the first look. */
struct plan {
	struct snapshot now;		/* what the matrices are of */
	struct matrix **matrix;		/* one for each zone */
};

void plan_clear(struct plan *p);

/*
 * *s is taken over and left empty.  With `anew` all rows are given again: the
 * zones are others.  False: no memory; a plan that is to be made anew.
 */
bool plan_update(struct plan *p, struct snapshot *s, bool anew,
		 enum matrix_packing packing);

/* Whose turn it is when, as nodes are to know it; jobs that always run are left
 * out, and the version is 0.  False: no memory, *out is empty. */
bool plan_map(const struct plan *p, struct gang_map *out);

/* The slots of a job that takes turns; NULL: it always runs. */
const struct storm_idset *plan_slots(const struct plan *p,
				     const struct snapshot_job *j);

#endif
