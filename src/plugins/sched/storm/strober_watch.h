/*
 * strober_watch.h - slurmctld's side of the strober: runs it, watches it, and
 * tells it the nodes and the newest map.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STROBER_WATCH_H
#define STORM_STROBER_WATCH_H

#include <stddef.h>

#include "src/plugins/sched/storm/strober/strober.h"

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

/* What it has said since the last call of each job's account, also of those that
 * have left the map since; ascending, to be xfree()d.  How many. */
uint32_t strober_watch_given(struct strober_given **given);

/* What each node has missed since its agent began.  False: nobody has said. */
bool strober_watch_missed(uint64_t *out, uint32_t nodes);

#endif
