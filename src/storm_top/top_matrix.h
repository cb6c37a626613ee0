/*
 * top_matrix.h - the matrix of gang scheduling: which job runs on which nodes in which
 * slot.  Nodes that are the same are one column.  Without Slurm and I/O.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_TOP_MATRIX_H
#define STORM_TOP_MATRIX_H

#include "src/storm_jobs/jobs_model.h"
#include "src/storm_status/status_nodes.h"

#define TOP_ALWAYS UINT32_MAX /* the row of jobs that take no turns */

/* A job has a part of a node.  It stands in its first slot alone: slurmctld does not say
 * which others it has. */
struct top_part {
	uint32_t node; /* index into the nodes */
	uint32_t slot, job;
};

struct top_column {
	const uint32_t *node; /* count indexes of nodes, ascending */
	uint32_t count;
	const struct top_part
		*part; /* parts of its first node, by slot and job */
	uint32_t parts;
	bool silent; /* their agents do not answer */
};

struct top_matrix {
	struct top_column *column;
	uint32_t columns;
	uint32_t *slot; /* slots of them that occur, ascending */
	uint32_t slots;
	struct top_part *part;
	uint32_t parts;
	uint32_t *order; /* of the nodes */
};

/* fold: equal nodes become one column, else each is one.  top_matrix_clear() it in any
 * case.  False: no memory. */
bool top_matrix_make(const struct jobs *j, const struct status_nodes *n,
		     bool fold, struct top_matrix *out);
void top_matrix_clear(struct top_matrix *m);

/* The text of a cell (free): the jobs' ids, those that stand in brackets; "." is none.
 * NULL: no memory. */
char *top_matrix_cell(const struct jobs *j, const struct top_column *c,
		      uint32_t slot);
/* The names of a column's nodes, folded (free).  NULL: no memory. */
char *top_matrix_names(const struct status_nodes *n,
		       const struct top_column *c);

#endif
