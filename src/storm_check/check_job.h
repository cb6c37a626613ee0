/*
 * check_job.h - run storm check on other nodes, by a short job of Slurm's own launch,
 * and compare what they say with this host.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHECK_JOB_H
#define STORM_CHECK_JOB_H

#include "src/storm_common/storm_conf.h"

/* What the job runs on a node: its lines, and its clock, credential and keys. */
void check_job_report(const struct storm_conf *conf);
/* Run it on these nodes. */
void check_job(const char *nodes, const struct storm_conf *conf);

#endif
