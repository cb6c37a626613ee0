/*
 * child_backoff.h - how long a daemon waits before it starts its child (node
 * agent or strober) again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHILD_BACKOFF_H
#define STORM_CHILD_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#define CHILD_BACKOFF_MIN 100 /* ms */
#define CHILD_BACKOFF_MAX 60000

struct child_backoff {
	uint32_t next; /* ms; CHILD_BACKOFF_MIN at first */
};

/* A child has ended: returns the ms to wait before the next start.  refused: it
 * refused its configuration, and the next child may get another one.  well: it
 * lived so long that the back-off starts over. */
uint32_t child_backoff(struct child_backoff *b, bool refused, bool well);

#endif
