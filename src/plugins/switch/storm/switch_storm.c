/*
 * switch_storm.c - the switch plugin: the node agent in slurmd, the relay of
 * starts and exits in slurmstepd, a step's network context (nothing yet) in
 * slurmctld and srun.
 *
 * Every slurmd and srun loads all switch plugins, whatever SwitchType says, so
 * the agent runs in any case; the hooks of steps need SwitchType=switch/storm.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/log.h"
#include "src/common/pack.h"
#include "src/common/run_in_daemon.h"
#include "src/common/switch.h"
#include "src/common/xmalloc.h"
#include "src/slurmd/slurmd/slurmd.h"
#include "src/slurmd/slurmstepd/slurmstepd_job.h"

#include "agent_watch.h"
#include "gang_step.h"
#include "step_relay.h"
#include "switch_storm.h"

/* slurmstepd's; other programs have none. */
#pragma weak conf

const char plugin_name[] = "switch STORM plugin";
const char plugin_type[] = "switch/storm";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;
/* unique among switch plugins, and above 100 */
const uint32_t plugin_id = 831;

#define CONTEXT_VERSION 1

/* The step's network context as it travels: a version and that version's
 * bytes, none so far; bytes of a later version are carried unread. */
struct switch_jobinfo {
	uint16_t version;
	uint32_t len;
	char *bytes;
};

int init(void)
{
	debug("%s loaded", plugin_name);
	if (running_in_slurmd())
		agent_watch_start();	/* says itself what is wrong */
	return SLURM_SUCCESS;
}

int fini(void)
{
	agent_watch_stop();
	return SLURM_SUCCESS;
}

int switch_p_reconfig(void)
{
	return SLURM_SUCCESS;
}

/* ------------------------------------------------------- slurmctld's state --- */

int switch_p_libstate_save(char *dir_name)
{
	(void) dir_name;
	return SLURM_SUCCESS;
}

int switch_p_libstate_restore(char *dir_name, bool recover)
{
	(void) dir_name;
	(void) recover;
	return SLURM_SUCCESS;
}

int switch_p_libstate_clear(void)
{
	return SLURM_SUCCESS;
}

/* ------------------------------------------------------- a step's context --- */

int switch_p_alloc_jobinfo(switch_jobinfo_t **out, uint32_t job_id,
			   uint32_t step_id)
{
	switch_jobinfo_t *j = xmalloc(sizeof(*j));

	(void) job_id;
	(void) step_id;
	j->version = CONTEXT_VERSION;
	*out = j;
	return SLURM_SUCCESS;
}

int switch_p_build_jobinfo(switch_jobinfo_t *j, slurm_step_layout_t *layout,
			   step_record_t *step)
{
	(void) j;
	(void) layout;
	(void) step;
	return SLURM_SUCCESS;
}

int switch_p_duplicate_jobinfo(switch_jobinfo_t *from, switch_jobinfo_t **out)
{
	switch_jobinfo_t *j = xmalloc(sizeof(*j));

	j->version = from ? from->version : CONTEXT_VERSION;
	if (from && from->len) {	/* of nothing xmalloc makes NULL */
		j->len = from->len;
		j->bytes = xmalloc(from->len);
		memcpy(j->bytes, from->bytes, from->len);
	}
	*out = j;
	return SLURM_SUCCESS;
}

void switch_p_free_jobinfo(switch_jobinfo_t *j)
{
	if (!j)
		return;
	xfree(j->bytes);
	xfree(j);
}

int switch_p_pack_jobinfo(switch_jobinfo_t *j, buf_t *buffer,
			  uint16_t protocol_version)
{
	(void) protocol_version;
	/* Slurm packs contexts that were never allocated, too */
	pack16(j ? j->version : CONTEXT_VERSION, buffer);
	packmem(j ? j->bytes : NULL, j ? j->len : 0, buffer);
	return SLURM_SUCCESS;
}

int switch_p_unpack_jobinfo(switch_jobinfo_t **out, buf_t *buffer,
			    uint16_t protocol_version)
{
	switch_jobinfo_t *j = xmalloc(sizeof(*j));

	(void) protocol_version;
	safe_unpack16(&j->version, buffer);
	safe_unpackmem_xmalloc(&j->bytes, &j->len, buffer);
	*out = j;
	return SLURM_SUCCESS;
unpack_error:
	switch_p_free_jobinfo(j);
	*out = NULL;
	return SLURM_ERROR;
}

int switch_p_get_jobinfo(switch_jobinfo_t *j, int key, void *data)
{
	(void) j;
	(void) key;
	(void) data;
	slurm_seterrno(EINVAL);
	return SLURM_ERROR;
}

/* --------------------------------------------------------- in slurmstepd --- */

int switch_p_job_preinit(stepd_step_rec_t *job)
{
	(void) job;
	return SLURM_SUCCESS;
}

int switch_p_job_init(stepd_step_rec_t *job)
{
	step_relay_start(job);
	return SLURM_SUCCESS;
}

int switch_p_job_attach(switch_jobinfo_t *j, char ***env, uint32_t nodeid,
			uint32_t procid, uint32_t nnodes, uint32_t nprocs,
			uint32_t rank)
{
	(void) j;
	(void) env;
	(void) nodeid;
	(void) procid;
	(void) nnodes;
	(void) nprocs;
	(void) rank;
	return SLURM_SUCCESS;
}

int switch_p_job_fini(switch_jobinfo_t *j)
{
	(void) j;
	return SLURM_SUCCESS;
}

int switch_p_job_postfini(stepd_step_rec_t *job)
{
	/* the contract of this hook: nothing of the step is left running */
	if (job->jmgr_pid > 0 && kill(-job->jmgr_pid, SIGKILL) &&
	    errno != ESRCH)
		debug("%ps: kill: %m", &job->step_id);
	step_relay_drain();
	return SLURM_SUCCESS;
}

/* What Slurm keeps standing is not gang scheduling's: where all groups are of
 * version 2 it is done by the same file. */
static void _hold(const stepd_step_rec_t *job, bool hold)
{
	struct gang_step s = {
		.job = job->step_id.job_id, .step = job->step_id.step_id,
		.root = getpid(),
	};
	char dir[PATH_MAX], name[GANG_STEP_NAME];
	int err = gang_step_dir(NULL, conf->node_name, false, dir);

	gang_step_name(&s, name);
	if (!err)
		err = gang_step_hold(dir, name, hold);
	if (err && err != ENOENT)	/* no gang scheduling here */
		error("storm: gang scheduling cannot be told of %ps: %s",
		      &job->step_id, strerror(err));
}

int switch_p_job_step_pre_suspend(stepd_step_rec_t *job)
{
	_hold(job, true);
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
	_hold(job, false);
	return SLURM_SUCCESS;
}

/* ----------------------------------------------- suspension, ends of steps --- */

int switch_p_job_suspend_test(switch_jobinfo_t *j)
{
	(void) j;
	return SLURM_SUCCESS;
}

void switch_p_job_suspend_info_get(switch_jobinfo_t *j, void **suspend_info)
{
	(void) j;
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

int switch_p_job_step_complete(switch_jobinfo_t *j, char *nodelist)
{
	(void) j;
	(void) nodelist;
	return SLURM_SUCCESS;
}

int switch_p_job_step_allocated(switch_jobinfo_t *j, char *nodelist)
{
	(void) j;
	(void) nodelist;
	return SLURM_SUCCESS;
}

void switch_p_job_complete(uint32_t job_id)
{
	(void) job_id;
}
