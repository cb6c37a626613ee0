/*
 * time_limit.h - a job's time limit counts what it has had of its cores, not what
 * others had meanwhile (Quadrics paper, section 2), in the partitions of
 * LimitByTurns.  slurmctld ends a job at its end_time; that moves by the time
 * that the job has stood out of its turns.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_TIME_LIMIT_H
#define STORM_TIME_LIMIT_H

#include <stdint.h>

#include "shares.h"
#include "src/slurmctld/slurmctld.h"
#include "src/storm_common/storm_conf.h"

/* Move the job's end by what its account says, though never further than its turns can
 * take.  Time in which its owner holds it is not in that; an administrator's is.
 * Holds slurmctld's job write lock.  Does nothing in other partitions, and for a job
 * that has no limit, does not run, or is being preempted. */
void time_limit_move(const struct storm_gang_conf *conf, job_record_t *job,
		     const struct share *s);

#endif
