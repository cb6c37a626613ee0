/*
 * plan.h - turns successive snapshots of slurmctld's jobs into a matrix for
 * each zone, and the matrices into a map.  A job that stays keeps its row.
 *
 * It uses no thread, no clock and none of slurmctld's tables, so the simulator
 * runs whole clusters of it (testsuite/sim/test_gang_mix.c).  Memory is
 * allocated by Slurm's xmalloc().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PLAN_H
#define STORM_PLAN_H

#include "snapshot.h"
#include "src/plugins/sched/storm/matrix/matrix.h"
#include "src/storm_common/gang_map.h"

/* Initialize it to zeroes. */
struct plan {
	struct snapshot now;	/* the matrices are made from it */
	struct matrix **matrix; /* one for each zone */
};

void plan_clear(struct plan *p);

/*
 * Update the plan to the snapshot *s, which is taken over and left empty.
 * anew: discard all rows, because zones, policies or settings have changed.
 * False: out of memory; the next call must set anew.
 */
bool plan_update(struct plan *p, struct snapshot *s, bool anew,
		 enum matrix_packing packing);

/* Make the map for the nodes: the slots of each job that takes turns, and the
 * jobs that are held.  Its version is 0.  The caller frees it with
 * gang_map_clear().  False: out of memory, and *out is empty. */
bool plan_map(const struct plan *p, struct gang_map *out);

/* The slots of a job of p->now, owned by the plan.  NULL: it is held, or it
 * always runs. */
const struct storm_idset *plan_slots(const struct plan *p,
				     const struct snapshot_job *j);

#endif
