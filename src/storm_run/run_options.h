/*
 * run_options.h - what storm run is asked for, in srun's words.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_OPTIONS_H
#define STORM_RUN_OPTIONS_H

#include "run_say.h"
#include "src/storm_launcher/run_wire.h"

/* Exit statuses.  That of a failure is no task's, so that it can be told apart; exit(3)
 * makes 1 of it. */
enum { RUN_FAILED = 256 + 1, RUN_USAGE = 2 };
enum { RUN_GOES_ON = -1 }; /* there is none yet */

struct run_options {
	struct run_ask ask;
	bool start, stop;
	const char *cwd; /* the tasks'; NULL: as here */
	/* -i, -o and -e, or ""; err is as out if it is not given */
	const char *stream[3];
	bool label, fold, unbuffered, append, pty;
	enum run_mpi mpi;
	const char *journal; /* --journal; NULL: none */
	bool multi; /* the program is a file that names one for each task */
	enum run_bind bind;
	const char *bind_list; /* or "" */
	bool bind_verbose, no_gpus;
	char **argv; /* the program and its arguments; ends with NULL */
};

/* RUN_GOES_ON, or the exit status: it was said why. */
int run_parse(int argc, char **argv, struct run_options *o);

/* The value of --mpi.  False: it was said why. */
bool run_mpi_read(const char *value, enum run_mpi *mpi);

/* Each node of a run has a task: with fewer tasks it has fewer nodes, and it is said. */
void run_fit_nodes(struct run_ask *ask);

#endif
