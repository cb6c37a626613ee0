/*
 * stepd.h - the step in slurmstepd.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SLURM_STEPD_H
#define STORM_SLURM_STEPD_H

#include <stdbool.h>

#include "slurm/slurm.h"
#include "src/slurmd/slurmstepd/slurmstepd_job.h"

#include "src/slurm/switch.h"

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 11, 0)
#define STEPD_SWITCH switch_job
#else
#define STEPD_SWITCH switch_step
#endif

/* What the switch plugin has unpacked for this step, or NULL. */
static inline void *stepd_stepinfo(const stepd_step_rec_t *job)
{
	return job->STEPD_SWITCH ? job->STEPD_SWITCH->data : NULL;
}

/* Was the thread of the tasks' input and output started?  Later releases know
 * only whether it runs still, and it ends before the last exit is reported. */
static inline bool stepd_had_io(const stepd_step_rec_t *job)
{
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 11, 0)
	return job->ioid;
#else
	return job->clients;
#endif
}

#endif
