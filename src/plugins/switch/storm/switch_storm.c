/*
 * switch_storm.c - the switch plugin.  It runs the node agent in slurmd, and
 * the relay of starts and exits in slurmstepd.  It carries a step's network
 * context from slurmctld through srun and slurmd to slurmstepd.
 *
 * Every slurmd and srun loads all switch plugins, whatever SwitchType is, so
 * the agent runs in any case.  The hooks of steps need SwitchType=switch/storm.
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
#include "src/common/xmalloc.h"
#include "src/slurmd/slurmd/slurmd.h"
#include "src/slurmd/slurmstepd/slurmstepd_job.h"

#include "agent_watch.h"
#include "src/plugins/switch/storm/context/context_ctld.h"
#include "src/plugins/switch/storm/context/context_step.h"
#include "src/plugins/switch/storm/gang/gang_step.h"
#include "src/storm_common/child_log.h"
#include "src/storm_common/slurm_build.h"
#include "src/plugins/switch/storm/step/step_relay.h"
#include "switch_storm.h"

/* slurmstepd's; other programs have none. */
#pragma weak conf

const char plugin_name[] = "switch STORM plugin";
const char plugin_type[] = "switch/storm";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;
/* unique among switch plugins, and above 100 */
const uint32_t plugin_id = 831;

/* The step's network context in the jobinfo: a version and that version's
 * bytes. Version 1 has none.  Those of a later version are passed on unread. */
#define CONTEXT_NONE 1
#define CONTEXT_VERSION 2

struct switch_jobinfo {
	uint16_t version;
	uint32_t len;
	char *bytes; /* as received */
	/* In slurmctld the step's lease, in slurmstepd the verified context;
	 * unset elsewhere. */
	bool known;
	bool refused; /* slurmstepd: it is not slurmctld's */
	struct context context;
	bool leaves; /* slurmctld: for srun, and so to be signed */
};

/* This Slurm is not the one that this plugin was built for: jobinfos are passed
 * on unread, and nothing else is done. */
static bool switch_storm_refused(void)
{
	return slurm_build_refusal() != NULL;
}

/* In slurmd; the plugins say it for themselves in slurmctld and srun. */
static void switch_storm_start_agent(void)
{
	if (switch_storm_refused())
		error("storm: %s; until then this node starts no agent, and its steps get Slurm's standard launch",
		      slurm_build_refusal());
	else
		agent_watch_start(); /* logs its errors */
}

int init(void)
{
	debug("%s loaded", plugin_name);
	if (running_in_slurmctld() || running_in_slurmstepd())
		storm_log_set(child_log);
	if (running_in_slurmd())
		switch_storm_start_agent();
	return SLURM_SUCCESS;
}

