/*
 * node_addr.h - the address on which a node's agent listens, by Slurm's name of
 * the node.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_NODE_ADDR_H
#define STORM_NODE_ADDR_H

#include <stdbool.h>

#include "src/libstorm/storm.h"

/* The node's BcastAddr if it has one, else its NodeAddr.  May wait for a name
 * service.  False: unknown, or neither IPv4 nor IPv6; *out is unchanged. */
bool node_addr(const char *name, uint16_t port, struct storm_addr *out);

/* Every address that a name service has for it, at most max; returns how many.  The
 * port is 0.  May wait for a name service. */
int node_addrs(const char *name, struct storm_addr *out, int max);
/* The same of any host. */
int host_addrs(const char *host, struct storm_addr *out, int max);

#endif
