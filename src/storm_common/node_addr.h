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

/* The port becomes 0.  False: it is neither IPv4 nor IPv6. */
bool node_addr_of_slurm(const slurm_addr_t *in, struct storm_addr *out);

/* The address of each of these that has none yet (port 0), by its name: its
 * BcastAddr if it has one, else its NodeAddr.  May wait for a name service, and so looks up many side by side.
 * Returns count; or the index of one that Slurm does not know, or that has
 * neither IPv4 nor IPv6. */
uint32_t node_addr_all(struct storm_node *nodes, uint32_t count, uint16_t port);

/* Every address that a name service has for it, at most max; returns how many.  The
 * port is 0.  May wait for a name service. */
int node_addrs(const char *name, struct storm_addr *out, int max);
/* The same of any host. */
int host_addrs(const char *host, struct storm_addr *out, int max);

#endif
