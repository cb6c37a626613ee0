/*
 * launch_srun.c - srun of Slurm 24.11 and later, which has no launch plugins.
 * Slurm's own srun is compiled unmodified from the tree that configure was
 * given.  Its calls into step_launch.c and its bcast_file() come here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "src/common/slurm_protocol_api.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/srun/step_ctx.h"

#include "src/libstorm/program/prepare.h"
#include "launch_srun.h"
#include "step_launch.h"

static bool serves;
static const struct launch_srun_signals *forwards;

/* srun's calls, by the linker's --wrap. */
int srun_calls_launch(slurm_step_ctx_t *ctx,
		      const slurm_step_launch_params_t *params,
		      const slurm_step_launch_callbacks_t
			      *callbacks) __asm__("__wrap_slurm_step_launch");
int srun_calls_wait_start(slurm_step_ctx_t *ctx) __asm__(
	"__wrap_slurm_step_launch_wait_start");
void srun_calls_wait_finish(slurm_step_ctx_t *ctx) __asm__(
	"__wrap_slurm_step_launch_wait_finish");

void storm_srun_serve(bool storm)
{
	serves = storm;
	if (storm)
		storm_prepare();
}

/* What STORM cannot serve on any of these releases. */
static const char *launch_srun_refuses(const srun_job_t *job)
{
	if (slurm_conf.tls_type && !xstrstr(slurm_conf.tls_type, "none"))
		return "TLSType";
	if (job->step_ctx->step_resp && job->step_ctx->step_resp->stepmgr)
		return "a job with stepmgr";
	return NULL;
}

void launch_srun_created(const srun_job_t *job, const slurm_opt_t *opt_local,
			 uint64_t start)
{
	struct storm_session *s;

	/* Without an allocation no credential is valid. */
	if (!serves || opt_local->srun_opt->no_alloc)
		return;
	s = launch_step_begin(&job->step_ctx->step_req->step_id, start,
			      launch_srun_refuses(job));
	if (!opt_local->srun_opt->bcast_flag)
		launch_step_open(s, job, opt_local);
}

void launch_srun_not_served(const char *option)
{
	char *why;

	if (!serves)
		return;
	why = launch_step_not_served(option);
	xfree(why);
}

void launch_srun_starts(const srun_job_t *job, slurm_step_io_fds_t *cio_fds,
			slurm_step_launch_callbacks_t *callbacks,
			const slurm_opt_t *opt_local,
			const struct launch_srun_signals *signals)
{
	struct storm_session *s =
		storm_session_find(&job->step_ctx->step_req->step_id);

	if (s)
		launch_step_stdio(s, job, cio_fds, opt_local);
	/* Slurm compares it with its own. */
	forwards = signals;
	if (callbacks->step_signal == signals->ours)
		callbacks->step_signal = signals->stock;
}

int srun_calls_launch(slurm_step_ctx_t *ctx,
		      const slurm_step_launch_params_t *params,
		      const slurm_step_launch_callbacks_t *callbacks)
{
	slurm_step_launch_callbacks_t ours = *callbacks;

	if (forwards && ours.step_signal == forwards->stock)
		ours.step_signal = forwards->ours;
	return storm_step_launch(ctx, params, &ours);
}

int srun_calls_wait_start(slurm_step_ctx_t *ctx)
{
	return storm_step_launch_wait_start(ctx);
}

void srun_calls_wait_finish(slurm_step_ctx_t *ctx)
{
	storm_step_launch_wait_finish(ctx);
}

/* srun's --bcast.  In place of Slurm's, and from 26.05 on of libslurmfull's. */
int bcast_file(struct bcast_parameters *params)
{
	struct storm_session *s =
		storm_session_find(&params->selected_step->step_id);

	if (!s || s->fallback)
		return stock_bcast_file(params);
	return launch_step_bcast(s, params);
}
