/*
 * nodelist.h - the nodes of a domain, as they stand in an OPEN.  A cluster's
 * names are numbered and so are its addresses: n1 to n1024 at 10.0.1.1 and on
 * is one run, so that what the owner sends does not grow with the nodes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_NODELIST_H
#define STORM_NODELIST_H

#include "wire.h"

/* u32 count, then runs {u32 nodes, u8 l, l bytes of name, address} until there
 * are that many.  Each node of a run but the first has the name and address of
 * the one before, counted up by one. */
void storm_put_nodes(struct storm_out *o, const struct storm_node *nodes,
		     uint32_t count);
/* Bytes that storm_put_nodes() needs at most. */
size_t storm_nodes_room(const struct storm_node *nodes, uint32_t count);

/* 0, EINVAL or ENOMEM; *nodes and *count are to be freed in any case. */
int storm_get_nodes(struct storm_in *i, struct storm_node **nodes,
		    uint32_t *count);
void storm_nodes_free(struct storm_node *nodes, uint32_t count);

#endif
