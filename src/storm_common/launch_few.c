/*
 * launch_few.c - see launch_few.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdlib.h>

#include "slurm/slurm.h"
#include "src/common/log.h"
#include "src/common/xmalloc.h"

#include "launch_few.h"

const struct storm_conf *launch_few_conf(void)
{
	static struct storm_conf conf;
	static bool done, wrong;
	char *why = NULL;

	if (!done)
		wrong = storm_conf_load(&conf, &why) != SLURM_SUCCESS;
	done = true;
	xfree(why);
	return wrong ? NULL : &conf;
}

uint32_t launch_few_least(void)
{
	const struct storm_conf *conf = launch_few_conf();

	return conf ? conf->launch_nodes : 2;
}

bool launch_few_surely(const slurm_opt_t *opt)
{
	int least = (int) launch_few_least();

	return !opt->srun_opt->bcast_flag &&
	       ((opt->max_nodes && opt->max_nodes < least) ||
		(opt->ntasks_set && opt->ntasks < least));
}

void launch_few_say(const char *most, uint32_t nodes)
{
	verbose("storm: %s%u %s, no file: Slurm launches (LaunchNodes=%u)",
		most, nodes, nodes == 1 ? "node" : "nodes", launch_few_least());
}

void launch_few_say_surely(const slurm_opt_t *opt)
{
	uint32_t most = UINT32_MAX;

	if (opt->max_nodes)
		most = (uint32_t) opt->max_nodes;
	if (opt->ntasks_set && (uint32_t) opt->ntasks < most)
		most = (uint32_t) opt->ntasks;
	launch_few_say("at most ", most);
}

bool launch_few_is_timed(void)
{
	const char *path = getenv("STORM_TIMELINE");

	return path && *path;
}
