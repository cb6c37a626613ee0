/*
 * health_keeper.h - the process that checks a node's health again and again, and tells
 * its agent.  It waits for nothing but its children and its agent.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_HEALTH_KEEPER_H
#define STORM_HEALTH_KEEPER_H

#include "health_measure.h"

/* What the agent gets after each round, as one packet. */
struct health_report {
	uint32_t cause; /* enum health_cause */
	uint32_t busy;	/* 1: there were jobs, so this is of an earlier round */
	char text[HEALTH_LINE]; /* with its NUL */
};

/* How long a round takes at most, in ns. */
uint64_t health_round_limit(const struct storm_health_conf *c);

/* Check until the agent closes its end of sock, which ends this process.  It returns
 * when the process of this pidfd has ended, with no check left.  spool: slurmd's
 * directory, where a socket <node>_<job>.<step> is for each step; program: NULL: none. */
void health_keep(int sock, int parent, const struct storm_health_conf *c,
		 const struct health_place *at, const char *spool,
		 const char *program);

#endif
