/*
 * status_nodes.h - the nodes that storm status is about, by Slurm's names.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STATUS_NODES_H
#define STORM_STATUS_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "src/storm_check/check_verdict.h"

struct status_node {
	struct storm_node is;
	char *name;		 /* xfree */
	bool silent;		 /* it has not answered: */
	struct check_answer got; /* why */
};

struct status_nodes {
	struct status_node *node; /* xfree */
	uint32_t count;
};

/* The nodes of this list; NULL: all that slurm.conf has, but for those of the cloud
 * and of the future, and external ones.  False: it has been said on standard error what
 * is wrong. */
bool status_nodes_find(const char *list, uint16_t port,
		       struct status_nodes *out);
/* status_nodes_clear() it. */
void status_nodes_copy(const struct status_nodes *from,
		       struct status_nodes *out);
void status_nodes_clear(struct status_nodes *n);

#endif
