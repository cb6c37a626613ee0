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
#define STEPD_IO_RUNS ioid
#else
#define STEPD_SWITCH switch_step
#define STEPD_IO_RUNS io_running
#endif

/* What the switch plugin has unpacked for this step, or NULL. */
static inline void *stepd_stepinfo(const stepd_step_rec_t *job)
{
	return job->STEPD_SWITCH ? job->STEPD_SWITCH->data : NULL;
}

/* Does the thread of the tasks' input and output run? */
static inline bool stepd_io_runs(const stepd_step_rec_t *job)
{
	return job->STEPD_IO_RUNS;
}

#endif
