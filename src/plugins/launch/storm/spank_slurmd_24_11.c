/*
 * spank_slurmd_24_11.c - the agent's home in slurmd of 24.11 and later.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "slurm/slurm_errno.h"

#include "spank_slurmd.h"

int spank_slurmd_begin(void)
{
	return SLURM_SUCCESS;
}

void spank_slurmd_end(void)
{
}
