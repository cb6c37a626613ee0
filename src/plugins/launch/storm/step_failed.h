/*
 * step_failed.h - which odd nodes have failed (FailedLaunch): neither STORM nor
 * Slurm reaches them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_FAILED_H
#define STORM_STEP_FAILED_H

#include "src/libstorm/storm.h"

struct hostlist;
struct step_domain;

/*
 * Ask the slurmds of the nodes that have faults, for 1 s each, whether they accept a
 * connection.  Returns those that do not
 * (hostlist_destroy()), and sets *why to their names and the causes (xfree).  NULL:
 * all do, or no fault is of a node; *why is unchanged.
 *
 * A domain names the first faults that it has.  all: if one has failed, the agents of
 * all others are asked, too, and then the slurmds of those that do not answer.  That takes
 * at most 1.25 s each time.  512 are asked at the same time, and none begins after 0.25 s.
 * So if more than that give no answer, some are not asked, and not named.
 */
struct hostlist *step_failed_ask(const struct step_domain *sd,
				 const struct storm_outcome *out, bool all,
				 char **why);

#endif
