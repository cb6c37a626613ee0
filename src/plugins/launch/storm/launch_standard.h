/*
 * launch_standard.h - Slurm's own launch plugin, loaded in place of this one
 * when STORM was built for another Slurm (slurm_build.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_LAUNCH_STANDARD_H
#define STORM_LAUNCH_STANDARD_H

#include <signal.h>

#include "src/common/slurm_opt.h"
#include "src/srun/libsrun/launch.h"

/* The plugin's operations.  The caller passes arguments on, and reads none of
 * them. */
struct launch_standard {
	int (*setup_srun_opt)(char **rest, slurm_opt_t *opt_local);
	int (*multi_prog_verify)(int command_pos, slurm_opt_t *opt_local);
	int (*create_job_step)(srun_job_t *job, bool use_all_cpus,
			       void (*signal_function)(int),
			       sig_atomic_t *destroy_job,
			       slurm_opt_t *opt_local);
	int (*step_launch)(srun_job_t *job, slurm_step_io_fds_t *cio_fds,
			   uint32_t *global_rc,
			   slurm_step_launch_callbacks_t *step_callbacks,
			   slurm_opt_t *opt_local);
	int (*step_wait)(srun_job_t *job, bool got_alloc,
			 slurm_opt_t *opt_local);
	int (*step_terminate)(void);
	void (*print_status)(void);
	void (*fwd_signal)(int signal);
};

/* Load the plugin.  NULL: there is none, which was logged. */
const struct launch_standard *launch_standard_load(void);

/* Change srun's launch type to "launch/slurm".  Only for that name srun makes
 * the table of processes that the plugin needs. */
void launch_standard_rename(void);

#endif
