/*
 * replay.c - has a node launched the step?  slurmd takes a step's credential
 * once.  Until 23.02 it calls a second delivery "replayed".  Since 23.11 it
 * calls it "invalid", as any credential that it does not accept.  That is no
 * proof of a launch.  The reported start of a task is one, and so is a
 * slurmstepd of the step on the node.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <time.h>

#include "src/common/slurm_xlator.h"

#include "src/common/bitstring.h"
#include "src/common/hostlist.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/macros.h"
#include "src/common/read_config.h"
#include "src/common/slurm_protocol_api.h"

#include "replay.h"
#include "src/slurm/compat.h"

#define ASK_NS 500000000 /* between two questions: the prolog may run */

static bool replay_has_stepd(const struct storm_session *s, const char *node)
{
	slurm_step_id_t step_id = s->step_id;
	ret_data_info_t *answer;
	slurm_msg_t msg;
	list_t *list;
	bool yes;

	slurm_msg_t_init(&msg);
	slurm_msg_set_r_uid(&msg, slurm_conf.slurmd_user_id);
	msg.msg_type = REQUEST_JOB_STEP_PIDS;
	msg.data = &step_id;
	if (!(list = slurm_send_recv_msgs(node, &msg, 0)))
		return false;
	answer = list_peek(list);
	yes = answer && answer->type == RESPONSE_JOB_STEP_PIDS;
	FREE_NULL_LIST(list);
	return yes;
}

static bool replay_has_started(struct storm_session *s, const char *node)
{
	struct step_launch_state *sls = s->sls;
	int n = nodelist_find(sls->layout->node_list, node);
	bool yes;

	if (n < 0 || !sls->layout->tasks[n])
		return false;
	slurm_mutex_lock(&sls->lock);
	yes = bit_test(sls->tasks_started, sls->layout->tids[n][0]);
	slurm_mutex_unlock(&sls->lock);
	return yes;
}

bool launch_replay_is(struct storm_session *s, const char *node, uint32_t rc,
		      uint64_t until)
{
	const struct timespec pause = { .tv_nsec = ASK_NS };

	if (rc == ESLURMD_CREDENTIAL_REPLAYED)
		return true;
	if (rc != ESLURMD_INVALID_JOB_CREDENTIAL)
		return false;
	/* In this order: a step that ends between the two has reported. */
	while (!replay_has_stepd(s, node) && !replay_has_started(s, node)) {
		if (storm_session_gave_up(s) || storm_now() > until)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}
