/*
 * switch_storm.c - the switch plugin.  It runs the relay of starts and exits in
 * slurmstepd, and carries a step's network context from slurmctld to
 * slurmstepd.  With Slurm 22.05 it also runs the node agent in slurmd; later
 * releases have it in spank_storm, because slurmd loads no switch plugin there
 * unless SwitchType is set.
 *
 * The hooks of steps need SwitchType=switch/storm.  What differs between
 * releases is in switch_ops_*.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <signal.h>

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/log.h"
#include "src/common/run_in_daemon.h"
#include "src/slurmd/slurmstepd/slurmstepd_job.h"

#include "src/plugins/switch/storm/context/context_ctld.h"
#include "src/slurm/stepd.h"
#include "src/stepd/step_relay.h"
#include "src/stepd/step_wake.h"
#include "src/storm_common/child_log.h"
#include "src/storm_common/slurm_build.h"
#include "stepinfo.h"
#include "switch_storm.h"

const char plugin_name[] = "switch STORM plugin";
const char plugin_type[] = "switch/storm";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;
/* unique among switch plugins, and above 100 */
const uint32_t plugin_id = 831;

void switch_storm_begin(void)
{
	debug("%s loaded", plugin_name);
	if (running_in_slurmctld() || running_in_slurmstepd())
		storm_log_set(child_log);
}

void switch_storm_end(void)
{
	context_ctld_stop();
}

bool switch_storm_refused(void)
{
	return slurm_build_refusal() != NULL;
}

/* Leases stay also if slurmctld drops its jobs: their tasks may still run. */
void switch_storm_restore(const char *dir)
{
	if (switch_storm_refused())
		error("storm: %s; until then steps get no network context",
		      slurm_build_refusal());
	else
		context_ctld_start(dir);
}

/* No process of the step is left on any node; at the latest at the job's
 * end. */
int switch_p_job_step_complete(struct stepinfo *s, char *nodelist)
{
	(void) nodelist;
	if (stepinfo_leased(s) && running_in_slurmctld())
		context_ctld_return(stepinfo_leased(s));
	return SLURM_SUCCESS;
}

/* --------------------------------------------------------- in slurmstepd --- */

/* Its tasks log a refusal.  On an error here, srun would expect no tasks. */
int switch_p_job_preinit(stepd_step_rec_t *job)
{
	if (!switch_storm_refused())
		stepinfo_verify(stepd_stepinfo(job), job);
	return SLURM_SUCCESS;
}

int switch_p_job_init(stepd_step_rec_t *job)
{
	if (!switch_storm_refused())
		step_relay_start(job);
	return SLURM_SUCCESS;
}

int switch_p_job_attach(struct stepinfo *s, char ***env, uint32_t nodeid,
			uint32_t procid, uint32_t nnodes, uint32_t nprocs,
			uint32_t rank)
{
	(void) nodeid;
	(void) nnodes;
	(void) nprocs;
	(void) rank;
	/* procid is the task's number on this node */
	if (stepinfo_export(s, !procid, env))
		return SLURM_SUCCESS;
	errno = ESLURM_INTERCONNECT_FAILURE;
	return SLURM_ERROR;
}

int switch_p_job_postfini(stepd_step_rec_t *job)
{
	if (switch_storm_refused())
		return SLURM_SUCCESS;
	/* This hook must leave no process of the step. */
	if (job->jmgr_pid > 0 && kill(-job->jmgr_pid, SIGKILL) &&
	    errno != ESRCH)
		debug("%ps: kill: %m", &job->step_id);
	step_wake_start();
	step_relay_drain();
	return SLURM_SUCCESS;
}
