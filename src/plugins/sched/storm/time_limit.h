/*
 * time_limit.h - in the partitions of LimitByTurns, a job's time limit counts
 * only the time in which it had its cores, and not the turns of others
 * (Quadrics paper, section 2).  slurmctld ends a job at its end_time, so that
 * is moved by the time that the job has stood outside its turns.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_TIME_LIMIT_H
#define STORM_TIME_LIMIT_H

#include <stdint.h>

#include "shares.h"
#include "src/slurmctld/slurmctld.h"
#include "src/storm_common/storm_conf.h"

/* Move the job's end by what its account says, though never further than its
 * turns can take.  Time in which an administrator holds the job counts, too;
 * its owner's does not.  Does nothing in other partitions, and for a job that
 * has no limit, does not run, or is being preempted.  The caller holds
 * slurmctld's job write lock. */
void time_limit_move(const struct storm_gang_conf *conf, job_record_t *job,
		     const struct share *s);

#endif
