/*
 * jobs_model.h - jobs, the cores that they have, and who shares them.  No Slurm header,
 * and no I/O.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_JOBS_MODEL_H
#define STORM_JOBS_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libstorm/storm.h"
#include "src/storm_common/held_word.h"
#include "src/storm_common/turns_word.h"

/* Cores of one node, counted from the node's first one; both ends are in it. */
struct jobs_cores {
	uint32_t job; /* index into the jobs */
	uint32_t node, first, last;
};

struct jobs_job {
	uint32_t number; /* also of an array's task, or of a component */
	/* Slurm's words, users' in part (free). */
	char *id, *name, *user, *partition, *nodes;
	bool suspended;
	bool takes_turns, held;
	struct turns_word turns; /* if takes_turns */
	struct held_word hold;	 /* if held */
	struct storm_idset with; /* indexes of jobs that share a core with it */
};

/* All zeroes: none. */
struct jobs {
	struct jobs_job *job; /* count of them (free) */
	uint32_t count;
	struct jobs_cores *cores; /* ncores of them (free); sorted by share() */
	uint32_t ncores, room;
	char **node; /* names of nnodes nodes (free, and each) */
	uint32_t nnodes;
};

/* Add an empty job, or cores of one.  NULL, false: no memory. */
struct jobs_job *jobs_add(struct jobs *j);
bool jobs_add_cores(struct jobs *j, const struct jobs_cores *c);
/* Take over the name of one more node (free), whose number is nnodes - 1 then.  False: no
 * memory. */
bool jobs_add_node(struct jobs *j, char *name);
/* Set with of all jobs.  O(n log n) in the cores, and in those that overlap.  False: no
 * memory. */
bool jobs_share(struct jobs *j);
void jobs_clear(struct jobs *j);

/* Which part of the time since it shares the job has run, and which part its turns are;
 * both from 0 to 1.  False: it takes no turns, or has only just begun. */
bool jobs_got(const struct jobs_job *job, double *got, double *due);
/* Is it one to be looked at: out on some nodes, or held and not proven to stand? */
bool jobs_is_wrong(const struct jobs_job *job);
/* Is it the job that a user names so: by its number, or by its id or the first part of
 * that, as "80" names the task 80_3? */
bool jobs_is_named(const struct jobs_job *job, const char *name);
/* Has it part in time sharing: is there another one on its cores, or is it held? */
bool jobs_has_part(const struct jobs_job *job);

#endif
