/*
 * node_arg.h - parse a node in the arguments of the benchmark programs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef BENCH_NODE_ARG_H
#define BENCH_NODE_ARG_H

#include <arpa/inet.h>
#include <stdbool.h>
#include <string.h>

#include "src/libstorm/storm.h"

/* Parse NAME=ADDRESS (IPv4).  Modifies arg, and n->name points into it.  Returns
 * false if arg is malformed. */
static inline bool node_of(char *arg, uint16_t port, struct storm_node *n)
{
	char *ip = strchr(arg, '=');

	if (!ip)
		return false;
	*ip++ = 0;
	n->name = arg;
	n->addr.ip[10] = n->addr.ip[11] = 0xff;
	n->addr.port = port;
	return inet_pton(AF_INET, ip, n->addr.ip + 12) == 1;
}

#endif
