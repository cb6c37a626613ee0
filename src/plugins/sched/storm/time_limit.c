/*
 * time_limit.c - the ends of jobs whose time limit counts turns: see time_limit.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "slurm/slurm.h"
#include "src/slurmctld/slurmctld.h"

#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "time_limit.h"

/* s by which the account of a job that takes turns may be old when slurmctld looks at
 * its end: the strober reports every second, the end moves every two, and in whole
 * ones.  So a job rather has a little more than its limit than less. */
#define ACCOUNT_AGE 4

static bool time_limit_counts_turns(const struct storm_gang_conf *conf,
				    const job_record_t *job)
{
	const struct storm_conf_partition *p =
		job->part_ptr ?
			storm_conf_partition(conf, job->part_ptr->name) :
			NULL;

	return p && p->limit_by_turns && IS_JOB_RUNNING(job) &&
	       !IS_JOB_COMPLETING(job) && !job->preempt_time &&
	       job->time_limit != INFINITE && job->time_limit != NO_VAL;
}

static uint32_t time_limit_heaviest(const struct storm_gang_conf *conf)
{
	uint32_t most = 1;

	for (uint32_t i = 0; i < conf->qoses; i++)
		most = storm_max(most, conf->qos[i].weight);
	return most;
}

/* s.  A job that is held by its owner, or has no turns to wait for, gets no more. */
static time_t time_limit_waited(const struct storm_gang_conf *conf,
				const job_record_t *job, const struct share *s)
{
	uint32_t sharers = job->part_ptr->max_share & ~SHARED_FORCE;
	time_t most = shares_wait_most(job->time_limit * 60,
				       storm_max(sharers, 1) - 1, s->weight,
				       time_limit_heaviest(conf));
	time_t waited = s->waited / STORM_SEC;

	if (s->held ? !s->by_owner : s->slots && s->slots < s->cycle)
		waited += ACCOUNT_AGE;
	return storm_min(waited, most);
}

/* From the start on, so that it survives what resumes a job, and a controller that
 * starts again.  Never back: slurmctld has added the time in which nodes boot. */
void time_limit_move(const struct storm_gang_conf *conf, job_record_t *job,
		     const struct share *s)
{
	time_t end;

	if (!time_limit_counts_turns(conf, job))
		return;
	end = job->start_time + (time_t) job->time_limit * 60 +
	      job->tot_sus_time + time_limit_waited(conf, job, s);
	if (end > job->end_time)
		job->end_time = job->end_time_exp = end;
}
