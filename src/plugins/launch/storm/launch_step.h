/*
 * launch_step.h - what srun does for a step that STORM may launch.  launch/storm
 * (Slurm 22.05) and libexec/slurm-storm/srun (24.11 and later) call it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_LAUNCH_STEP_H
#define STORM_LAUNCH_STEP_H

#include "src/slurm/srun.h"

#include "bcast.h"
#include "session.h"

/* Warn that STORM does not launch because of this.  Returns why (xfree). */
char *launch_step_not_served(const char *what);

/* A step was created; start: ns, storm_now(), before that.  not_served: what
 * of it STORM cannot serve, or NULL.  few: Slurm launches it, as launch_few.h
 * says, and its timeline is to be written. */
struct storm_session *launch_step_begin(const srun_job_t *job, uint64_t start,
					const char *not_served, bool few);
/* No file will be sent: begin to open the step's domain, while srun prepares
 * the launch.  A failure is found again, and told, at the launch. */
void launch_step_open(struct storm_session *s, const srun_job_t *job,
		      const slurm_opt_t *opt_local);

/* What srun does for --bcast.  SLURM_SUCCESS, or Slurm's error: then srun must
 * end. */
int launch_step_bcast(struct storm_session *s, struct bcast_parameters *params);

/* Before the launch: what of the tasks' stdio needs srun.  s may be NULL. */
void launch_step_stdio(struct storm_session *s, const srun_job_t *job,
		       slurm_step_io_fds_t *cio_fds,
		       const slurm_opt_t *opt_local);

/* Before srun prints the tasks' states, or forwards a signal to them. */
void launch_step_before_status(void);
void launch_step_before_signal(int signal);

#endif
