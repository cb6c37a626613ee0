/*
 * checks.h - check that slurm.conf suits gang scheduling: log what prevents
 * sched/storm from running, and what is probably a mistake.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHECKS_H
#define STORM_CHECKS_H

#include <stdbool.h>

#include "src/slurmctld/slurmctld.h"

#include "src/storm_common/storm_conf.h"

/* The reason why slurm.conf makes gang scheduling impossible, with its remedy:
 * a constant string.  NULL: gang scheduling is possible. */
const char *checks_refusal(void);

/* Log, with remedies, what is wrong with each gang partition, and what
 * checks_refusal() returns.  Takes slurmctld's read locks. */
void checks_warn(const struct storm_gang_conf *conf);

/* Do the partition's jobs take turns?  The caller holds slurmctld's partition
 * lock; the nodes are known. */
bool checks_is_gang(const struct storm_gang_conf *conf,
		    const part_record_t *part);

#endif
