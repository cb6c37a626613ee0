/*
 * outside.h - the nodes of the cluster domain that are out of gang scheduling,
 * and since when.  Their jobs run all the time.
 *
 * The domain's thread reports the nodes, and the strober's main loop reads them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_OUTSIDE_H
#define STORM_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "strober.h"

/* A domain of so many nodes, all of which take part.  Returns 0 or an errno. */
int outside_begin(uint32_t nodes);

/* The node is excluded, or refuses to return.  It is out until it joins.  lacks: the
 * errno of what its agent cannot have; 0: it does not answer.  True: that is news. */
bool outside_excluded(uint32_t node, int lacks);
/* The node has become silent, or is heard again. */
void outside_overdue(uint32_t node, bool back);
void outside_joined(uint32_t node);

/* Copy the nodes that are out to the array, which has room for all. Returns how
 * many. */
uint32_t outside_get(struct strober_outside *out);
/* Have nodes left or returned since the last call? */
bool outside_changed(void);

#endif
