/*
 * metrics_child.h - a query in a process of its own.  So each one reads slurm.conf and
 * storm.conf anew, can be given up, and leaves nothing behind.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_METRICS_CHILD_H
#define STORM_METRICS_CHILD_H

#include <sys/types.h>

#include "metrics_model.h"

/* All-zero but fd -1: none runs. */
struct metrics_child {
	pid_t pid;
	int fd;	   /* readable: call metrics_child_read() */
	char *got; /* (free) */
	size_t len;
};

/* Begin; the process has one thread.  False: it is not possible, which was said. */
bool metrics_child_start(struct metrics_child *c, const char *list);
/* Read what there is.  True: it has ended, and *out and *names are as metrics_ask() has
 * them; or out->at is 0: it has died before its answer. */
bool metrics_child_read(struct metrics_child *c, struct metrics *out,
			char **names);
/* Kill it, if it runs. */
void metrics_child_end(struct metrics_child *c);

#endif
