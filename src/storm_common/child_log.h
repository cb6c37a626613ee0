/*
 * child_log.h - passes the log of a child (node agent or strober) on to the
 * daemon that has started it.  The child logs to stderr in Slurm's form, and
 * the daemon logs each line again at the same level.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHILD_LOG_H
#define STORM_CHILD_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libstorm/storm.h"
#include "storm_conf.h"

/* In the child: log by Slurm's functions; a storm_log_fn. */
void child_log(enum storm_log_level level, const char *msg);

/* In the child: log to stderr what LogLevel wants, where the daemon has this level of
 * Slurm's in its configuration. */
void child_log_wanted(enum storm_conf_log wanted, uint16_t daemon);

/* In the daemon: the line of which only a part was read so far, and the
 * errors of this start of the child and of the start before.  Initialize it
 * to zeroes. */
struct child_log {
	char line[1024];
	size_t len;
	struct child_errors {
		uint32_t hash[8];
		unsigned count;
	} now, before;
	bool serves; /* child_log_serves() was called for this start */
	bool all; /* LogLevel=debug: what is less than info is shown as info */
};
/* The child starts.  An error that the start before had, too, is logged as
 * verbose, so that a start that fails again and again is told only once. */
void child_log_start(struct child_log *l);
/* The child serves: all errors are logged from now on. */
void child_log_serves(struct child_log *l);
/* Note the error of this text.  True: the start before had it, too. */
bool child_log_again(struct child_log *l, const char *text);
/* Log all lines that can be read from fd, which must not block.  name: the
 * child's program, put in front of each line. */
void child_log_drain(struct child_log *l, int fd, const char *name);

#endif
