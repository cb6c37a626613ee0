/*
 * node_addr.h - the address on which a node's agent listens, by Slurm's name of
 * the node.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_NODE_ADDR_H
#define STORM_NODE_ADDR_H

#include <stdbool.h>

#include "slurm/slurm.h"

#include "src/libstorm/storm.h"

/* Set *out to an address of Slurm's, with port 0.  False: it is neither IPv4
 * nor IPv6. */
bool node_addr_of_slurm(const slurm_addr_t *in, struct storm_addr *out);

/* Set the address of each of these nodes that has none yet (port 0), by its
 * name: its BcastAddr if it has one, else its NodeAddr.  That may wait for a
 * name service, so many are looked up side by side.  Returns count; or the
 * index of one that Slurm does not know, or that has neither IPv4 nor IPv6. */
uint32_t node_addr_all(struct storm_node *nodes, uint32_t count, uint16_t port);

/* Write all addresses that name services have for a node to out, at most max,
 * with port 0.  Returns how many.  May wait for a name service. */
int node_addrs(const char *name, struct storm_addr *out, int max);
/* As node_addrs(), for a host that need be no node. */
int host_addrs(const char *host, struct storm_addr *out, int max);

#endif
