/*
 * stack_job.c - see stack_job.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"

#include "src/slurm/compat.h"
#include "src/storm_common/held_word.h"
#include "stack_job.h"
#include "stack_steps.h"

/* The user's words: a job, its task or NO_VAL, and the step. */
static bool stack_parse(const char *text, uint32_t *id, uint32_t *task,
			char *step, size_t size)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	*id = (uint32_t) n;
	*task = NO_VAL;
	*step = '\0';
	if (*text < '0' || *text > '9' || !n || n >= NO_VAL)
		return false;
	if (*end == '_' && end[1] >= '0' && end[1] <= '9')
		*task = (uint32_t) strtoul(end + 1, &end, 10);
	if (!*end)
		return true;
	if (*end++ != '.')
		return false;
	if (!strcmp(end, "batch")) {
		snprintf(step, size, "batch");
		return true;
	}
	if (*end < '0' || *end > '9')
		return false;
	n = strtoul(end, &end, 10);
	/* as Slurm writes it */
	snprintf(step, size, "%lu", n);
	return !*end && n < NO_VAL;
}

static const slurm_job_info_t *stack_record(const job_info_msg_t *m,
					    uint32_t id, uint32_t task)
{
	for (uint32_t i = 0; i < m->record_count; i++) {
		const slurm_job_info_t *r = &m->job_array[i];

		if (task == NO_VAL ?
			    r->job_id == id :
			    r->array_job_id == id && r->array_task_id == task)
			return r;
	}
	return NULL;
}

static bool stack_no(const char *job, const char *why)
{
	fprintf(stderr, "storm: job %s: %s\n", job, why);
	return false;
}

/* Could its user start a step on each node of it now? */
static bool stack_can(const char *text, const slurm_job_info_t *r)
{
	const struct passwd *pw;
	struct held_word held;

	if ((r->job_state & JOB_STATE_BASE) == JOB_SUSPENDED)
		return stack_no(text, "it is suspended; scontrol resume it");
	if ((r->job_state & JOB_STATE_BASE) == JOB_PENDING)
		return stack_no(
			text,
			"it has not started; squeue says what it waits for");
	if ((r->job_state & JOB_STATE_BASE) != JOB_RUNNING ||
	    (r->job_state & JOB_COMPLETING))
		return stack_no(text,
				"it has ended; squeue shows those that run");
	if (r->user_id != getuid()) {
		pw = getpwuid(r->user_id);
		fprintf(stderr,
			"storm: job %s is %s's, and only this user sees its stacks\n",
			text, pw ? pw->pw_name : "another user");
		return false;
	}
	/* what looks would stand as well */
	if (held_word_read(r->system_comment, &held))
		return stack_no(text, "it is held; storm release it");
	return true;
}

/* Otherwise it would be a look at no process. */
static bool stack_is_step(const char *text, const struct stack_job *j)
{
	if (!*j->step || stack_steps_has(j->id, j->step))
		return true;
	fprintf(stderr,
		"storm: job %.*s has no %s%s%s now; see squeue -s -j %u\n",
		(int) strcspn(text, "."), text,
		strcmp(j->step, "batch") ? "step " : "", j->step,
		strcmp(j->step, "batch") ? "" : " step", j->id);
	return false;
}

bool stack_job_find(const char *text, struct stack_job *out)
{
	const slurm_job_info_t *r;
	job_info_msg_t *m = NULL;
	uint32_t id, task;
	bool well;

	if (!stack_parse(text, &id, &task, out->step, sizeof(out->step))) {
		fprintf(stderr,
			"storm: \"%s\" is no job: it is JOB, JOB.STEP or ARRAY_TASK.STEP\n",
			text);
		return false;
	}
	if (compat_load_job(&m, id))
		return stack_no(text, errno == ESLURM_INVALID_JOB_ID ?
					      "there is no such job" :
					      slurm_strerror(errno));
	r = stack_record(m, id, task);
	well = r ? stack_can(text, r) : stack_no(text, "there is no such job");
	if (well) {
		out->id = r->job_id;
		out->nodes = r->num_nodes;
		out->names = strdup(r->nodes ? r->nodes : "");
		well = out->names && out->nodes && stack_is_step(text, out);
	}
	slurm_free_job_info_msg(m);
	return well;
}

char *stack_job_node(const struct stack_job *j, uint32_t nth)
{
	struct hostlist *all = slurm_hostlist_create(j->names);
	char *one = NULL, *found = NULL;

	for (uint32_t k = 0; all && k <= nth; k++) {
		free(one);
		one = slurm_hostlist_shift(all);
	}
	if (one)
		found = strdup(one);
	free(one);
	if (all)
		slurm_hostlist_destroy(all);
	return found;
}
