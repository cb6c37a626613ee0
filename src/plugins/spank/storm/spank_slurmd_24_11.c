/*
 * spank_slurmd_24_11.c - the agent's home in slurmd of 24.11 and later, which
 * loads no switch plugin unless SwitchType is set.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "slurm/spank.h"

#include "spank_slurmd.h"
#include "src/storm_agent/home/agent_watch.h"
#include "src/storm_common/slurm_build.h"

void spank_slurmd_begin(void)
{
	if (slurm_build_refusal())
		slurm_error(
			"storm: %s; until then this node starts no agent, and its steps get Slurm's standard launch",
			slurm_build_refusal());
	else
		agent_watch_start(); /* logs its errors */
}

void spank_slurmd_end(void)
{
	agent_watch_stop();
}
