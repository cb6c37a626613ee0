/*
 * jobs_load.h - the running jobs, from slurmctld.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_JOBS_LOAD_H
#define STORM_JOBS_LOAD_H

#include "jobs_model.h"

/* Ask for the jobs that this user may see; out is filled, and is to be cleared in any
 * case.  Returns NULL, or why it is not whole: slurmctld did not answer, or there is no
 * memory. */
const char *jobs_load(struct jobs *out);

#endif
