/*
 * compat.h - what Slurm's releases call by other names, or keep in other
 * headers.  Shared code includes this file instead, and has no #if on a
 * release.  What differs by more than a name has a file for each release,
 * which configure chooses.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SLURM_COMPAT_H
#define STORM_SLURM_COMPAT_H

#include "slurm/slurm.h"

/*
 * Lists have their newer names in shared code.  A list of hosts is struct
 * hostlist *: its typedef was a pointer until 23.02 and is a structure since.
 */
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 11, 0)
#include "src/common/list.h"
typedef struct xlist list_t;
typedef struct listIterator list_itr_t;
#endif

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(25, 11, 0)
#define SELECT_MEMORY CR_MEMORY
#endif

/* The program and its arguments, among srun's options (slurm_opt_t). */
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 2, 0)
#define COMPAT_ARGV(opt) ((opt)->srun_opt->argv)
#else
#define COMPAT_ARGV(opt) ((opt)->argv)
#endif

/* What slurm.conf says of how Slurm suspends jobs.  Before 24.05 it does not
 * matter, because a plugin on the node hears of each suspend first. */
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(24, 5, 0)
#define COMPAT_SUSPEND_PARAMS NULL
#else
#define COMPAT_SUSPEND_PARAMS slurm_conf.preempt_params
#endif

/* Set *out to slurmctld's record of a job, which the caller frees by
 * slurm_free_job_info_msg().  0, or -1 and errno. */
static inline int compat_load_job(job_info_msg_t **out, uint32_t job_id)
{
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(26, 5, 0)
	return slurm_load_job(out, job_id, SHOW_ALL);
#else
	slurm_step_id_t id = SLURM_STEP_ID_INITIALIZER;

	id.job_id = job_id;
	return slurm_load_job(out, id, SHOW_ALL);
#endif
}

#endif
