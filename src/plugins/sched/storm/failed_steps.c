/*
 * failed_steps.c - see failed_steps.h.
 *
 * kill_step_on_node() of slurmctld does nearly that.  But it also signals the node that
 * does not answer, again and again, and until 26.05 it gives up batch scripts, whose
 * jobs then never end.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <signal.h>
#include <string.h>

#include "slurm/slurm.h"
#include "src/common/bitstring.h"
#include "src/common/hostlist.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/node_conf.h"
#include "src/common/read_config.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/slurm/compat.h"
#include "src/slurm/layout.h"
#include "src/slurm/srun_comm.h"
#include "src/slurmctld/agent.h"
#include "src/slurmctld/slurmctld.h"

#include "failed_rules.h"
#include "failed_steps.h"

/* More are not remembered: slurmd ends them when it hears of their jobs' ends. */
#define GIVEN_MAX 65536

/* ------------------------------------------------------------------ whose --- */

static bool failed_steps_is_here(const node_record_t *node,
				 const bitstr_t *nodes)
{
	return nodes && (int) node->index < bit_size((bitstr_t *) nodes) &&
	       bit_test((bitstr_t *) nodes, node->index);
}

/* Has srun started it, does it run on the node? */
static bool failed_steps_has_srun(const node_record_t *node,
				  const step_record_t *step)
{
	return layout_fits_step(step) &&
	       step->step_id.step_id <= SLURM_MAX_NORMAL_STEP_ID &&
	       failed_steps_is_here(node, step->step_node_bitmap);
}

/* Is the job's script there?  slurmctld has a batch_host for srun and salloc, too. */
static bool failed_steps_has_script(const node_record_t *node,
				    const job_record_t *job)
{
	return job->batch_flag && !xstrcmp(job->batch_host, node->name);
}

/* Call act() for each job that runs on the node. */
static void failed_steps_jobs(const node_record_t *node, void *arg,
			      void (*act)(const node_record_t *node,
					  job_record_t *job, void *arg))
{
	list_itr_t *it = list_iterator_create(job_list);
	job_record_t *job;

	while ((job = list_next(it)))
		if (layout_fits_job(job) && IS_JOB_RUNNING(job) &&
		    !IS_JOB_COMPLETING(job) &&
		    failed_steps_is_here(node, job->node_bitmap))
			act(node, job, arg);
	list_iterator_destroy(it);
}

/* -------------------------------------------------------------------- told --- */

static slurm_addr_t *failed_steps_addr(const step_record_t *step)
{
	slurm_addr_t *addr = xmalloc(sizeof(*addr));
	char *host = slurm_conf_get_nodeaddr(step->host);

	slurm_set_addr(addr, step->port, host ? host : step->host);
	xfree(host);
	return addr;
}

static void failed_steps_tell_srun(const step_record_t *step, const char *text)
{
	agent_arg_t *to = xmalloc(sizeof(*to));
	srun_user_msg_t *msg = xmalloc(sizeof(*msg));

	COMPAT_USER_MSG_JOB(msg, step);
	msg->msg = xstrdup(text);
	to->node_count = 1;
	to->addr = failed_steps_addr(step);
	to->hostlist = hostlist_create(step->host);
	to->msg_type = SRUN_USER_MSG;
	to->msg_args = msg;
	to->protocol_version =
		MIN(SLURM_PROTOCOL_VERSION, step->start_protocol_ver);
	COMPAT_AGENT_CERT(to, step);
	set_agent_arg_r_uid(to, step->job_ptr->user_id);
	agent_queue_request(to);
}

static void failed_steps_tell_job(const node_record_t *node, job_record_t *job,
				  void *text)
{
	list_itr_t *it = list_iterator_create(job->step_list);
	step_record_t *step;
	bool told = false;

	while ((step = list_next(it))) {
		if (!failed_steps_has_srun(node, step) || !step->port ||
		    !step->host || !step->host[0])
			continue;
		failed_steps_tell_srun(step, text);
		told = true;
	}
	list_iterator_destroy(it);
	/* a script's output is written by its node, which must be there */
	if (!told && !failed_steps_has_script(node, job))
		srun_user_message(job, text);
}

void failed_steps_tell(const node_record_t *node, const char *text)
{
	failed_steps_jobs(node, (void *) text, failed_steps_tell_job);
}

/* ---------------------------------------------------------------- given up --- */

/* The number of the node among the step's. */
static int failed_steps_number(const node_record_t *node,
			       const step_record_t *step)
{
	int n = 0;

	for (int i = 0; i < (int) node->index; i++)
		n += bit_test(step->step_node_bitmap, i);
	return n;
}

void failed_given_add(struct failed_given *given, const char *node,
		      const slurm_step_id_t *id, uint32_t run)
{
	if (given->count == GIVEN_MAX)
		return;
	xrecalloc(given->step, given->count + 1, sizeof(*given->step));
	given->step[given->count++] = (struct failed_step) {
		.node = xstrdup(node), .id = *id, .run = run
	};
	given->changed = true;
}

