/*
 * step_name.c - see step_name.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <inttypes.h>
#include <stdio.h>

#include "step_name.h"

/* Slurm's numbers, of NO_VAL and what slurm.h counts down from it; this room has
 * no header of Slurm. */
#define NO_STEP 0xfffffffe
#define FIRST_SPECIAL 0xfffffffa

static const char *const special[] = { "interactive", "batch", "extern",
				       "pending" };

const char *storm_step_name(char (*out)[STORM_STEP_NAME], uint32_t job,
			    uint32_t step)
{
	if (step == NO_STEP)
		snprintf(*out, sizeof(*out), "job %" PRIu32, job);
	else if (step >= FIRST_SPECIAL && step < NO_STEP)
		snprintf(*out, sizeof(*out), "step %" PRIu32 ".%s", job,
			 special[step - FIRST_SPECIAL]);
	else
		snprintf(*out, sizeof(*out), "step %" PRIu32 ".%" PRIu32, job,
			 step);
	return *out;
}