int fini(void)
{
	agent_watch_stop();
	context_ctld_stop();
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

/* Leases stay also if slurmctld drops its jobs: their tasks may still run. */
int switch_p_libstate_restore(char *dir_name, bool recover)
{
	(void) recover;
	if (switch_storm_refused())
		error("storm: %s; until then steps get no network context",
		      slurm_build_refusal());
	else
		context_ctld_start(dir_name);
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
	j->version = CONTEXT_NONE;
	*out = j;
	return SLURM_SUCCESS;
}

int switch_p_build_jobinfo(switch_jobinfo_t *j, slurm_step_layout_t *layout,
			   step_record_t *step)
{
	enum context_left left;

	(void) layout;
	if (!step || !running_in_slurmctld()) /* srun --no-allocate */
		return SLURM_SUCCESS;
	if (switch_storm_refused())
		return SLURM_SUCCESS;
	left = context_ctld_lease(step, &j->context);
	j->known = left == CONTEXT_LEASED;
	j->version = j->known ? CONTEXT_VERSION : CONTEXT_NONE;
	if (!j->known && left != CONTEXT_DISABLED) {
		j->bytes = xmalloc(1);
		j->bytes[0] = left;
		j->len = 1;
	}
	return SLURM_SUCCESS;
}

/* slurmctld makes copies only for its answers to srun. */
int switch_p_duplicate_jobinfo(switch_jobinfo_t *from, switch_jobinfo_t **out)
{
	switch_jobinfo_t *j = xmalloc(sizeof(*j));

	j->version = CONTEXT_NONE;
	if (from) {
		*j = *from;
		j->bytes = NULL;
	}
	if (j->len) { /* xmalloc(0) is NULL */
		j->bytes = xmalloc(j->len);
		memcpy(j->bytes, from->bytes, j->len);
	}
	j->leaves = true;
	*out = j;
	return SLURM_SUCCESS;
}

void switch_p_free_jobinfo(switch_jobinfo_t *j)
{
	if (!j)
		return;
	xfree(j->bytes);
	explicit_bzero(&j->context, sizeof(j->context));
	xfree(j);
}

/* In slurmctld.  Its saved state gets the lease; srun also gets the credential,
 * which is made here because no lock is held. */
static void switch_storm_pack_lease(const switch_jobinfo_t *j, buf_t *buffer)
{
	uint8_t bytes[CONTEXT_BYTES_MAX];
	char *cred = j->leaves ? context_ctld_sign(&j->context) : NULL;

	pack16(CONTEXT_VERSION, buffer);
	packmem((char *) bytes, context_pack(&j->context, cred, bytes), buffer);
	free(cred);
}

int switch_p_pack_jobinfo(switch_jobinfo_t *j, buf_t *buffer,
			  uint16_t protocol_version)
{
	(void) protocol_version;
	if (j && j->known && running_in_slurmctld()) {
		switch_storm_pack_lease(j, buffer);
		return SLURM_SUCCESS;
	}
	/* Slurm also packs contexts that were never allocated. */
	pack16(j ? j->version : CONTEXT_NONE, buffer);
	packmem(j ? j->bytes : NULL, j ? j->len : 0, buffer);
	return SLURM_SUCCESS;
}

/* Read a context of slurmctld's saved state. */
static void switch_storm_recover(switch_jobinfo_t *j)
{
	char cred[CONTEXT_CRED_MAX + 1];

	if (j->version != CONTEXT_VERSION || !j->len)
		return;
	j->known = context_unpack(j->bytes, j->len, &j->context, cred);
	if (!j->known)
		error("storm: cannot read a network context in slurmctld's saved state");
}

/* In srun: at -v, why its step has no context.  Contexts are optional. */
static void switch_storm_tell(const switch_jobinfo_t *j)
{
	if (j->version != CONTEXT_NONE || j->len != 1)
		return;
	if (j->bytes[0] == CONTEXT_QUOTA)
		verbose("storm: the step runs without a network context: this user's steps have as many as ContextsPerUser in storm.conf allows");
	else
		verbose("storm: the step runs without a network context: all are leased to other steps (ContextCount in storm.conf)");
}

int switch_p_unpack_jobinfo(switch_jobinfo_t **out, buf_t *buffer,
			    uint16_t protocol_version)
{
	switch_jobinfo_t *j = xmalloc(sizeof(*j));

	(void) protocol_version;
	safe_unpack16(&j->version, buffer);
	safe_unpackmem_xmalloc(&j->bytes, &j->len, buffer);
	if (running_in_slurmctld() && !switch_storm_refused())
		switch_storm_recover(j);
	else if (!running_in_daemon())
		switch_storm_tell(j);
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

/* A step has no context if it is older than contexts, or if storm.conf disables
 * them. */
int switch_p_job_preinit(stepd_step_rec_t *job)
{
	switch_jobinfo_t *j;

	if (switch_storm_refused())
		return SLURM_SUCCESS;
	j = job->switch_job ? job->switch_job->data : NULL;
	if (!j || j->version == CONTEXT_NONE)
		return SLURM_SUCCESS;
	if (j->version != CONTEXT_VERSION) {
		info("storm: %ps has a network context of version %u, which this node does not support: its tasks get none",
		     &job->step_id, j->version);
		return SLURM_SUCCESS;
	}
	j->known = context_step_verify(job, j->bytes, j->len, &j->context);
	j->refused = !j->known;
	/* Its tasks log the refusal.  On an error here, srun would expect no
	 * tasks. */
	return SLURM_SUCCESS;
}

int switch_p_job_init(stepd_step_rec_t *job)
{
	if (!switch_storm_refused())
		step_relay_start(job);
	return SLURM_SUCCESS;
}

int switch_p_job_attach(switch_jobinfo_t *j, char ***env, uint32_t nodeid,
			uint32_t procid, uint32_t nnodes, uint32_t nprocs,
			uint32_t rank)
{
	if (j && j->refused) {
		if (!procid) /* its number on this node */
			context_step_refusal();
		slurm_seterrno(ESLURM_INTERCONNECT_FAILURE);
		return SLURM_ERROR;
	}
	context_step_export(j && j->known ? &j->context : NULL, env);
	(void) nodeid;
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
	if (switch_storm_refused())
		return SLURM_SUCCESS;
	/* This hook must leave no process of the step. */
	if (job->jmgr_pid > 0 && kill(-job->jmgr_pid, SIGKILL) &&
	    errno != ESRCH)
		debug("%ps: kill: %m", &job->step_id);
	step_relay_drain();
	return SLURM_SUCCESS;
}

/* Gang scheduling must not continue a step that Slurm has suspended: with
 * cgroup v2 both use the same file. */
static void switch_storm_hold(const stepd_step_rec_t *job, bool hold)
{
	struct gang_step s = {
		.job = job->step_id.job_id,
		.step = job->step_id.step_id,
		.root = getpid(),
	};
	char dir[PATH_MAX], name[GANG_STEP_NAME];
	int err = gang_step_dir(NULL, conf->node_name, false, dir);

	gang_step_name(&s, name);
	if (!err)
		err = gang_step_hold(dir, name, hold);
	if (err && err != ENOENT) /* no gang scheduling here */
		error("storm: cannot update the gang scheduling record of %ps: %s",
		      &job->step_id, strerror(err));
}

int switch_p_job_step_pre_suspend(stepd_step_rec_t *job)
{
	if (!switch_storm_refused())
		switch_storm_hold(job, true);
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
		switch_storm_hold(job, false);
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

/* No process of the step is left on any node; at the latest at the job's
 * end. */
int switch_p_job_step_complete(switch_jobinfo_t *j, char *nodelist)
{
	(void) nodelist;
	if (j && j->known && running_in_slurmctld())
		context_ctld_return(&j->context);
	return SLURM_SUCCESS;
}

/* slurmctld has recovered a step. */
int switch_p_job_step_allocated(switch_jobinfo_t *j, char *nodelist)
{
	(void) nodelist;
	if (j && j->known && running_in_slurmctld())
		context_ctld_claim(&j->context);
	return SLURM_SUCCESS;
}

void switch_p_job_complete(uint32_t job_id)
{
	(void) job_id;
	if (running_in_slurmctld() && !switch_storm_refused())
		context_ctld_job_ends();
}
