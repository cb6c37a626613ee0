/*
 * agent_place.h - finds where this node is among the others, which shows the
 * interface to use.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_PLACE_H
#define STORM_AGENT_PLACE_H

#include "src/storm_agent/agent.h"

/* Set *out to the address of this host at which other nodes reach it.  False:
 * nothing shows it.  Takes 3 s at most.  Call it before there are threads. */
bool agent_place_find(const char *node, struct storm_addr *out);
/* If nothing showed it, look again now and then.  The agent ends if its interface is
 * another one than the next agent would choose.  Returns when to call this again. */
uint64_t agent_place_tick(struct agent *a, uint64_t now);

#endif
