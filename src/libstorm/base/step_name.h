/*
 * step_name.h - a job's step as messages name it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_NAME_H
#define STORM_STEP_NAME_H

#include <stdint.h>

#define STORM_STEP_NAME 40

/* Write "step 12.3"; "step 12.batch" and the like for Slurm's own steps; "job
 * 12" for a session of no step, such as sbcast_storm's.  Returns out. */
const char *storm_step_name(char (*out)[STORM_STEP_NAME], uint32_t job,
			    uint32_t step);

#endif
