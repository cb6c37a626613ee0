/*
 * child_log.h - pass the log of a child (node agent or strober) on to the
 * daemon that has started it.  The child logs to stderr in Slurm's form, and
 * the daemon logs each line again at the same level.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHILD_LOG_H
#define STORM_CHILD_LOG_H

#include <stddef.h>

#include "src/libstorm/storm.h"

/* In the child: log by Slurm's functions; a storm_log_fn. */
void child_log(enum storm_log_level level, const char *msg);

/* In the daemon: the line of which a part was read; initialize it to zeroes. */
struct child_log {
	char line[1024];
	size_t len;
};
/* Log all lines that can be read from fd, which must not block.  name: the
 * child's program, put in front of each line. */
void child_log_drain(struct child_log *l, int fd, const char *name);

#endif
