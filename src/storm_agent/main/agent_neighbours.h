/*
 * agent_neighbours.h - notices, and logs, that the kernel discards packets to
 * other hosts because its table of neighbours is full.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_NEIGHBOURS_H
#define STORM_AGENT_NEIGHBOURS_H

#include <stdint.h>

struct agent;

/* Look now and then while there are sessions, whenever the loop runs anyway.
 * Returns STORM_NEVER. */
uint64_t agent_neighbours_tick(struct agent *a, uint64_t now);

#endif
