/*
 * health_judge.h - is a node well?  Limits against what was measured.  It uses no clock,
 * no file and nothing of Slurm.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_HEALTH_JUDGE_H
#define STORM_HEALTH_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/storm_common/health_word.h"
#include "src/storm_common/storm_conf.h"

#define HEALTH_LINE 200 /* with its NUL: of a program, or of a log */

/* One check. */
enum health_kind {
	HEALTH_CHECK_DISK, /* where files go */
	HEALTH_CHECK_MEMORY,
	HEALTH_CHECK_MUNGE,
	HEALTH_CHECK_SLURMD,
	HEALTH_CHECK_DESCRIPTORS,
	HEALTH_CHECK_INOTIFY,
	HEALTH_CHECK_PROGRAM,
};

/* What was measured. */
struct health_sample {
	bool hung;     /* there was no answer in time */
	int err;       /* the errno with which it failed; 0: it did not */
	int unbegun;   /* the errno for which it was not begun; 0: it was */
	uint64_t free; /* bytes, or descriptors */
	uint64_t total;
	uint64_t free_inodes,
		inodes;		/* inodes 0: the file system counts none */
	int status;		/* the program's, as waitpid() has it */
	char line[HEALTH_LINE]; /* what more is said; the program's last line */
};

/* The cause, and the reason in *text, which is set if the node is not well.  name: the
 * directory or the program. */
enum health_cause health_judge(const struct storm_health_conf *limit,
			       enum health_kind kind, const char *name,
			       const struct health_sample *s,
			       char (*text)[HEALTH_LINE]);

/* The clocks at a look, in ns, and what was found of them.  Initialize it to zeroes. */
struct health_clock {
	bool known;
	int64_t ahead;	 /* of the wall clock, before it jumped */
	int64_t now;	 /* where it jumped to */
	uint64_t jumped; /* when, by the monotonic clock; 0: it has not */
};

/* By how many ns has the wall clock jumped?  0: it has not, or so long ago that it was
 * meant so. */
int64_t health_clock_look(struct health_clock *c, uint64_t monotonic,
			  int64_t wall);

/* Take one more byte of what a program writes: *line has its last line that is not
 * empty, cut at its size, without control characters. */
struct health_line {
	char line[HEALTH_LINE];
	size_t len;
	bool ended; /* the next byte begins another one */
};
void health_line_add(struct health_line *l, const char *bytes, size_t n);

#endif
