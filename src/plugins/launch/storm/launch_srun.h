/*
 * launch_srun.h - libexec/slurm-storm/srun: Slurm's own srun with STORM's
 * launch.  The linker's --wrap leads srun's calls to launch_srun.c and to the
 * file of the release, which knows the names and parameters.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_LAUNCH_SRUN_H
#define STORM_LAUNCH_SRUN_H

#include "launch_failed.h"
#include "launch_step.h"

/* Say whether STORM launches; false: Slurm does.  spank_storm calls it, and
 * knows by this name that it runs in this srun. */
__attribute__((visibility("default"))) void storm_srun_serve(bool storm);

/* srun is about to create a step. */
void launch_srun_creates(const srun_job_t *job, const slurm_opt_t *opt_local);
/* srun has created a step, or not, as *rc says.  start: the time just before that
 * (storm_now(), ns).  As launch_failed_again(). */
bool launch_srun_again(srun_job_t *job, slurm_opt_t *opt_local, uint64_t start,
		       int *rc);
/* srun has created a step that STORM cannot launch because of this option. */
void launch_srun_not_served(const char *option);
/* Before srun prints the tasks' states, or forwards a signal to them. */
void launch_srun_before_status(void);
void launch_srun_before_signal(int signal);
/* The functions that forward srun's signals: ours, and Slurm's. */
struct launch_srun_signals {
	void (*ours)(int signal);
	void (*stock)(int signal);
};
/* Before srun launches the step.  signals must stay. */
void launch_srun_starts(const srun_job_t *job, slurm_step_io_fds_t *cio_fds,
			slurm_step_launch_callbacks_t *callbacks,
			const slurm_opt_t *opt_local,
			const struct launch_srun_signals *signals);

#endif
