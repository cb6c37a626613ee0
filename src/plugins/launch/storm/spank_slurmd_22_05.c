/*
 * spank_slurmd_22_05.c - nothing: until 24.05 slurmd loads SPANK plugins before
 * it becomes a daemon, so switch/storm starts the agent.
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
