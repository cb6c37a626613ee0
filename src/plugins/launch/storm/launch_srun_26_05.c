/*
 * launch_srun_26_05.c - srun's launch functions in Slurm 26.05.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "src/common/slurm_protocol_api.h"
#include "src/srun/launch.h"
#include "src/srun/signals.h"
#include "src/srun/step_ctx.h"

#include "launch_failed.h"
#include "launch_module.h"
#include "launch_srun.h"

/* srun's calls and what they would reach, by the linker's --wrap. */
int srun_creates_step(
	srun_job_t *job, bool use_all_cpus,
	slurm_opt_t *opt_local) __asm__("__wrap_launch_create_job_step");
int stock_creates_step(
	srun_job_t *job, bool use_all_cpus,
	slurm_opt_t *opt_local) __asm__("__real_launch_create_job_step");
int srun_launches_step(
	srun_job_t *job, slurm_step_io_fds_t *cio_fds, uint32_t *global_rc,
	slurm_step_launch_callbacks_t *step_callbacks,
	slurm_opt_t *opt_local) __asm__("__wrap_launch_step_launch");
int stock_launches_step(
	srun_job_t *job, slurm_step_io_fds_t *cio_fds, uint32_t *global_rc,
	slurm_step_launch_callbacks_t *step_callbacks,
	slurm_opt_t *opt_local) __asm__("__real_launch_step_launch");
void srun_prints_status(void) __asm__("__wrap_launch_print_status");
void stock_prints_status(void) __asm__("__real_launch_print_status");
void srun_forwards_signal(int signal) __asm__("__wrap_launch_fwd_signal");
void stock_forwards_signal(int signal) __asm__("__real_launch_fwd_signal");

static const struct launch_srun_signals signals = {
	.ours = srun_forwards_signal,
	.stock = stock_forwards_signal,
};

/*
 * Slurm's srun launches in the version of its job.  Within an allocation that is
 * its own version, though older nodes read no newer one than their own.  The
 * step's is that of its oldest node, and slurmctld has signed in it.
 */
static void launch_srun_take_version(srun_job_t *job)
{
	job_step_create_request_msg_t *req = job->step_ctx->step_req;
	const slurm_step_layout_t *layout =
		job->step_ctx->step_resp->step_layout;

	if (layout && layout->start_protocol_ver)
		req->use_protocol_ver = layout->start_protocol_ver;
}

int srun_creates_step(srun_job_t *job, bool use_all_cpus,
		      slurm_opt_t *opt_local)
{
	uint64_t start;
	int rc;

	launch_failed_begin(job);
	do {
		start = storm_now();
		launch_srun_creates(job, opt_local);
		rc = stock_creates_step(job, use_all_cpus, opt_local);
		launch_module_end(); /* srun may fork or exit now */
		/* The job's stepmgr launches it, and srun ends. */
		if (!rc && opt_local->srun_opt->async) {
			launch_srun_not_served("--async");
			return rc;
		}
		if (!rc)
			launch_srun_take_version(job);
	} while (launch_srun_again(job, opt_local, start, &rc));
	return rc;
}

/* From now on srun forwards signals.  One that came before, after the step was
 * created, it has noted and does not look at again. */
static void launch_srun_take_signal(void)
{
	int noted;

	slurm_mutex_lock(&srun_destroy_sig_lock);
	noted = srun_destroy_sig;
	slurm_mutex_unlock(&srun_destroy_sig_lock);
	if (noted)
		launch_srun_before_signal(SIGKILL);
}

int srun_launches_step(srun_job_t *job, slurm_step_io_fds_t *cio_fds,
		       uint32_t *global_rc,
		       slurm_step_launch_callbacks_t *step_callbacks,
		       slurm_opt_t *opt_local)
{
	launch_srun_take_signal();
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
