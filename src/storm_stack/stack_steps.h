/*
 * stack_steps.h - the steps of a job, from slurmctld: is there the one that is asked about, and does
 * another storm stack look at the job?
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STACK_STEPS_H
#define STORM_STACK_STEPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The name of each step by which storm stack looks. */
#define STACK_STEP_NAME "storm-stack"

/* False: slurmctld answers, and there is no such step.  step: a number as text, or "batch". */
bool stack_steps_has(uint32_t job, const char *step);

/* One who looks at the same job. */
struct stack_other {
	uint32_t step;
	uint32_t srun;	/* its pid */
	char host[128]; /* where srun runs; "?": slurmctld does not say */
};

/* Find one that looks, or has begun to do so before `own`, an srun on this host; 0: there is none yet.
 * Steps are numbered as they begin, so of two one goes first.  One whose srun was on this host and has
 * ended does not look.  False: there is none, or slurmctld does not answer.  Blocks as long as
 * slurmctld takes. */
bool stack_steps_other(uint32_t job, pid_t own, struct stack_other *out);
/* Say on stderr who looks, and what comes of it. */
void stack_steps_tell(uint32_t job, const struct stack_other *other,
		      const char *what);

#endif
