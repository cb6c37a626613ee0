/*
 * nodelist.h - the nodes of a domain, as an OPEN has them.  Clusters number
 * their names and addresses.  So n1 to n1024 at 10.0.1.1 and up are one run,
 * and an OPEN does not grow with the number of nodes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_NODELIST_H
#define STORM_NODELIST_H

#include "wire.h"

/* u32 count, then runs {u32 nodes, u8 l, l bytes of name, address} until all
 * count nodes are in one.  Each node of a run but the first has its
 * predecessor's name and address, plus one. */
void storm_put_nodes(struct storm_out *o, const struct storm_node *nodes,
		     uint32_t count);
/* Upper bound of the bytes that storm_put_nodes() writes. */
size_t storm_nodes_room(const struct storm_node *nodes, uint32_t count);

/* STORM_OK, EINVAL or ENOMEM.  The caller frees *nodes and *count by
 * storm_nodes_free(), after an error too. */
int storm_get_nodes(struct storm_in *i, struct storm_node **nodes,
		    uint32_t *count);
void storm_nodes_free(struct storm_node *nodes, uint32_t count);

#endif
