/*
 * maps.h - which of slurmctld's maps goes to the nodes next: always the newest, one
 * at a time, and once more what they have when somebody has joined who lacks it.
 *
 * Pure.  Maps are bytes of malloc().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_MAPS_H
#define STORM_MAPS_H

#include <stdbool.h>
#include <stddef.h>

struct map_bytes {
	void *buf;		/* NULL: none */
	size_t len;
};

/* All zeroes: there is none. */
struct maps {
	struct map_bytes wanted;	/* the newest, not on its way yet */
	struct map_bytes moving;	/* on its way to all nodes */
	struct map_bytes shown;		/* that all nodes have */
	bool joined;			/* but for one who has joined */
};

void maps_clear(struct maps *m);
/* A newer one. buf is taken over. */
void maps_take(struct maps *m, void *buf, size_t len);
/* Somebody is a member who was none. */
void maps_join(struct maps *m);

/* Is there one to be sent, and none on its way? */
bool maps_due(const struct maps *m);
/* It is on its way from now on.  NULL: none is due. */
const struct map_bytes *maps_begin(struct maps *m);
/* What was on its way has come to all; to nobody; or nobody has to have it, nor any
 * other. */
void maps_done(struct maps *m);
void maps_refused(struct maps *m);
void maps_unneeded(struct maps *m);

#endif
