/*
 * node_addr.h - where the agent of a node that Slurm names listens.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_NODE_ADDR_H
#define STORM_NODE_ADDR_H

#include <stdbool.h>

#include "src/libstorm/storm.h"

/* BcastAddr, where a site has one, else NodeAddr.  May ask a name service.
 * False: not known, or of a family that libstorm does not speak. */
bool node_addr(const char *name, uint16_t port, struct storm_addr *out);

#endif
