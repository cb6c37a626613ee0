/*
 * context_step.h - a step's network context in slurmstepd: only the context
 * that slurmctld leased goes into the environment of the step's tasks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CONTEXT_STEP_H
#define STORM_CONTEXT_STEP_H

#include "src/slurmd/slurmstepd/slurmstepd_job.h"

#include "context.h"

/* Check the jobinfo's bytes, before there are tasks, and set *c.  False: they
 * were refused, which was logged. */
bool context_step_verify(const stepd_step_rec_t *job, const void *bytes,
			 size_t len, struct context *c);

/* Log the refusal again in a task's process, whose messages the user sees. */
void context_step_refusal(void);

/* Set the variables, in a task's process.  c NULL: the step has no context;
 * remove the variables of the step that srun ran in. */
void context_step_export(const struct context *c, char ***env);

#endif
