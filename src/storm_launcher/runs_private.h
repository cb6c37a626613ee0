/*
 * runs_private.h - what runs.c has for runs_begin.c and runs_input.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUNS_PRIVATE_H
#define STORM_RUNS_PRIVATE_H

#include "runs.h"

/* Have all tasks of its nth node ended, or are they lost? */
bool runs_node_done(const struct user_run *run, uint32_t nth);
void runs_free(struct user_run *run);
/* How many of a node's CPUs it has, which is its nth one. */
uint32_t run_cpus_on(const struct runs *r, const struct user_run *run,
		     uint32_t node, uint32_t nth);

#endif
