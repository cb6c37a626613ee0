/*
 * checks.h - what slurm.conf must be like for gang scheduling: why sched/storm
 * cannot run, and what is likely not meant.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHECKS_H
#define STORM_CHECKS_H

#include <stdbool.h>

#include "src/slurmctld/slurmctld.h"

#include "src/storm_common/storm_conf.h"

/* What makes gang scheduling impossible: NULL, or why and what to do. */
const char *checks_refusal(void);

/* Log what a new configuration has that sched/storm would not have started
 * with, what is wrong with each gang partition, and the remedies.  Takes
 * slurmctld's read locks. */
void checks_warn(const struct storm_gang_conf *conf);

/* Do its jobs take turns?  Under the lock of partitions, when nodes are known. */
bool checks_is_gang(const struct storm_gang_conf *conf,
		    const part_record_t *part);

#endif
