/*
 * each_joblog.h - a line for each task, in the format of GNU parallel's --joblog, and what
 * such a file says.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EACH_JOBLOG_H
#define STORM_EACH_JOBLOG_H

#include <stddef.h>
#include <stdint.h>

struct each_joblog_entry {
	uint64_t seq;		 /* from 1 */
	const char *host;	 /* its node */
	uint64_t start_us;	 /* since 1970 */
	uint64_t time_us;	 /* how long it ran */
	uint64_t sent, received; /* bytes of files, and of output */
	int exitval;		 /* -1: it was killed by us */
	int signal;		 /* 0: none */
	const char *command;
};

/* The first line of a file, with its end. */
extern const char each_joblog_header[];

/* The line of a task, with its end, on the heap; NULL: no memory. */
char *each_joblog_line(const struct each_joblog_entry *e, size_t *len);

/* What a line says.  Host and command are not looked at, and stay NULL.
 * -1: it is neither a task's nor the header; 0: the header; 1: a task's. */
int each_joblog_parse(const char *line, struct each_joblog_entry *out);

#endif
