/*
 * node_table.h - the nodes of the cluster domain, as slurmctld has named them.
 *
 * A process has one table.  It changes only while there is no domain, so the domain's
 * threads may read it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_NODE_TABLE_H
#define STORM_NODE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libstorm/storm.h"

struct table_node {
	char *name;
	char *place;   /* an address, or a host's name */
	uint16_t port; /* of its slurmd */
	bool shares;   /* jobs may take turns there */
	bool lost;     /* Slurm has no address for it */
	struct storm_addr agent,
		slurmd; /* once node_table_addresses() was called */
};

/* Set the nodes: the body of STROBER_NODES.  One that does not end in a NUL gives no
 * nodes.  Reads slurm.conf again. */
void node_table_set(const char *names, size_t len);
uint32_t node_table_count(void);
/* The node, owned by the table; i is less than the count. */
const struct table_node *node_table_get(uint32_t i);
/* May jobs take turns on some node? */
bool node_table_shares(void);

/* The nodes with the addresses of their agents, which listen on this port.  May wait for
 * a name service.  The caller frees it with xfree(); the names are the table's.  NULL:
 * *failed has no address. */
struct storm_node *node_table_addresses(uint16_t port, uint32_t *failed);

#endif