/* End the step's tasks on these hosts, which are taken over. */
static void failed_steps_kill(const slurm_step_id_t *id, struct hostlist *hosts,
			      uint16_t version)
{
	signal_tasks_msg_t *msg = xmalloc(sizeof(*msg));
	agent_arg_t *to = xmalloc(sizeof(*to));

	msg->step_id = *id;
	msg->signal = SIGKILL;
	to->node_count = hostlist_count(hosts);
	to->retry = 1;
	to->hostlist = hosts;
	to->msg_type = REQUEST_TERMINATE_TASKS;
	to->msg_args = msg;
	to->protocol_version = version;
	set_agent_arg_r_uid(to, SLURM_AUTH_UID_ANY);
	agent_queue_request(to);
}

/* On all of its nodes but the one that has failed, and others that do not answer. */
static void failed_steps_kill_rest(const node_record_t *node,
				   const step_record_t *step)
{
	struct hostlist *hosts = hostlist_create(NULL);
	uint16_t version = SLURM_PROTOCOL_VERSION;

	for (int i = 0; i < node_record_count; i++) {
		const node_record_t *n = node_record_table_ptr[i];

		if (!n || n == node || IS_NODE_NO_RESPOND(n) ||
		    !failed_steps_is_here(n, step->step_node_bitmap))
			continue;
		hostlist_push_host(hosts, n->name);
		version = MIN(version, n->protocol_version);
	}
	if (hostlist_count(hosts))
		failed_steps_kill(&step->step_id, hosts, version);
	else
		hostlist_destroy(hosts);
}

/* What its tasks there have done is lost.  This may free the step. */
static void failed_steps_complete(const node_record_t *node,
				  const step_record_t *step)
{
	int n = failed_steps_number(node, step), rest;
	step_complete_msg_t msg = { .step_id = step->step_id,
				    .range_first = n,
				    .range_last = n,
				    .step_rc = SIGKILL };
	uint32_t code;

	step_partial_comp(&msg, slurm_conf.slurm_user_id, true, &rest, &code);
}

static bool failed_steps_is_given(const struct failed_given *given,
				  const node_record_t *node,
				  const job_record_t *job,
				  const slurm_step_id_t *id)
{
	for (uint32_t i = 0; i < given->count; i++) {
		const struct failed_step *s = &given->step[i];

		if (s->id.job_id == job->job_id && s->run == job->restart_cnt &&
		    (!id || (s->id.step_id == id->step_id &&
			     s->id.step_het_comp == id->step_het_comp)) &&
		    !xstrcmp(s->node, node->name))
			return true;
	}
	return false;
}

static void failed_steps_end_step(const node_record_t *node,
				  step_record_t *step,
				  struct failed_given *given)
{
	info("storm: %ps: node %s has failed: %s", &step->step_id, node->name,
	     step->flags & SSF_NO_KILL ? "it goes on without (--no-kill)" :
					 "ending it");
	failed_given_add(given, node->name, &step->step_id,
			 step->job_ptr->restart_cnt);
	if (!(step->flags & SSF_NO_KILL))
		failed_steps_kill_rest(node, step);
	failed_steps_complete(node, step);
}

/* The ids of the steps, as a step that is over leaves the list.  A node may fail again
 * before it is back: those that were given up before know it. */
static void failed_steps_end_job(const node_record_t *node, job_record_t *job,
				 void *given)
{
	slurm_step_id_t *ids = NULL;
	step_record_t *step;
	list_itr_t *it;
	uint32_t n = 0;

	/* its script has gone with the node: only slurmctld can end the job */
	if (failed_steps_has_script(node, job))
		return;
	it = list_iterator_create(job->step_list);
	while ((step = list_next(it))) {
		if (!failed_steps_has_srun(node, step) ||
		    failed_steps_is_given(given, node, job, &step->step_id))
			continue;
		xrecalloc(ids, n + 1, sizeof(*ids));
		ids[n++] = step->step_id;
	}
	list_iterator_destroy(it);
	if (n || !failed_steps_is_given(given, node, job, NULL))
		srun_node_fail(job, node->name);
	for (uint32_t i = 0; i < n; i++) {
		step = find_step_record(job, &ids[i]);
		if (step)
			failed_steps_end_step(node, step, given);
	}
	xfree(ids);
}

void failed_steps_end(const node_record_t *node, struct failed_given *given)
{
	failed_steps_jobs(node, given, failed_steps_end_job);
}

/* A job that was requeued may run there again.  What is left of its last run slurmd has
 * ended by slurmctld's word, before it took the next. */
static bool failed_steps_is_same(const struct failed_step *s)
{
	const job_record_t *job = find_job_record(s->id.job_id);

	bool gone = !job || !layout_fits_job(job);

	return failed_is_same_run(gone, gone ? 0 : job->restart_cnt, s->run);
}

void failed_steps_fence(const node_record_t *node, struct failed_given *given)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < given->count; i++) {
		struct failed_step *s = &given->step[i];

		if (node && xstrcmp(s->node, node->name)) {
			given->step[kept++] = *s;
			continue;
		}
		if (node && failed_steps_is_same(s))
			failed_steps_kill(&s->id, hostlist_create(s->node),
					  node->protocol_version);
		xfree(s->node);
	}
	given->changed |= kept < given->count;
	given->count = kept;
	if (!kept)
		xfree(given->step);
}
