/*
 * switch_ops_22_05.c - the operations of switch plugins in Slurm 22.05.  There
 * every slurmd and srun loads all switch plugins, whatever SwitchType is, so the
 * agent runs in any case.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/log.h"
#include "src/common/pack.h"
#include "src/common/run_in_daemon.h"
#include "src/slurmd/slurmd/slurmd.h"
#include "src/slurmd/slurmstepd/slurmstepd_job.h"

#include "src/gang/gang_step.h"
#include "src/plugins/switch/storm/context/context_ctld.h"
#include "src/storm_agent/home/agent_watch.h"
#include "src/storm_common/slurm_build.h"
#include "stepinfo.h"
#include "switch_ops_22_05.h"
#include "switch_storm.h"

/* slurmstepd's; other programs have none. */
#pragma weak conf

/* In slurmd; the plugins say it for themselves in slurmctld and srun. */
static void switch_ops_start_agent(void)
{
	if (switch_storm_refused())
		error("storm: %s; until then this node starts no agent, and its steps get Slurm's standard launch",
		      slurm_build_refusal());
	else
		agent_watch_start(); /* logs its errors */
}

int init(void)
{
	switch_storm_begin();
	if (running_in_slurmd())
		switch_ops_start_agent();
	return SLURM_SUCCESS;
}

int fini(void)
{
	agent_watch_stop();
	switch_storm_end();
	return SLURM_SUCCESS;
}

int switch_p_reconfig(void)
{
	if (running_in_slurmctld() && !switch_storm_refused())
		context_ctld_reconfig();
	return SLURM_SUCCESS;
}

/* ------------------------------------------------------- slurmctld's state --- */

int switch_p_libstate_save(char *dir_name)
{
	(void) dir_name; /* each lease was saved when it began */
	context_ctld_stop();
	return SLURM_SUCCESS;
}

int switch_p_libstate_restore(char *dir_name, bool recover)
{
	(void) recover;
	switch_storm_restore(dir_name);
	return SLURM_SUCCESS;
}

int switch_p_libstate_clear(void)
{
	return SLURM_SUCCESS;
}

/* ------------------------------------------------------- a step's context --- */

int switch_p_alloc_jobinfo(struct stepinfo **out, uint32_t job_id,
			   uint32_t step_id)
{
	(void) job_id;
	(void) step_id;
	*out = stepinfo_create();
	return SLURM_SUCCESS;
}

int switch_p_build_jobinfo(struct stepinfo *s, slurm_step_layout_t *layout,
			   step_record_t *step)
{
	(void) layout;
	/* without a step it is srun --no-allocate */
	if (step && running_in_slurmctld() && !switch_storm_refused())
		stepinfo_lease(s, step);
	return SLURM_SUCCESS;
}

/* slurmctld makes copies only for its answers to srun. */
int switch_p_duplicate_jobinfo(struct stepinfo *from, struct stepinfo **out)
{
	*out = stepinfo_copy(from);
	stepinfo_sign_later(*out);
	return SLURM_SUCCESS;
}

void switch_p_free_jobinfo(struct stepinfo *s)
{
	stepinfo_free(s);
}

int switch_p_pack_jobinfo(struct stepinfo *s, buf_t *buffer,
			  uint16_t protocol_version)
{
	(void) protocol_version;
	stepinfo_pack(s, buffer);
	return SLURM_SUCCESS;
}

int switch_p_unpack_jobinfo(struct stepinfo **out, buf_t *buffer,
			    uint16_t protocol_version)
{
	(void) protocol_version;
	*out = stepinfo_unpack(buffer);
	if (!*out)
		return SLURM_ERROR;
	if (switch_storm_refused())
		return SLURM_SUCCESS;
	if (running_in_slurmctld())
		stepinfo_recover(*out);
	else if (!running_in_daemon())
		stepinfo_tell(*out);
	return SLURM_SUCCESS;
}

int switch_p_get_jobinfo(struct stepinfo *s, int key, void *data)
{
	(void) s;
	(void) key;
	(void) data;
	slurm_seterrno(EINVAL);
	return SLURM_ERROR;
}

int switch_p_job_fini(struct stepinfo *s)
{
	(void) s;
	return SLURM_SUCCESS;
}

/* slurmctld has recovered a step. */
int switch_p_job_step_allocated(struct stepinfo *s, char *nodelist)
{
	(void) nodelist;
	if (stepinfo_leased(s) && running_in_slurmctld())
		context_ctld_claim(stepinfo_leased(s));
	return SLURM_SUCCESS;
}

void switch_p_job_complete(uint32_t job_id)
{
	(void) job_id;
	if (running_in_slurmctld() && !switch_storm_refused())
		context_ctld_job_ends();
}

/* --------------------------------------------------------------- suspension --- */

/* Gang scheduling must not continue a step that Slurm has suspended: with
 * cgroup v2 both use the same file. */
static void switch_ops_hold(const stepd_step_rec_t *job, bool hold)
{
	struct gang_step s = {
		.job = job->step_id.job_id,
		.step = job->step_id.step_id,
		.root = getpid(),
	};
	char dir[PATH_MAX], name[GANG_STEP_NAME];
	int err = gang_step_dir(NULL, conf->node_name, false, &dir);

	gang_step_name(&s, &name);
	if (!err)
		err = gang_step_hold(dir, name, hold);
	if (err && err != ENOENT) /* no gang scheduling here */
		error("storm: cannot update the gang scheduling record of %ps: %s",
		      &job->step_id, strerror(err));
	if (!err)
		gang_step_tell(NULL, conf->node_name);
}

int switch_p_job_step_pre_suspend(stepd_step_rec_t *job)
{
	if (!switch_storm_refused())
		switch_ops_hold(job, true);
	return SLURM_SUCCESS;
}

int switch_p_job_step_post_suspend(stepd_step_rec_t *job)
{
	(void) job;
	return SLURM_SUCCESS;
}

int switch_p_job_step_pre_resume(stepd_step_rec_t *job)
{
	(void) job;
	return SLURM_SUCCESS;
}

int switch_p_job_step_post_resume(stepd_step_rec_t *job)
{
	if (!switch_storm_refused())
		switch_ops_hold(job, false);
	return SLURM_SUCCESS;
}

int switch_p_job_suspend_test(struct stepinfo *s)
{
	(void) s;
	return SLURM_SUCCESS;
}

void switch_p_job_suspend_info_get(struct stepinfo *s, void **suspend_info)
{
	(void) s;
	(void) suspend_info;
}

void switch_p_job_suspend_info_pack(void *suspend_info, buf_t *buffer,
				    uint16_t protocol_version)
{
	(void) suspend_info;
	(void) buffer;
	(void) protocol_version;
}

int switch_p_job_suspend_info_unpack(void **suspend_info, buf_t *buffer,
				     uint16_t protocol_version)
{
	(void) suspend_info;
	(void) buffer;
	(void) protocol_version;
	return SLURM_SUCCESS;
}

void switch_p_job_suspend_info_free(void *suspend_info)
{
	(void) suspend_info;
}

int switch_p_job_suspend(void *suspend_info, int max_wait)
{
	(void) suspend_info;
	(void) max_wait;
	return SLURM_SUCCESS;
}

int switch_p_job_resume(void *suspend_info, int max_wait)
{
	(void) suspend_info;
	(void) max_wait;
	return SLURM_SUCCESS;
}
