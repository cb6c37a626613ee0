/*
 * context_step.h - a step's network context in slurmstepd: what slurmctld has given
 * it, and nothing else, goes into the environment of its tasks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CONTEXT_STEP_H
#define STORM_CONTEXT_STEP_H

#include "src/slurmd/slurmstepd/slurmstepd_job.h"

#include "context.h"

/* Before there are tasks. False: it is refused, the log says why. */
bool context_step_verify(const stepd_step_rec_t *job, const void *bytes,
			 size_t len, struct context *c);

/* In a task's process, whose messages the user sees: why it was refused. */
void context_step_refusal(void);

/* In a task's process.  c NULL: the step has none, and what the environment says
 * of the step that srun ran in is removed. */
void context_step_export(const struct context *c, char ***env);

#endif
