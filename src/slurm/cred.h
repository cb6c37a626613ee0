/*
 * cred.h - Slurm's interface of credential plugins, which moved in 23.02.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SLURM_CRED_H
#define STORM_SLURM_CRED_H

#include "slurm/slurm.h"

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 2, 0)
#include "src/common/slurm_cred.h"
#else
#include "src/interfaces/cred.h"
#endif

/* The job and the step of an sbcast credential. */
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(25, 11, 0)
#define CRED_SBCAST_JOB job_id
#define CRED_SBCAST_STEP step_id
#else
#define CRED_SBCAST_JOB step_id.job_id
#define CRED_SBCAST_STEP step_id.step_id
#endif

static inline uint32_t cred_sbcast_job(const sbcast_cred_arg_t *arg)
{
	return arg->CRED_SBCAST_JOB;
}

static inline uint32_t cred_sbcast_step(const sbcast_cred_arg_t *arg)
{
	return arg->CRED_SBCAST_STEP;
}

#endif
