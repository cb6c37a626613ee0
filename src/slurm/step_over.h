/*
 * step_over.h - tell slurmctld that nodes of a step have ended, where no slurmstepd
 * will.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SLURM_STEP_OVER_H
#define STORM_SLURM_STEP_OVER_H

#include "slurm/slurm.h"

#include "src/common/slurm_protocol_api.h"

/* The step's nodes first to last, by their numbers in the step.  rc: the step's, as of
 * wait().  cluster: NULL: this one.  Negative, and errno: it was not told. */
static inline int step_over_tell(const slurm_step_id_t *id, uint32_t first,
				 uint32_t last, uint32_t rc,
				 slurmdb_cluster_rec_t *cluster)
{
	step_complete_msg_t over = { .step_id = *id,
				     .range_first = first,
				     .range_last = last,
				     .step_rc = rc };
	slurm_msg_t msg;
	int answer;

	slurm_msg_t_init(&msg);
	msg.msg_type = REQUEST_STEP_COMPLETE;
	msg.data = &over;
	return slurm_send_recv_controller_rc_msg(&msg, &answer, cluster);
}

#endif
