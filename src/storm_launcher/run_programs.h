/*
 * run_programs.h - the programs of a run that has several, and which of its ranks
 * execute which.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_PROGRAMS_H
#define STORM_RUN_PROGRAMS_H

#include "src/libstorm/wire/wire.h"

struct run_program {
	/* in any order; 0: all ranks that no program before it has */
	struct storm_range *ranks;
	uint32_t count;
	/* Ends with NULL.  %t is the rank that executes it, %o its place among ranks, and
	 * %% a percent sign. */
	char **argv;
	uint32_t line; /* of the file that it comes from; not sent */
};

/* No program: all ranks execute the same one, which is elsewhere. */
struct run_programs {
	struct run_program *list;
	uint32_t count;
	char *text; /* of strings that are not of a message; or NULL */
};

size_t run_programs_len(const struct run_programs *p);
void run_programs_put(struct storm_out *o, const struct run_programs *p);
/* False: it is malformed, or there is no memory; nothing needs to be freed.  Strings are
 * the buffer's, all else is freed by run_programs_free(). */
bool run_programs_get(struct storm_in *i, struct run_programs *p);
void run_programs_free(struct run_programs *p);

/* The program of a rank, and the rank's place there; NULL: it has none. */
const struct run_program *run_programs_find(const struct run_programs *p,
					    uint32_t rank, uint32_t *place);
/* Its arguments; the caller frees the whole by free().  NULL: the rank has no program, or
 * there is no memory. */
char **run_programs_argv(const struct run_programs *p, uint32_t rank);
/* One more than the highest rank that is named; 0: none is. */
uint32_t run_programs_tasks(const struct run_programs *p);
/* Has each of so many ranks a program?  If not, *missing is the first one without. */
bool run_programs_cover(const struct run_programs *p, uint32_t tasks,
			uint32_t *missing);
/* These ranks, as a set for each program, which the caller clears before it frees the
 * whole.  NULL: there is no program, or no memory. */
struct storm_idset *run_programs_split(const struct run_programs *p,
				       const struct storm_idset *ranks);

#endif
