/*
 * fanout.h - what stands in for slurm_send_recv_msgs() in Slurm's step_launch.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_FANOUT_H
#define STORM_FANOUT_H

#include "src/common/list.h"
#include "src/common/slurm_protocol_defs.h"

List storm_send_recv_msgs(const char *nodelist, slurm_msg_t *msg, int timeout);

#endif
