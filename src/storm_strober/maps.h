/*
 * maps.h - chooses which of slurmctld's maps goes to the nodes next: the
 * newest, and only one at a time.  When a node has joined, the map that the
 * others have is sent again.
 *
 * Pure.  Maps are malloc()ed bytes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_MAPS_H
#define STORM_MAPS_H

#include <stdbool.h>
#include <stddef.h>

struct map_bytes {
	void *buf; /* NULL: none */
	size_t len;
};

/* Initialize it to zeroes: no map. */
struct maps {
	struct map_bytes wanted; /* the newest, not sent yet */
	struct map_bytes moving; /* being sent to all nodes */
	struct map_bytes shown;	 /* the nodes have it */
	bool joined;		 /* a node that has joined lacks it */
};

void maps_clear(struct maps *m);
/* A newer map has come from slurmctld.  Takes buf over. */
void maps_take(struct maps *m, void *buf, size_t len);
/* A node has joined the domain. */
void maps_join(struct maps *m);

/* Is there a map to send while none is being sent? */
bool maps_due(const struct maps *m);
/* Begin to send the map that is due: it is valid until one of the next three
 * calls.  NULL: none is due. */
const struct map_bytes *maps_begin(struct maps *m);
/* All nodes have the map that was sent. */
void maps_done(struct maps *m);
/* No node has it: it is due again, unless there is a newer one. */
void maps_refused(struct maps *m);
/* The nodes need neither this map nor an older one. */
void maps_unneeded(struct maps *m);

#endif
