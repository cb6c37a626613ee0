/*
 * step_signal.h - signals for the tasks of a step that STORM has launched, by one
 * cast to all of its nodes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_SIGNAL_H
#define STORM_STEP_SIGNAL_H

#include "src/common/list.h"
#include "src/common/slurm_protocol_defs.h"
#include "src/slurm/compat.h"

/* A replacement of slurm_send_recv_msgs() for REQUEST_SIGNAL_TASKS, with its
 * parameters and result.  Any thread of srun. */
list_t *step_signals_send(const char *nodelist, slurm_msg_t *msg, int timeout);

#endif
