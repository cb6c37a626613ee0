/*
 * checks.h - checks that slurm.conf suits gang scheduling, and logs what
 * prevents it and what is probably a mistake.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHECKS_H
#define STORM_CHECKS_H

#include <stdbool.h>

#include "src/slurmctld/slurmctld.h"

#include "src/storm_common/storm_conf.h"

/* A constant string: why slurm.conf makes gang scheduling impossible, and the
 * remedy.  NULL: it is possible. */
const char *checks_refusal(void);

/* Log what is wrong with each gang partition, with its remedy, and what
 * checks_refusal() returns.  Takes slurmctld's read locks. */
void checks_warn(const struct storm_gang_conf *conf);

/* Do the partition's jobs take turns?  The caller holds slurmctld's partition
 * lock; the nodes are known. */
bool checks_is_gang(const struct storm_gang_conf *conf,
		    const part_record_t *part);

#endif
