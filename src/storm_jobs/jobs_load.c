/*
 * jobs_load.c - see jobs_load.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/bitstring.h"
#include "src/common/hostlist.h"
#include "src/common/job_resources.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "jobs_load.h"
#include "src/slurm/compat.h"

/* Numbers for the names of nodes. */
struct jobs_nodes {
	struct hostlist *names;
};

static uint32_t jobs_node(struct jobs_nodes *n, const char *name)
{
	int at = hostlist_find(n->names, name);

	if (at >= 0)
		return (uint32_t) at;
	hostlist_push_host(n->names, name);
	return (uint32_t) hostlist_count(n->names) - 1;
}

/* The cores of one node begin at this bit. */
static bool jobs_load_node(struct jobs *out, bitstr_t *cores, uint32_t at,
			   uint32_t count, uint32_t node)
{
	struct jobs_cores c = { .job = out->count - 1, .node = node };
	bool open = false;

	for (uint32_t i = 0; i <= count; i++) {
		bool set = i < count && at + i < (uint32_t) bit_size(cores) &&
			   bit_test(cores, at + i);

		if (set && !open)
			c.first = i;
		else if (!set && open) {
			c.last = i - 1;
			if (!jobs_add_cores(out, &c))
				return false;
		}
		open = set;
	}
	return true;
}

/* Nodes of equal shape are counted together (sock_core_rep_count). */
static bool jobs_load_cores(struct jobs *out, const job_resources_t *r,
			    struct jobs_nodes *nodes)
{
	struct hostlist *hl = hostlist_create(r->nodes);
	uint32_t shape = 0, of_shape = 0, at = 0;
	bool fine = true;
	char *name;

	while (fine && hl && (name = hostlist_shift(hl))) {
		uint32_t count = (uint32_t) r->sockets_per_node[shape] *
				 r->cores_per_socket[shape];

		fine = jobs_load_node(out, r->core_bitmap, at, count,
				      jobs_node(nodes, name));
		free(name);
		at += count;
		if (++of_shape == r->sock_core_rep_count[shape]) {
			shape++;
			of_shape = 0;
		}
	}
	if (hl)
		hostlist_destroy(hl);
	return fine;
}

static char *jobs_load_id(const slurm_job_info_t *j)
{
	char text[64];

	if (j->array_job_id && j->array_task_id != NO_VAL)
		snprintf(text, sizeof(text), "%u_%u", j->array_job_id,
			 j->array_task_id);
	else if (j->het_job_id)
		snprintf(text, sizeof(text), "%u+%u", j->het_job_id,
			 j->het_job_offset);
	else
		snprintf(text, sizeof(text), "%u", j->job_id);
	return strdup(text);
}

static char *jobs_load_user(uint32_t uid)
{
	const struct passwd *pw = getpwuid(uid);
	char text[16];

	if (pw)
		return strdup(pw->pw_name);
	snprintf(text, sizeof(text), "%u", uid);
	return strdup(text);
}

static bool jobs_load_one(struct jobs *out, const slurm_job_info_t *j,
			  struct jobs_nodes *nodes)
{
	struct jobs_job *job = jobs_add(out);
	const job_resources_t *r = j->job_resrcs;

	if (!job)
		return false;
	job->id = jobs_load_id(j);
	job->user = jobs_load_user(j->user_id);
	job->partition = strdup(j->partition ? j->partition : "");
	job->nodes = strdup(j->nodes ? j->nodes : "");
	job->suspended = (j->job_state & JOB_STATE_BASE) == JOB_SUSPENDED;
	job->takes_turns = turns_word_read(j->system_comment, &job->turns);
	job->held = held_word_read(j->system_comment, &job->hold);
	if (!job->id || !job->user || !job->partition || !job->nodes)
		return false;
	return !r || !r->core_bitmap || !r->nodes || !r->sockets_per_node ||
	       !r->cores_per_socket || !r->sock_core_rep_count ||
	       jobs_load_cores(out, r, nodes);
}

bool jobs_load(struct jobs *out)
{
	struct jobs_nodes nodes = { hostlist_create(NULL) };
	job_info_msg_t *msg = NULL;
	bool fine = true;

	*out = (struct jobs) { 0 };
	if (slurm_load_jobs(0, &msg, SHOW_ALL | SHOW_DETAIL)) {
		fprintf(stderr, "storm: slurmctld does not say its jobs: %s\n",
			slurm_strerror(errno));
		hostlist_destroy(nodes.names);
		return false;
	}
	for (uint32_t i = 0; fine && i < msg->record_count; i++) {
		const slurm_job_info_t *j = &msg->job_array[i];
		uint32_t state = j->job_state & JOB_STATE_BASE;

		if (state == JOB_RUNNING || state == JOB_SUSPENDED)
			fine = jobs_load_one(out, j, &nodes);
	}
	fine = fine && jobs_share(out);
	if (!fine)
		fprintf(stderr, "storm: out of memory\n");
	slurm_free_job_info_msg(msg);
	hostlist_destroy(nodes.names);
	return fine;
}
