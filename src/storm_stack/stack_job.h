/*
 * stack_job.h - the job that is asked about, from slurmctld.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STACK_JOB_H
#define STORM_STACK_JOB_H

#include <stdbool.h>
#include <stdint.h>

struct stack_job {
	uint32_t id;   /* unique, also of an array's task */
	char step[24]; /* "" means all */
	uint32_t nodes;
	char *names; /* of the nodes, as Slurm writes them */
};

/* Read JOB[_TASK][.STEP] and ask slurmctld for it.  False: it cannot be done, which is
 * said on stderr.  The caller frees names. */
bool stack_job_find(const char *text, struct stack_job *out);
/* The nth of the nodes, for at most a message.  The caller frees it; NULL: none. */
char *stack_job_node(const struct stack_job *j, uint32_t nth);

#endif
