/*
 * stock_launch.h - Slurm's own launch plugin under the names that
 * slurm_launch_slurm.c gives it, and what it calls in place of Slurm's
 * step_launch.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STOCK_LAUNCH_H
#define STORM_STOCK_LAUNCH_H

#include <signal.h>

#include "src/api/step_launch.h"
#include "src/common/slurm_opt.h"
#include "src/srun/libsrun/launch.h"

int stock_init(void);
int stock_fini(void);
int stock_setup_srun_opt(char **rest, slurm_opt_t *opt_local);
int stock_handle_multi_prog_verify(int command_pos, slurm_opt_t *opt_local);
int stock_create_job_step(srun_job_t *job, bool use_all_cpus,
			  void (*signal_function)(int),
			  sig_atomic_t *destroy_job, slurm_opt_t *opt_local);
int stock_step_launch(srun_job_t *job, slurm_step_io_fds_t *cio_fds,
		      uint32_t *global_rc,
		      slurm_step_launch_callbacks_t *step_callbacks,
		      slurm_opt_t *opt_local);
int stock_step_wait(srun_job_t *job, bool got_alloc, slurm_opt_t *opt_local);
int stock_step_terminate(void);
void stock_print_status(void);
void stock_fwd_signal(int signal);

/* Slurm's functions of step_launch.c; STORM's, if it launches a step of this
 * srun. */
int stock_calls_launch(slurm_step_ctx_t *ctx,
		       const slurm_step_launch_params_t *params,
		       const slurm_step_launch_callbacks_t *callbacks);
int stock_calls_launch_add(slurm_step_ctx_t *ctx, slurm_step_ctx_t *first,
			   const slurm_step_launch_params_t *params,
			   char *node_list);
int stock_calls_wait_start(slurm_step_ctx_t *ctx);
void stock_calls_wait_finish(slurm_step_ctx_t *ctx);
void stock_calls_abort(slurm_step_ctx_t *ctx);
void stock_calls_fwd_signal(slurm_step_ctx_t *ctx, int signo);

#endif
