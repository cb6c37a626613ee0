/*
 * launch_failed.h - a step with nodes that have failed ends before it has begun
 * (FailedLaunch of storm.conf).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_LAUNCH_FAILED_H
#define STORM_LAUNCH_FAILED_H

#include "launch_module.h"

/* The step was created.  True: it is to be launched.  False: nodes have failed and
 * it may not do without them, which was logged; slurmctld has forgotten it, and s
 * is gone.  s NULL: true. */
bool launch_failed_check(struct storm_session *s, const srun_job_t *job,
			 const slurm_opt_t *opt_local);

#endif
