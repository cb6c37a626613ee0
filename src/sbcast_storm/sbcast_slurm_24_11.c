/*
 * sbcast_slurm_24_11.c - sbcast_slurm.h for Slurm 24.11 to 25.11.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "slurm/slurm.h"

#include "sbcast_slurm.h"

void sbcast_slurm_init(void)
{
	slurm_init(NULL);
}

int sbcast_slurm_each(int (*one)(void))
{
	return one();
}
