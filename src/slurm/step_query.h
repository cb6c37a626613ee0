/*
 * step_query.h - ask slurmctld for steps, whose arguments differ between releases.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SLURM_STEP_QUERY_H
#define STORM_SLURM_STEP_QUERY_H

#include "slurm/slurm.h"

/* What slurmctld has of this step; the caller frees it.  0, or -1 and errno. */
static inline int step_query(const slurm_step_id_t *id,
			     job_step_info_response_msg_t **out)
{
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(25, 11, 0)
	return slurm_get_job_steps(0, id->job_id, id->step_id, out, SHOW_ALL);
#else
	slurm_step_id_t copy = *id;

	return slurm_get_job_steps(&copy, out, SHOW_ALL);
#endif
}

/* What slurmctld has of all steps of this job; the caller frees it.  0, or -1 and errno:
 * ESLURM_INVALID_JOB_ID also if it has none. */
static inline int step_query_all(uint32_t job_id,
				 job_step_info_response_msg_t **out)
{
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(25, 11, 0)
	return slurm_get_job_steps(0, job_id, NO_VAL, out, SHOW_ALL);
#else
	slurm_step_id_t id = SLURM_STEP_ID_INITIALIZER;

	id.job_id = job_id;
	return slurm_get_job_steps(&id, out, SHOW_ALL);
#endif
}

#endif
