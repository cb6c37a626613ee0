/*
 * launch_failed.h - a step with nodes that have failed (FailedLaunch of
 * storm.conf): it is made again without them, or ends before it has begun.
 *
 * srun's own thread calls all of these, for one component after the other.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_LAUNCH_FAILED_H
#define STORM_LAUNCH_FAILED_H

#include "launch_module.h"

/* A step is about to be created for the first time. */
void launch_failed_begin(const srun_job_t *job);

/* The step was created, or not, as *rc says; s, for a step that was, may be NULL.  True:
 * it is to be created again, and opt_local was changed.  Else *rc is srun's result:
 * SLURM_ERROR if the step does not go on, which was logged.  Then, and if
 * it is created again, slurmctld has forgotten the step, and s is gone. */
bool launch_failed_again(struct storm_session *s, srun_job_t *job,
			 slurm_opt_t *opt_local, int *rc);

#endif
