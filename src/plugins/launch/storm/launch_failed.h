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

enum launch_verdict {
	LAUNCH_GOES_ON,
	LAUNCH_AGAIN, /* the step is to be created again; opt_local was
			 changed */
	LAUNCH_ENDS   /* which was logged */
};

/* A step is about to be created for the first time. */
void launch_failed_begin(const srun_job_t *job);

/* The step was created; s may be NULL.  Unless it goes on, slurmctld has forgotten
 * the step, and s is gone. */
enum launch_verdict launch_failed_check(struct storm_session *s,
					srun_job_t *job,
					slurm_opt_t *opt_local);

/* The step was not created.  Log why it would have been created again. */
void launch_failed_not_created(slurm_opt_t *opt_local);

#endif
