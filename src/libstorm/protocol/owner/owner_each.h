/*
 * owner_each.h - a transfer that need not come to all of its nodes together
 * (STORM_FILE_EACH), see owner_each.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_OWNER_EACH_H
#define STORM_OWNER_EACH_H

#include "src/libstorm/storm.h"

struct storm_owner;

/* A part of struct owner_xfer. */
struct owner_each {
	bool on;
	bool shown;		 /* some of its nodes have it by now */
	struct storm_idset over; /* nodes that have it, or have failed */
	struct storm_idset out;	 /* of these, those that have failed */
	uint32_t faults;	 /* so many were looked at */
	uint64_t few_since; /* when few were behind first; 0: they are not */
};

void owner_each_free(struct owner_each *e);
/* The transfer has faults.  True: it goes on without these nodes.  False: they are
 * too many, or their fault is not their own, and it aborts. */
bool owner_each_leaves(struct storm_owner *o, uint64_t now);
/* All but those behind are STAGED.  True: those have been behind for so long that it
 * is decided without them; the caller decides. */
bool owner_each_parts(struct storm_owner *o, uint64_t now);
/* Some have it, and those that remained have failed. */
bool owner_each_is_over(const struct storm_owner *o);
/* What was decided has ended.  True: it is under way again, for those that were
 * behind. */
bool owner_each_goes_on(struct storm_owner *o, uint64_t now);
/* It has ended: tell those that have failed. */
void owner_each_end(struct storm_owner *o);
/* It is to be aborted, where it is not over. */
void owner_each_abort(struct storm_owner *o);
/* When owner_each_parts() is to be called; STORM_NEVER: not by itself. */
uint64_t owner_each_due(const struct storm_owner *o);

#endif
