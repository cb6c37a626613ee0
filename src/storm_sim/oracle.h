/*
 * oracle.h - checks that a history keeps the primitives' promises.  It knows
 * the owners' decisions (white box).  It replays them in their order on a model
 * with one memory per node, and everything that was seen anywhere must agree
 * with it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef ORACLE_H
#define ORACLE_H

#include "history.h"

#define ORACLE_WHY 256
#define ORACLE_OWNERS 32 /* of one domain, one after the other */

struct oracle_limits {
	uint64_t bound;	     /* ns from CALM (or issue) to a result; 0: any */
	uint64_t window;     /* bytes sent and not yet written by all */
	uint64_t owner_cost; /* datagrams of the owner for one operation */
	uint64_t node_cost;  /* datagrams of a node for one */
	bool dead;	     /* the domain's last owner has died: faults,
				   reports and results do not arrive */
};

/* Does the history keep the promises?  False: why, of size room, describes the
 * violation and its entry. */
bool oracle_judge(const struct history *h, const struct oracle_limits *lim,
		  char *why, size_t room);

#endif
