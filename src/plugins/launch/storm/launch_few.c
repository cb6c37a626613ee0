/*
 * launch_few.c - see launch_few.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "slurm/slurm.h"
#include "src/common/log.h"
#include "src/common/xmalloc.h"

#include "src/storm_common/storm_conf.h"
#include "launch_few.h"

uint32_t launch_few_least(void)
{
	static struct storm_conf conf;
	char *why = NULL;

	if (!conf.launch_nodes) {
		if (storm_conf_load(&conf, &why))
			conf.launch_nodes = 2;
		xfree(why);
	}
	return conf.launch_nodes;
}

bool launch_few_surely(const slurm_opt_t *opt)
{
	int least = (int) launch_few_least();

	return !opt->srun_opt->bcast_flag &&
	       ((opt->max_nodes && opt->max_nodes < least) ||
		(opt->ntasks_set && opt->ntasks < least));
}

void launch_few_say(void)
{
	verbose("storm: Slurm launches this step, which has fewer nodes than LaunchNodes and no file");
}
