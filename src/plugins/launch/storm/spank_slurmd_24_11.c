/*
 * spank_slurmd_24_11.c - the agent's home in slurmd of 24.11 and later.
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
