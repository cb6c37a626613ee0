/*
 * agent_flood.h - bounds the share of a CPU that a flood costs this node:
 * datagrams that nobody in a session has sent.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_FLOOD_H
#define STORM_AGENT_FLOOD_H

#include <stdint.h>

struct agent;

/* Read the network, unless it has to wait. */
void agent_flood_poll(struct agent *a);
/* Read again when the wait is over, and remove a filter that is not needed.
 * Returns when to call again, or STORM_NEVER. */
uint64_t agent_flood_tick(struct agent *a, uint64_t now);

#endif
