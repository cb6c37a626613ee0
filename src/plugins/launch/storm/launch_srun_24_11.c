/*
 * launch_srun_24_11.c - srun's launch functions in Slurm 24.11 to 25.11.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "src/common/slurm_protocol_api.h"
#include "src/srun/launch.h"
#include "src/srun/step_ctx.h"

#include "launch_failed.h"
#include "launch_module.h"
#include "launch_srun.h"

/* srun's calls and what they would reach, by the linker's --wrap. */
int srun_creates_step(
	srun_job_t *job, bool use_all_cpus, void (*signal_function)(int),
	sig_atomic_t *destroy_job,
	slurm_opt_t *opt_local) __asm__("__wrap_launch_g_create_job_step");
int stock_creates_step(
	srun_job_t *job, bool use_all_cpus, void (*signal_function)(int),
	sig_atomic_t *destroy_job,
	slurm_opt_t *opt_local) __asm__("__real_launch_g_create_job_step");
int srun_launches_step(
	srun_job_t *job, slurm_step_io_fds_t *cio_fds, uint32_t *global_rc,
	slurm_step_launch_callbacks_t *step_callbacks,
	slurm_opt_t *opt_local) __asm__("__wrap_launch_g_step_launch");
int stock_launches_step(
	srun_job_t *job, slurm_step_io_fds_t *cio_fds, uint32_t *global_rc,
	slurm_step_launch_callbacks_t *step_callbacks,
	slurm_opt_t *opt_local) __asm__("__real_launch_g_step_launch");
void srun_prints_status(void) __asm__("__wrap_launch_g_print_status");
void stock_prints_status(void) __asm__("__real_launch_g_print_status");
void srun_forwards_signal(int signal) __asm__("__wrap_launch_g_fwd_signal");
void stock_forwards_signal(int signal) __asm__("__real_launch_g_fwd_signal");

static const struct launch_srun_signals signals = {
	.ours = srun_forwards_signal,
	.stock = stock_forwards_signal,
};

int srun_creates_step(srun_job_t *job, bool use_all_cpus,
		      void (*signal_function)(int), sig_atomic_t *destroy_job,
		      slurm_opt_t *opt_local)
{
	uint64_t start;
	int rc;

	launch_failed_begin(job);
	do {
		start = storm_now();
		launch_srun_creates(job, opt_local);
		rc = stock_creates_step(job, use_all_cpus, signal_function,
					destroy_job, opt_local);
		launch_module_end(); /* srun may fork or exit now */
	} while (launch_srun_again(job, opt_local, start, &rc));
	return rc;
}

int srun_launches_step(srun_job_t *job, slurm_step_io_fds_t *cio_fds,
		       uint32_t *global_rc,
		       slurm_step_launch_callbacks_t *step_callbacks,
		       slurm_opt_t *opt_local)
{
	launch_srun_starts(job, cio_fds, step_callbacks, opt_local, &signals);
	return stock_launches_step(job, cio_fds, global_rc, step_callbacks,
				   opt_local);
}

void srun_prints_status(void)
{
	launch_srun_before_status();
	stock_prints_status();
}

void srun_forwards_signal(int signal)
{
	launch_srun_before_signal(signal);
	stock_forwards_signal(signal);
}
