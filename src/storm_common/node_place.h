/*
 * node_place.h - finds where this host is among the nodes, which shows the
 * interface to use.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_NODE_PLACE_H
#define STORM_NODE_PLACE_H

#include <stdbool.h>

#include "src/libstorm/storm.h"

/* Set *out to the address of this host at which nodes reach it.  node: its name in
 * Slurm; NULL: it is no node.  False: nothing shows it.  May wait for a name
 * service. */
bool node_place_find(const char *node, struct storm_addr *out);

#endif
