/*
 * launch_step.h - what srun does for a step that STORM may launch.
 * launch/storm (Slurm 22.05) and libexec/slurm-storm/srun (24.11 and later)
 * call it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_LAUNCH_STEP_H
#define STORM_LAUNCH_STEP_H

#include "src/slurm/srun.h"

#include "bcast.h"
#include "session.h"

/* Warn that STORM does not launch because of `what`.  Returns the reason
 * (xfree). */
char *launch_step_not_served(const char *what);

/* A step was created: make its session.  start: the time just before that
 * (storm_now(), ns).  not_served: the part of it that STORM cannot serve, or
 * NULL.  few: Slurm launches it, as launch_few.h says, but its timeline must be
 * written. */
struct storm_session *launch_step_begin(const srun_job_t *job, uint64_t start,
					const char *not_served, bool few);
/* No file will be sent: begin to open the step's domain while srun prepares the
 * launch.  If that fails, the launch finds and reports it. */
void launch_step_open(struct storm_session *s, const srun_job_t *job,
		      const slurm_opt_t *opt_local);

/* FailedLaunch: wait until the step's nodes have joined its domain.  False: some
 * have failed, and the step may not do without them (s->odd.stop).  Any other
 * failure has been reported, or the launch will find and report it. */
bool launch_step_check(struct storm_session *s, const srun_job_t *job,
		       const slurm_opt_t *opt_local);

/* Send the file of --bcast.  SLURM_SUCCESS; or Slurm's error, after which srun
 * must end. */
int launch_step_bcast(struct storm_session *s, struct bcast_parameters *params);

/* Note, before the launch, which of the tasks' stdio streams need srun.  s may
 * be NULL. */
void launch_step_stdio(struct storm_session *s, const srun_job_t *job,
		       slurm_step_io_fds_t *cio_fds,
		       const slurm_opt_t *opt_local);

/* Before srun prints the tasks' states, or forwards a signal to them. */
void launch_step_before_status(void);
void launch_step_before_signal(int signal);

#endif
