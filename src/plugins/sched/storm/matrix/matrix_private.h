/*
 * matrix_private.h - the structures that the matrix's two files share:
 *   matrix.c         keeps jobs, their columns and their rows
 *   matrix_settle.c  matrix_settle() alone
 * Neither calls the other.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_MATRIX_PRIVATE_H
#define STORM_MATRIX_PRIVATE_H

#include "matrix.h"

struct matrix_job {
	uint64_t id;
	struct storm_idset columns;
	struct storm_idset slots; /* of the cycle, when it was settled */
	uint32_t row;		  /* its row in its group */
	uint32_t round; /* slots in its group's round; 0: not settled */
	uint32_t weight;
};

struct matrix {
	uint32_t columns;
	enum matrix_packing packing;
	const struct policy *policy;
	struct matrix_job *jobs; /* ascending by id */
	uint32_t njobs, room;
	uint64_t **busy; /* the rows that jobs have (rows.h) */
	uint32_t nbusy;
	uint32_t rows, cycle;
	bool changed; /* since it was settled */
};

#endif
