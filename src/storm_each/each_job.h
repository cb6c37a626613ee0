/*
 * each_job.h - a task from its arguments to its end, and the thread that makes tasks of
 * arguments: their source may be slow, and nothing else waits for it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EACH_JOB_H
#define STORM_EACH_JOB_H

#include "each_options.h"
#include "each_output.h"
#include "each_tasks.h"

struct each_job {
	struct each_job *next; /* in the order of their numbers */
	struct each_task task;
	char *text; /* with a byte 0 where the slot's number belongs */
	size_t len;
	char *dir, *tag, *results; /* or NULL */
	struct each_kept kept[2];
	uint32_t slot;	/* where it was begun last */
	uint64_t began; /* and when: storm_now(), here */
	bool done;
};

void each_job_free(struct each_job *j);

struct each_resume;
struct each_sources;

/* Begin to make tasks; all signals are to be blocked.  What resume (NULL: none) has is left
 * out.  A descriptor that is readable when there may be more; or -1, and it was said why. */
int each_jobs_open(const struct each_options *o, struct each_sources *s,
		   const struct each_resume *resume);
/* The next task; NULL: none is there now. */
struct each_job *each_jobs_next(void);
/* Were those all?  bad: it was said why there are no more. */
bool each_jobs_over(bool *bad);

#endif
