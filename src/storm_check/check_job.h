/*
 * check_job.h - runs storm check on other nodes, by a short job of Slurm's own
 * launch, and compares what they say with this host.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHECK_JOB_H
#define STORM_CHECK_JOB_H

#include "src/storm_common/storm_conf.h"

/* On a node, in the job: print the lines of the check, and the node's clock,
 * credential and keys. */
void check_job_report(const struct storm_conf *conf);
/* Run the job on these nodes, and take what it prints. */
void check_job(const char *nodes, const struct storm_conf *conf);

#endif
