/*
 * step_launch.h - Slurm's own step_launch.c and its handlers, under the names
 * that slurm_step_launch.c gives them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_LAUNCH_H
#define STORM_STEP_LAUNCH_H

#include "src/api/step_launch.h"
#include "src/common/slurm_protocol_defs.h"

int storm_step_launch(slurm_step_ctx_t *ctx,
		      const slurm_step_launch_params_t *params,
		      const slurm_step_launch_callbacks_t *callbacks);
int storm_step_launch_add(slurm_step_ctx_t *ctx, slurm_step_ctx_t *first,
			  const slurm_step_launch_params_t *params,
			  char *node_list);
int storm_step_launch_wait_start(slurm_step_ctx_t *ctx);
void storm_step_launch_wait_finish(slurm_step_ctx_t *ctx);
void storm_step_launch_abort(slurm_step_ctx_t *ctx);
void storm_step_launch_fwd_signal(slurm_step_ctx_t *ctx, int signo);

/* Pass a report of the nodes to Slurm's handler of this message.  The caller
 * owns msg.  Not in the domain's thread: the handlers may call slurmctld. */
void storm_step_started(struct step_launch_state *sls,
			launch_tasks_response_msg_t *msg);
void storm_step_exited(struct step_launch_state *sls, task_exit_msg_t *msg);

/* Nodes of the step, in Slurm's form, that failed before the launch, which goes on
 * without them (--no-kill).  Their tasks count as those of a node that fails
 * later: here, and at slurmctld. */
void storm_step_lost(struct step_launch_state *sls,
		     const slurm_step_id_t *step_id, const char *nodes);

#endif
