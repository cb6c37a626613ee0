/*
 * launch_failed.c - see launch_failed.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <string.h>

#include "src/common/slurm_xlator.h"

#include "src/common/log.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/xmalloc.h"

#include "launch_failed.h"

/* No node has heard of the step, so no slurmstepd will say that it is over. */
static void launch_failed_end(const srun_job_t *job)
{
	const slurm_step_layout_t *layout =
		job->step_ctx->step_resp->step_layout;
	step_complete_msg_t over = {
		.step_id = job->step_ctx->step_req->step_id,
		.range_last = layout->node_cnt - 1,
	};
	slurm_msg_t msg;
	int rc;

	slurm_msg_t_init(&msg);
	msg.msg_type = REQUEST_STEP_COMPLETE;
	msg.data = &over;
	(void) slurm_send_recv_controller_rc_msg(&msg, &rc,
						 working_cluster_rec);
}

bool launch_failed_check(struct storm_session *s, const srun_job_t *job,
			 const slurm_opt_t *opt_local)
{
	const struct launch_module *storm = launch_module_used();
	char *why;

	if (!s || storm->check(s, job, opt_local))
		return true;
	why = step_odd_no_launch(&s->odd);
	storm->close(s);
	launch_failed_end(job);
	error("storm: %s", why);
	xfree(why);
	return false;
}
