/*
 * owner_window.h - which nodes the window of the operation under way waits for,
 * see owner_window.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_OWNER_WINDOW_H
#define STORM_OWNER_WINDOW_H

#include "src/libstorm/storm.h"

struct storm_owner;

#define OWNER_MARKS 8
/* So many parts of the nodes are few: others do not wait for these.  One always is. */
#define OWNER_FEW 4

struct owner_window {
	struct storm_idset slow; /* nodes of the operation that have left it */
	uint64_t begun_at;
	struct owner_mark { /* bytes that were sent and written by then, a ring */
		uint64_t at, sent, progress;
	} mark[OWNER_MARKS];
	uint32_t marks; /* made so far */
	/* ns for which the window was full, less those in which it was not */
	uint64_t full;
	uint64_t calm_until; /* before this nobody leaves it */
	bool is_full;	     /* since looked_at */
	uint64_t looked_at;
	/* When the nodes were asked how far they are, first and last.  0: they
	 * are not. */
	uint64_t asked_at, asked_last;
};

/* The operation begins: the window waits for all of its nodes. */
void owner_window_begin(struct storm_owner *o, uint64_t now);
/* The last byte is sent, or it is decided: the operation waits for all of its nodes
 * again.  It stays known which have left (owner_window_has_left()). */
void owner_window_end(struct storm_owner *o);
/* The operation is for its nodes but these, and those for which it is over, from now on.
 * False: none would be left, or the state has no room for the set. */
bool owner_window_without(struct storm_owner *o,
			  const struct storm_idset *without);
/* It is for all for which it is not over, as some have come or gone.  False: as
 * above. */
bool owner_window_renew(struct storm_owner *o);
void owner_window_free(struct storm_owner *o);
/* Has this node left the window of the operation under way? */
bool owner_window_has_left(const struct storm_owner *o, uint32_t node);
/* There is room in the window, or none, from now on. */
void owner_window_full(struct storm_owner *o, bool full, uint64_t now);
/* Find nodes that are far behind, and let them leave it.  *next: when to call
 * again, or STORM_NEVER.  True: some have left, so the operation may go on. */
bool owner_window_tick(struct storm_owner *o, uint64_t *next, uint64_t now);

#endif
