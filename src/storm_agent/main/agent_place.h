/*
 * agent_place.h - finds where this node is among the others, which shows the
 * interface to use.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_PLACE_H
#define STORM_AGENT_PLACE_H

#include "src/libstorm/storm.h"

/* Set *out to the address of this host at which other nodes reach it.  False:
 * nothing shows it.  Takes 3 s at most.  Call it before there are threads. */
bool agent_place_find(const char *node, struct storm_addr *out);

#endif
