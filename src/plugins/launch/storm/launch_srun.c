/*
 * launch_srun.c - srun of Slurm 24.11 and later, which has no launch plugins.
 * Slurm's own srun is compiled unmodified from the tree that configure was
 * given.  Its calls into step_launch.c and its bcast_file() come here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <unistd.h>

#include "src/common/read_config.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/srun/step_ctx.h"

#include "launch_failed.h"
#include "launch_module.h"
#include "launch_srun.h"

static bool serves;
static const struct launch_srun_signals *forwards;

/* srun's calls and what they would reach, by the linker's --wrap. */
int srun_calls_launch(slurm_step_ctx_t *ctx,
		      const slurm_step_launch_params_t *params,
		      const slurm_step_launch_callbacks_t
			      *callbacks) __asm__("__wrap_slurm_step_launch");
int srun_calls_wait_start(slurm_step_ctx_t *ctx) __asm__(
	"__wrap_slurm_step_launch_wait_start");
void srun_calls_wait_finish(slurm_step_ctx_t *ctx) __asm__(
	"__wrap_slurm_step_launch_wait_finish");
void srun_calls_fwd_signal(slurm_step_ctx_t *ctx, int signo) __asm__(
	"__wrap_slurm_step_launch_fwd_signal");
int srun_sets_multi_name(int ntasks, const char *conf) __asm__(
	"__wrap_mpir_set_multi_name");
int stock_sets_multi_name(int ntasks, const char *conf) __asm__(
	"__real_mpir_set_multi_name");
int stock_launch(slurm_step_ctx_t *ctx,
		 const slurm_step_launch_params_t *params,
		 const slurm_step_launch_callbacks_t
			 *callbacks) __asm__("__real_slurm_step_launch");
int stock_wait_start(slurm_step_ctx_t *ctx) __asm__(
	"__real_slurm_step_launch_wait_start");
void stock_wait_finish(slurm_step_ctx_t *ctx) __asm__(
	"__real_slurm_step_launch_wait_finish");
void stock_signals(slurm_step_ctx_t *ctx,
		   int signo) __asm__("__real_slurm_step_launch_fwd_signal");

void storm_srun_serve(bool storm)
{
	serves = storm;
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

void launch_srun_creates(const srun_job_t *job, const slurm_opt_t *opt_local)
{
	if (serves && launch_module_needed(job, opt_local))
		launch_module_load();
}

bool launch_srun_again(srun_job_t *job, slurm_opt_t *opt_local, uint64_t start,
		       int *rc)
{
	struct storm_session *s = NULL;

	/* Without an allocation no credential is valid. */
	if (!*rc && serves && !opt_local->srun_opt->no_alloc)
		s = launch_module_begin(job, opt_local, start,
					launch_srun_refuses(job));
	if (launch_failed_again(s, job, opt_local, rc))
		return true;
	if (!*rc && s && !s->domain && !opt_local->srun_opt->bcast_flag)
		launch_module_get()->open(s, job, opt_local);
	return false;
}

void launch_srun_not_served(const char *option)
{
	char *why;

	if (!serves || !launch_module_get())
		return;
	why = launch_module_get()->not_served(option);
	xfree(why);
}

void launch_srun_starts(const srun_job_t *job, slurm_step_io_fds_t *cio_fds,
			slurm_step_launch_callbacks_t *callbacks,
			const slurm_opt_t *opt_local,
			const struct launch_srun_signals *signals)
{
	const struct launch_module *storm = launch_module_used();
	struct storm_session *s;

	if (storm) {
		s = storm->find(&job->step_ctx->step_req->step_id);
		if (s)
			storm->stdio(s, job, cio_fds, opt_local);
	}
	/* Slurm compares it with its own. */
	forwards = signals;
	if (callbacks->step_signal == signals->ours)
		callbacks->step_signal = signals->stock;
}

void launch_srun_before_status(void)
{
	if (launch_module_used())
		launch_module_used()->before_status();
}

void launch_srun_before_signal(int signal)
{
	if (launch_module_used())
		launch_module_used()->before_signal(signal);
}

int srun_calls_launch(slurm_step_ctx_t *ctx,
		      const slurm_step_launch_params_t *params,
		      const slurm_step_launch_callbacks_t *callbacks)
{
	const struct launch_module *storm = launch_module_used();
	slurm_step_launch_callbacks_t ours = *callbacks;

	if (forwards && ours.step_signal == forwards->stock)
		ours.step_signal = forwards->ours;
	return storm ? storm->launch(ctx, params, &ours) :
		       stock_launch(ctx, params, &ours);
}

int srun_calls_wait_start(slurm_step_ctx_t *ctx)
{
	const struct launch_module *storm = launch_module_used();

	return storm ? storm->wait_start(ctx) : stock_wait_start(ctx);
}

void srun_calls_wait_finish(slurm_step_ctx_t *ctx)
{
	const struct launch_module *storm = launch_module_used();

	if (storm)
		storm->wait_finish(ctx);
	else
		stock_wait_finish(ctx);
}

void srun_calls_fwd_signal(slurm_step_ctx_t *ctx, int signo)
{
	const struct launch_module *storm = launch_module_used();

	if (storm)
		storm->fwd_signal(ctx, signo);
	else
		stock_signals(ctx, signo);
}

/* It names the programs for a debugger.  A file that --bcast has sent may be on the
 * nodes only. */
int srun_sets_multi_name(int ntasks, const char *conf)
{
	return access(conf, R_OK) ? 0 : stock_sets_multi_name(ntasks, conf);
}

/* srun's --bcast.  In place of Slurm's, and from 26.05 on of libslurmfull's. */
int bcast_file(struct bcast_parameters *params)
{
	const struct launch_module *storm = launch_module_get();
	struct storm_session *s;

	if (!storm) {
		error("storm: cannot send %s: install STORM again, or use --launch=slurm",
		      params->src_fname);
		return SLURM_ERROR;
	}
	s = storm->find(&params->selected_step->step_id);
	return s && !s->fallback ? storm->bcast(s, params) :
				   storm->stock_bcast(params);
}
