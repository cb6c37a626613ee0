/*
 * jobs_row.h - a job as the cells of a table's row.  No Slurm header.
 *
 * Names of jobs, users, partitions and nodes are others' words: a cell has them as
 * storm_shown() does.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_JOBS_ROW_H
#define STORM_JOBS_ROW_H

#include <stdio.h>

#include "jobs_model.h"

#define JOBS_CELL 28 /* characters of a cell; after them "..." */

enum jobs_column {
	JOBS_ID,
	JOBS_NAME,
	JOBS_USER,
	JOBS_PARTITION,
	JOBS_NODES,
	JOBS_TURNS,
	JOBS_SLOT,
	JOBS_QUANTUM,
	JOBS_HAD,
	JOBS_WAITED,
	JOBS_GOT,
	JOBS_MISSED,
	JOBS_WITH,
	JOBS_COLUMNS
};

struct jobs_row {
	char cell[JOBS_COLUMNS][JOBS_CELL + 4];
};

void jobs_row_head(struct jobs_row *row);
void jobs_row_of(const struct jobs *j, const struct jobs_job *job,
		 struct jobs_row *row);
/* Any text as a cell. */
void jobs_put(char (*cell)[JOBS_CELL + 4], const char *text);
/* Print the lines that stand below a job's row. */
void jobs_print_notes(FILE *f, const struct jobs_job *job);

#endif
