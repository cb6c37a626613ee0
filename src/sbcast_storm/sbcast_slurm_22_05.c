/*
 * sbcast_slurm_22_05.c - sbcast_slurm.h for Slurm 22.05.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdlib.h>

#include "src/common/node_conf.h"
#include "src/common/read_config.h"
#include "src/common/slurm_route.h"

#include "sbcast_slurm.h"

void sbcast_slurm_init(void)
{
	char *aliases = getenv("SLURM_NODE_ALIASES");

	slurm_conf_init(NULL);
	if (aliases)
		set_nodes_alias(aliases);
	route_init();
}

int sbcast_slurm_each(int (*one)(void))
{
	return one();
}
