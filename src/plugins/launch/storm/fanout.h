/*
 * fanout.h - replaces slurm_send_recv_msgs() in Slurm's step_launch.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_FANOUT_H
#define STORM_FANOUT_H

#include "src/common/list.h"
#include "src/common/slurm_protocol_defs.h"
#include "src/slurm/compat.h"

/* Send a message to nodes, with the parameters and the result of
 * slurm_send_recv_msgs(); the caller frees the list.  STORM sends the launch
 * message and signals for the step's tasks, Slurm every other one.  timeout: ms for the nodes' answers.  Any
 * thread of srun. */
list_t *storm_send_recv_msgs(const char *nodelist, slurm_msg_t *msg,
			     int timeout);

#endif
