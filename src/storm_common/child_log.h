/*
 * child_log.h - what our children (the node agent, the strober) have to say: they
 * log to stderr as Slurm's programs do, and the daemon that started them says it
 * again in its own log, at the same level.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHILD_LOG_H
#define STORM_CHILD_LOG_H

#include <stddef.h>

#include "src/libstorm/storm.h"

/* In the child: a storm_log_fn. */
void child_log(enum storm_log_level level, const char *msg);

/* In the daemon: what came so far of a line. */
struct child_log {
	char line[1024];
	size_t len;
};
/* All that is there in fd, which does not block; name: the child's program. */
void child_log_drain(struct child_log *l, int fd, const char *name);

#endif
