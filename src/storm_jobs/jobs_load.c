/*
 * jobs_load.c - see jobs_load.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <pwd.h>
#include <search.h>
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

/* Numbers for the names of nodes: a tree of tsearch(). */
struct jobs_node {
	const char *name; /* the jobs' */
	uint32_t number;
};

/* What is remembered while jobs are loaded. */
struct jobs_known {
	void *nodes;
	struct jobs_user {
		uint32_t uid;
		char *name; /* free */
	} * user;	    /* nusers of them (free) */
	uint32_t nusers;
};

static int jobs_compare(const void *x, const void *y)
{
	const struct jobs_node *a = x, *b = y;

	return strcmp(a->name, b->name);
}

/* Takes over name.  NULL: no memory. */
static const struct jobs_node *jobs_node(struct jobs *out, char *name,
					 struct jobs_known *known)
{
	struct jobs_node *n = malloc(sizeof(*n)), **found;

	if (!n) {
		free(name);
		return NULL;
	}
	*n = (struct jobs_node) { name, out->nnodes };
	found = tsearch(n, &known->nodes, jobs_compare);
	if (found && *found == n)
		return jobs_add_node(out, name) ? n : NULL;
	free(name);
	free(n);
	return found ? *found : NULL;
}

/* A user's name, or number.  NULL: no memory. */
static const char *jobs_user(struct jobs_known *known, uint32_t uid)
{
	const struct passwd *pw;
	struct jobs_user *more;
	char text[16];

	for (uint32_t i = 0; i < known->nusers; i++)
		if (known->user[i].uid == uid)
			return known->user[i].name;
	more = realloc(known->user, (known->nusers + 1) * sizeof(*more));
	if (!more)
		return NULL;
	known->user = more;
	pw = getpwuid(uid);
	snprintf(text, sizeof(text), "%u", uid);
	more[known->nusers] =
		(struct jobs_user) { uid, strdup(pw ? pw->pw_name : text) };
	return more[known->nusers++].name;
}

static void jobs_forget(struct jobs_known *known)
{
	tdestroy(known->nodes, free);
	for (uint32_t i = 0; i < known->nusers; i++)
		free(known->user[i].name);
	free(known->user);
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
			    struct jobs_known *known)
{
	struct hostlist *hl = hostlist_create(r->nodes);
	uint32_t shape = 0, of_shape = 0, at = 0;
	const struct jobs_node *node;
	bool fine = true;
	char *name;

	while (fine && hl && (name = hostlist_shift(hl))) {
		uint32_t count = (uint32_t) r->sockets_per_node[shape] *
				 r->cores_per_socket[shape];

		node = jobs_node(out, name, known);
		fine = node && jobs_load_node(out, r->core_bitmap, at, count,
					      node->number);
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

static bool jobs_load_one(struct jobs *out, const slurm_job_info_t *j,
			  struct jobs_known *known)
{
	struct jobs_job *job = jobs_add(out);
	const job_resources_t *r = j->job_resrcs;
	const char *user = jobs_user(known, j->user_id);

	if (!job || !user)
		return false;
	job->number = j->job_id;
	job->id = jobs_load_id(j);
	job->name = strdup(j->name ? j->name : "");
	job->user = strdup(user);
	job->partition = strdup(j->partition ? j->partition : "");
	job->nodes = strdup(j->nodes ? j->nodes : "");
	job->suspended = (j->job_state & JOB_STATE_BASE) == JOB_SUSPENDED;
	job->takes_turns = turns_word_read(j->system_comment, &job->turns);
	job->held = held_word_read(j->system_comment, &job->hold);
	if (!job->id || !job->name || !job->user || !job->partition ||
	    !job->nodes)
		return false;
	return !r || !r->core_bitmap || !r->nodes || !r->sockets_per_node ||
	       !r->cores_per_socket || !r->sock_core_rep_count ||
	       jobs_load_cores(out, r, known);
}

const char *jobs_load(struct jobs *out)
{
	struct jobs_known known = { 0 };
	job_info_msg_t *msg = NULL;
	bool fine = true;

	*out = (struct jobs) { 0 };
	if (slurm_load_jobs(0, &msg, SHOW_ALL | SHOW_DETAIL))
		return slurm_strerror(errno);
	for (uint32_t i = 0; fine && i < msg->record_count; i++) {
		const slurm_job_info_t *j = &msg->job_array[i];
		uint32_t state = j->job_state & JOB_STATE_BASE;

		if (state == JOB_RUNNING || state == JOB_SUSPENDED)
			fine = jobs_load_one(out, j, &known);
	}
	fine = fine && jobs_share(out);
	slurm_free_job_info_msg(msg);
	jobs_forget(&known);
	return fine ? NULL : strerror(ENOMEM);
}
