/*
 * matrix.h - the Ousterhout matrix: which jobs run at the same time, when
 * several share cores (paper section 2.1; Ousterhout, "Scheduling Techniques for
 * Concurrent Systems", ICDCS 1982).  Rows are time slots, columns are cores.  A
 * job holds the columns that Slurm's select plugin gave it, for as long as it
 * lives; all that is to be chosen here is its row.
 *
 * Jobs that share columns, directly or through others, form a *group*.  Groups
 * have nothing to do with each other, so each goes round in as many rows as it
 * needs itself: a job alone on its cores runs all the time, whatever goes on
 * elsewhere.  The *cycle* of slots is long enough for every group to get round
 * a whole number of times, or, beyond MATRIX_CYCLE slots, nearly so.
 *
 * What holds after matrix_settle():
 *  - in each slot, at most one job runs on a column;
 *  - each job runs in each round of its group, hence in each cycle;
 *  - no column is idle in a slot in which some job could run on it, with all of
 *    that job's columns (alternate scheduling);
 *  - a group takes as few rows as possible.  No fewer than the most jobs on one
 *    of its columns, and no more where its jobs hold contiguous columns.
 *
 * And rows <= MPL?  Of some shapes three jobs, two on each column, need three rows,
 * whoever packs them.  But Slurm's select has M rows of its own for a partition with
 * FORCE:M, and starts a job only where it finds room in one of them: so M rows
 * suffice for jobs that it has started there.  (Not for those that were resumed, nor
 * always for heterogeneous jobs, which are one gang here.)  To find such rows is to
 * colour a graph.  That is certain for contiguous columns, for a dozen jobs or so,
 * and where two rows suffice; else it is a search, which may end in vain: then there
 * is a row more, as a job that was started cannot be refused.
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

#include "src/libstorm/storm.h"

#define MATRIX_ROWS_MAX 256
#define MATRIX_CYCLE 60		/* it has many divisors */

/* How a new job's row is chosen among those where its columns are free. */
enum matrix_packing {
	MATRIX_FIRST_FIT,	/* the first one */
	/* The paper's buddy tree (Feitelson's and Rudolph's): of those rows that
	 * have the job's whole buddy block free, the smallest aligned 2^n
	 * columns around it, the one where the least larger block is broken up
	 * for it; where there is none, the first one. */
	MATRIX_BUDDY
};

struct matrix;

/* NULL: no memory. */
struct matrix *matrix_create(uint32_t columns, enum matrix_packing packing);
void matrix_destroy(struct matrix *m);	/* NULL is fine */

/*
 * A job has started, or was resumed: it takes a row.  Its columns are copied.
 * STORM_EINVAL: no columns, or beyond the last; STORM_EEXIST: it is in there;
 * STORM_ENOMEM.
 */
int matrix_add(struct matrix *m, uint64_t job,
	       const struct storm_idset *columns);

/* It has given some of its columns back: these are left.  STORM_ENOENT; STORM_EINVAL:
 * there are none, or others; STORM_ENOMEM: all is as it was. */
int matrix_shrink(struct matrix *m, uint64_t job,
		  const struct storm_idset *columns);

/* It has ended, or was suspended.  STORM_ENOENT. */
int matrix_remove(struct matrix *m, uint64_t job);

/*
 * After changes: unify slots, re-pack, fill idle columns.  Before it, what can be
 * asked below is as it was, but for jobs that are gone and new ones; it stays so
 * where nothing has changed, and with STORM_ENOMEM.
 */
int matrix_settle(struct matrix *m);

uint32_t matrix_jobs(const struct matrix *m);	/* how many */
/* Of all groups the most. */
uint32_t matrix_rows(const struct matrix *m);
/* Slots of the cycle; at least 1. */
uint32_t matrix_cycle(const struct matrix *m);

/* Is anything shared? */
static inline bool matrix_shared(const struct matrix *m)
{
	return matrix_rows(m) > 1;
}

/*
 * The slots of the cycle in which a job runs; they are the matrix's, until the
 * next call that changes it.  NULL: it is not there, was not settled, or more
 * than MATRIX_ROWS_MAX share its cores: then it has no slot of its own, and is to
 * be left running.
 */
const struct storm_idset *matrix_slots(const struct matrix *m, uint64_t job);

/* Rows in a round of the job's group; 0: as above. */
uint32_t matrix_round(const struct matrix *m, uint64_t job);

#endif
