/*
 * stack_steps.c - see stack_steps.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"

#include "src/slurm/step_query.h"
#include "stack_steps.h"

/* All steps of a job, which the caller frees, or NULL.  *none: there is none at all. */
static job_step_info_response_msg_t *steps_load(uint32_t job, bool *none)
{
	job_step_info_response_msg_t *m = NULL;

	*none = false;
	if (!step_query_all(job, &m))
		return m;
	*none = errno == ESLURM_INVALID_JOB_ID;
	return NULL;
}

bool stack_steps_has(uint32_t job, const char *step)
{
	uint32_t wanted = strcmp(step, "batch") != 0 ?
				  (uint32_t) strtoul(step, NULL, 10) :
				  SLURM_BATCH_SCRIPT;
	job_step_info_response_msg_t *m;
	bool none, has;

	m = steps_load(job, &none);
	has = !m && !none; /* it does not answer */
	for (uint32_t k = 0; m && k < m->job_step_count; k++)
		has |= m->job_steps[k].step_id.step_id == wanted;
	slurm_free_job_step_info_response_msg(m);
	return has;
}

/* The short names of hosts. */
static bool steps_is_here(const char *host)
{
	char own[128] = "";

	gethostname(own, sizeof(own) - 1);
	own[strcspn(own, ".")] = '\0';
	return host && strlen(own) == strcspn(host, ".") &&
	       !strncmp(host, own, strlen(own));
}

/* slurmctld lists a step until all its nodes have told its end, which is after its srun's;
 * and one whose srun was killed goes on for as long as its tasks do. */
static bool steps_is_over(const job_step_info_t *s)
{
	return s->srun_pid && steps_is_here(s->srun_host) &&
	       kill((pid_t) s->srun_pid, 0) && errno == ESRCH;
}

bool stack_steps_other(uint32_t job, pid_t own, struct stack_other *out)
{
	job_step_info_response_msg_t *m;
	uint32_t before = UINT32_MAX;
	bool none, found = false;

	m = steps_load(job, &none);
	for (uint32_t k = 0; m && own && k < m->job_step_count; k++) {
		const job_step_info_t *s = &m->job_steps[k];

		if (s->srun_pid == (uint32_t) own &&
		    steps_is_here(s->srun_host))
			before = s->step_id.step_id;
	}
	for (uint32_t k = 0; m && k < m->job_step_count; k++) {
		const job_step_info_t *s = &m->job_steps[k];

		if (!s->name || strcmp(s->name, STACK_STEP_NAME) != 0 ||
		    s->step_id.step_id >= before || steps_is_over(s))
			continue;
		found = true;
		before = s->step_id.step_id;
		out->step = before;
		out->srun = s->srun_pid;
		snprintf(out->host, sizeof(out->host), "%s",
			 s->srun_host ? s->srun_host : "?");
	}
	slurm_free_job_step_info_response_msg(m);
	return found;
}

void stack_steps_tell(uint32_t job, const struct stack_other *other,
		      const char *what)
{
	fprintf(stderr,
		"storm: job %u: another storm stack looks at it now: step %u.%u, of srun %u on %s; %s\n",
		job, job, other->step, other->srun, other->host, what);
}
