/*
 * nodelist.h - the nodes of a domain, as an OPEN has them.  Clusters number
 * their names and addresses.  So n1 to n1024 at 10.0.1.1 and up are one run,
 * and neither an OPEN nor what is kept of it grows with the number of nodes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_NODELIST_H
#define STORM_NODELIST_H

#include "wire.h"

/*
 * u32 count, then runs {u32 nodes, u8 l, l bytes of name, address} until all
 * count nodes are in one.  Each node of a run but the first has its
 * predecessor's name and address, plus one.
 *
 * A list is kept in this form.  Names and addresses are computed when they are
 * asked for.
 */
struct storm_nodes {
	uint32_t count, runs;
	const uint8_t *bytes; /* the runs, in `own` or in the buffer read */
	size_t len;
	struct storm_nodes_run *run; /* where each begins, by first node */
	uint8_t *own;		     /* NULL: the bytes are the buffer's */
};

/* Make a list of these nodes.  STORM_OK, STORM_ENOMEM, or STORM_EINVAL: there
 * are none or too many, or a name is empty or too long. */
int storm_nodes_make(struct storm_nodes *l, const struct storm_node *nodes,
		     uint32_t count);
/* Read a list.  It refers to the buffer of i, which must outlive it.  STORM_OK,
 * EINVAL or ENOMEM; after an error there is nothing to free. */
int storm_nodes_get(struct storm_nodes *l, struct storm_in *i);
void storm_nodes_put(struct storm_out *o, const struct storm_nodes *l);
void storm_nodes_free(struct storm_nodes *l); /* what it owns, not l */

/* The address and the name of node i, which must be less than count.  The name
 * is written to *out, which is returned. */
struct storm_addr storm_nodes_addr(const struct storm_nodes *l, uint32_t i);
const char *storm_nodes_name(const struct storm_nodes *l, uint32_t i,
			     char (*out)[STORM_NAME_MAX + 1]);
/* The first node with this IP address; STORM_NO_NODE: none has it. */
uint32_t storm_nodes_find(const struct storm_nodes *l,
			  const uint8_t ip[STORM_ADDR_LEN]);
/* Bytes that the list takes, beside the buffer that was read. */
size_t storm_nodes_bytes(const struct storm_nodes *l);

#endif
