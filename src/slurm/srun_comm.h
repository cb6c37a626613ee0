/*
 * srun_comm.h - slurmctld's messages to srun, and what it knows of steps, wherever the
 * release has them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SLURM_SRUN_COMM_H
#define STORM_SLURM_SRUN_COMM_H

#include "slurm/slurm.h"

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(24, 5, 0)
#include "src/slurmctld/srun_comm.h"
#else
#include "src/stepmgr/srun_comm.h"
#include "src/stepmgr/stepmgr.h"
#endif

/* Whom a message is for, and what proves who the step's srun is. */
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(26, 5, 0)
#define COMPAT_USER_MSG_JOB(msg, step) ((msg)->job_id = (step)->step_id.job_id)
#define COMPAT_AGENT_CERT(to, step)
#else
#define COMPAT_USER_MSG_JOB(msg, step) ((msg)->step_id = (step)->step_id)
#define COMPAT_AGENT_CERT(to, step) \
	((to)->tls_cert = xstrdup((step)->alloc_tls_cert))
#endif

#endif
