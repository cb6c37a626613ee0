/*
 * stock_launch.c - what Slurm's own launch plugin calls for a step: STORM's
 * launch_module.so if it launches one of this srun, else Slurm's library.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "src/common/slurm_protocol_api.h"

#include "launch_module.h"
#include "stock_launch.h"

int stock_calls_launch(slurm_step_ctx_t *ctx,
		       const slurm_step_launch_params_t *params,
		       const slurm_step_launch_callbacks_t *callbacks)
{
	const struct launch_module *storm = launch_module_used();

	return storm ? storm->launch(ctx, params, callbacks) :
		       slurm_step_launch(ctx, params, callbacks);
}

int stock_calls_launch_add(slurm_step_ctx_t *ctx, slurm_step_ctx_t *first,
			   const slurm_step_launch_params_t *params,
			   char *node_list)
{
	const struct launch_module *storm = launch_module_used();

	return storm ? storm->launch_add(ctx, first, params, node_list) :
		       slurm_step_launch_add(ctx, first, params, node_list);
}

int stock_calls_wait_start(slurm_step_ctx_t *ctx)
{
	const struct launch_module *storm = launch_module_used();

	return storm ? storm->wait_start(ctx) :
		       slurm_step_launch_wait_start(ctx);
}

void stock_calls_wait_finish(slurm_step_ctx_t *ctx)
{
	const struct launch_module *storm = launch_module_used();

	if (storm)
		storm->wait_finish(ctx);
	else
		slurm_step_launch_wait_finish(ctx);
}

void stock_calls_abort(slurm_step_ctx_t *ctx)
{
	const struct launch_module *storm = launch_module_used();

	if (storm)
		storm->abort(ctx);
	else
		slurm_step_launch_abort(ctx);
}

void stock_calls_fwd_signal(slurm_step_ctx_t *ctx, int signo)
{
	const struct launch_module *storm = launch_module_used();

	if (storm)
		storm->fwd_signal(ctx, signo);
	else
		slurm_step_launch_fwd_signal(ctx, signo);
}
