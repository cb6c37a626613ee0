/*
 * matrix.h - the Ousterhout matrix: which jobs run at the same time, when
 * several share cores (paper section 2.1; Ousterhout, "Scheduling Techniques
 * for Concurrent Systems", ICDCS 1982).  Rows are time slots, columns are
 * cores.  A job holds the columns that Slurm's select plugin gave it until it
 * ends.  Only its row is chosen here.
 *
 * Jobs that share columns, directly or through others, form a *group*.  Groups
 * are independent: each goes round in as many rows as it needs itself.  So a
 * job alone on its cores runs all the time.  The *cycle* of slots is long
 * enough for every group to go round a whole number of times, or, beyond
 * MATRIX_CYCLE slots, nearly so.
 *
 * A job has a *weight*.  In a group's round each row has as many slots as its
 * heaviest job has weight, spread over the round.  So of two jobs that share a
 * column, one of weight 3 has three turns for each turn of one of weight 1.
 *
 * What holds after matrix_settle():
 *  - in each slot, at most one job runs on a column;
 *  - each job runs in each round of its group as often as its weight says,
 *    hence in each cycle;
 *  - no column is idle in a slot in which some job could run on it, with all of
 *    that job's columns (alternate scheduling);
 *  - a group takes as few rows as possible.  No fewer than the most jobs on one
 *    of its columns, and no more where its jobs hold contiguous columns.
 *
 * The number of rows can exceed the most jobs on a column (MPL): three jobs,
 * two on each column, may need three rows.  But Slurm's select has M rows of
 * its own for a partition with FORCE:M, and starts a job only if one of them
 * has room.  So M rows suffice for jobs that it has started there.  They may
 * not suffice for resumed jobs and for heterogeneous jobs, which are one gang
 * here.
 *
 * To find such rows is to colour a graph.  It succeeds for contiguous columns,
 * for about a dozen jobs, and if two rows suffice.  Otherwise it is a search,
 * which may fail.  Then there is one row more, as a job that was started cannot
 * be refused.
 *
 * Pure: no Slurm type, no clock, no thread.  Not thread-safe.  The same calls
 * in the same order give the same matrix.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_MATRIX_H
#define STORM_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

#include "src/gang/policy.h"
#include "src/libstorm/storm.h"

#define MATRIX_ROWS_MAX 256
#define MATRIX_CYCLE 60 /* it has many divisors */
#define MATRIX_WEIGHT_MAX 16

struct matrix;

/* Make a matrix of so many columns.  The policy stays the caller's, and must
 * outlive the matrix.  NULL: out of memory. */
struct matrix *matrix_create(uint32_t columns, enum matrix_packing packing,
			     const struct policy *policy);
void matrix_destroy(struct matrix *m); /* NULL is fine */

/*
 * A job has started, or was resumed: give it a row.  *columns is copied.
 * STORM_OK, STORM_EINVAL (no columns, or beyond the last), STORM_EEXIST or
 * STORM_ENOMEM.
 */
int matrix_add(struct matrix *m, uint64_t job,
	       const struct storm_idset *columns);

/* A job has released columns, and keeps these.  STORM_OK, STORM_ENOENT,
 * STORM_EINVAL (none are left, or it did not have them) or STORM_ENOMEM.  After
 * an error nothing has changed. */
int matrix_shrink(struct matrix *m, uint64_t job,
		  const struct storm_idset *columns);

/* Give a job this weight, 1 to MATRIX_WEIGHT_MAX; a new one has 1.  STORM_OK,
 * STORM_ENOENT or STORM_EINVAL. */
int matrix_weigh(struct matrix *m, uint64_t job, uint32_t weight);

/* A job has ended, or was suspended.  STORM_OK or STORM_ENOENT. */
int matrix_remove(struct matrix *m, uint64_t job);

/*
 * Settle the changes: pack the jobs into rows, compute the cycle's slots and
 * fill idle columns.  Until this is called, and after STORM_ENOMEM, the
 * functions below return the state before the changes, except for removed and
 * new jobs.  Does nothing if nothing has changed.  STORM_OK or STORM_ENOMEM.
 */
int matrix_settle(struct matrix *m);

uint32_t matrix_jobs(const struct matrix *m); /* how many there are */
/* The rows of the group that has most. */
uint32_t matrix_rows(const struct matrix *m);
/* The number of slots of the cycle; at least 1. */
uint32_t matrix_cycle(const struct matrix *m);

/* Do any jobs share columns? */
static inline bool matrix_shared(const struct matrix *m)
{
	return matrix_rows(m) > 1;
}

/*
 * The slots of the cycle in which a job runs.  They are the matrix's, and valid
 * until the next call that changes it.  NULL: the job is unknown or not
 * settled, or more than MATRIX_ROWS_MAX jobs share its cores.  In this case it
 * must run all the time.
 */
const struct storm_idset *matrix_slots(const struct matrix *m, uint64_t job);

/* The number of slots in a round of the job's group; 0: as NULL above. */
uint32_t matrix_round(const struct matrix *m, uint64_t job);

#endif
