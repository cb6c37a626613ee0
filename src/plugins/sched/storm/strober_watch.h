/*
 * strober_watch.h - slurmctld's side of the strober: runs it, watches it, and
 * tells it the nodes and the newest map.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STROBER_WATCH_H
#define STORM_STROBER_WATCH_H

#include <stddef.h>

#include "strober.h"

/* Start the thread that does so.  SLURM_SUCCESS or SLURM_ERROR. */
int strober_watch_start(void);
/* The strober ends, too, and before that has told the nodes that everything
 * runs. */
void strober_watch_stop(void);

/*
 * From now on: the names of the domain's nodes, each with its NUL, and a packed
 * map of them.  Both are xmalloc()ed and taken over; names NULL: the nodes are
 * as they were.  Never waits for the strober.
 */
void strober_watch_tell(char *names, size_t names_len, void *map,
			size_t map_len);

/* What it said last; given (xmalloc()ed, the caller's) has njobs of them.
 * False: nothing within the last seconds, so nothing is shared. */
bool strober_watch_state(struct strober_state *out,
			 struct strober_given **given);

#endif
