/*
 * time_limit.c - the ends of jobs whose time limit counts turns: see time_limit.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "slurm/slurm.h"
#include "src/slurmctld/slurmctld.h"

#include "src/libstorm/base/clock.h"
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

/* From the start on, so that it survives what resumes a job, and a controller that
 * starts again.  Never back: slurmctld has added the time in which nodes boot. */
void time_limit_move(const struct storm_gang_conf *conf, job_record_t *job,
		     uint64_t waited, bool shares)
{
	time_t end;

	if (!time_limit_counts_turns(conf, job))
		return;
	end = job->start_time + (time_t) job->time_limit * 60 +
	      job->tot_sus_time + (time_t) (waited / STORM_SEC) +
	      (shares ? ACCOUNT_AGE : 0);
	if (end > job->end_time)
		job->end_time = job->end_time_exp = end;
}
