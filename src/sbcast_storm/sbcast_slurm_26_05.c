/*
 * sbcast_slurm_26_05.c - sbcast_slurm.h for Slurm 26.05.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "slurm/slurm.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/interfaces/compress.h"
#include "src/sbcast/sbcast.h"

#include "sbcast_slurm.h"

void sbcast_slurm_init(void)
{
	slurm_init(NULL);
	if (compress_g_init() != SLURM_SUCCESS)
		fatal("cannot load Slurm's compress plugin");
}

int sbcast_slurm_each(int (*one)(void))
{
	list_itr_t *steps;
	int rc = SLURM_SUCCESS;

	if (!params.selected_steps)
		return one();
	steps = list_iterator_create(params.selected_steps);
	while (!rc && (params.selected_step = list_next(steps)))
		rc = one();
	list_iterator_destroy(steps);
	return rc;
}
