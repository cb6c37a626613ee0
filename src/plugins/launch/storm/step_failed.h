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
 * Ask the slurmds of the nodes that have faults, all at the same time and at most
 * 1 s, whether they accept a connection.  Returns those that do not
 * (hostlist_destroy()), and sets *why to their names and the causes (xfree).  NULL:
 * all do, or no fault is of a node; *why is unchanged.
 *
 * A domain names the first faults that it has.  all: if one has failed, the agents of
 * all others are asked, too, and the slurmds of those that do not answer: for 1 s each.
 */
struct hostlist *step_failed_ask(const struct step_domain *sd,
				 const struct storm_outcome *out, bool all,
				 char **why);

#endif
