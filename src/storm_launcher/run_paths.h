/*
 * run_paths.h - where a task's standard descriptors lead: what srun's -i, -o and -e take.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_PATHS_H
#define STORM_RUN_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum run_stream {
	RUN_CLIENTS, /* "", "all", "-": the client's own */
	RUN_NOTHING, /* "none" */
	RUN_ONE_TASK, /* "3": the client's own for this task, for others nothing */
	RUN_ONE_FILE,  /* one file for all */
	RUN_MANY_FILES /* a file for each task or node */
};
/* *task: that of RUN_ONE_TASK. */
enum run_stream run_stream_of(const char *text, uint32_t *task);

/* What a name can have. */
struct run_path_of {
	const char *job, *step; /* %j; %s; %J has both */
	uint64_t run;		/* behind %s: all runs share the step */
	const char *array_job, *array_task; /* %A, %a */
	const char *job_name, *user;	    /* %x, %u */
	const char *node;		    /* %N */
	uint32_t nth, task;		    /* %n, %t */
};
/* Does a name have one of these letters behind a %? */
bool run_path_has(const char *text, const char *letters);
/* The file of a name; relative ones stay so.  False: it is too long. */
bool run_path(char *out, size_t size, const char *text,
	      const struct run_path_of *of);

#endif
