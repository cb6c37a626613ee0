/*
 * outside.h - the nodes of the cluster domain that are out of gang scheduling,
 * and since when.  Their jobs run all the time.
 *
 * The domain's thread reports the nodes, and the strober's main loop reads
 * them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_OUTSIDE_H
#define STORM_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libstorm/storm.h"
#include "src/storm_common/strober_protocol.h"

/* Begin with a domain of so many nodes, all of which take part.  Those that were members of
 * an earlier one, by their names, have been heard.  name() gives a node's name, which is
 * copied.  Returns 0 or an errno. */
int outside_begin(uint32_t nodes, const char *(*name)(uint32_t node));

/* The domain is open: all nodes that were not excluded by now have been heard. */
void outside_opened(void);

/* The node was excluded, or refuses to return; it is out until it joins.
 * lacks: the errno of what its agent cannot have; 0: the node does not answer,
 * or with deaf set, does not hear.  True: this is news. */
bool outside_excluded(uint32_t node, int lacks, bool deaf);
/* The node has become silent, or is heard again. */
void outside_overdue(uint32_t node, bool back);
/* A member hears no strobes (deaf), or hears them again.  over: that is not
 * known any more, because none are sent.  True: this is news. */
bool outside_deaf(uint32_t node, bool deaf, bool over);
void outside_joined(uint32_t node);

/* Set *in, which must be empty, to the nodes that are neither excluded nor
 * silent.  STORM_OK or STORM_ENOMEM. */
int outside_others(struct storm_idset *in);

/* Copy the nodes that are out to the array, which has room for all nodes.
 * Returns how many there are. */
uint32_t outside_get(struct strober_outside *out);
/* Have nodes left or returned since the last call? */
bool outside_changed(void);

#endif
