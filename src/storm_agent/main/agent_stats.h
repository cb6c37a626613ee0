/*
 * agent_stats.h - the agent's counters.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_STATS_H
#define STORM_AGENT_STATS_H

#include <stddef.h>

struct agent;

/* Write the counters to buf as JSON, with a NUL at the end. */
void agent_stats(struct agent *a, char *buf, size_t size);

#endif
