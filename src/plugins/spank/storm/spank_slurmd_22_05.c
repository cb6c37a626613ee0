/*
 * spank_slurmd_22_05.c - nothing: until 24.05 slurmd loads SPANK plugins before
 * it becomes a daemon, so switch/storm starts the agent.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "spank_slurmd.h"

void spank_slurmd_begin(void)
{
}

void spank_slurmd_end(void)
{
}
