/*
 * each_output.h - what tasks write: kept until a task ends, or passed on as it comes.
 *
 * What is kept is in memory while it is little, and else in one file without a name, below
 * TMPDIR.  If that has no room, a task's lines come as they are written, and none is lost.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EACH_OUTPUT_H
#define STORM_EACH_OUTPUT_H

#include <sys/types.h>

#include "each_options.h"
#include "pull_wire.h"

struct each_extent {
	off_t at;
	size_t len;
};

/* What a task has written to one descriptor; zero it. */
struct each_kept {
	struct pull_bytes memory; /* behind what is in the file */
	struct each_extent *file;
	size_t extents;
	uint64_t have;	/* bytes in both */
	uint64_t shown; /* of them, that are printed */
	uint64_t len;	/* that it has written */
	bool inside;	/* a line has begun, with its tag */
	bool passes;	/* there was no room: it comes as it is written */
};

/* stop(), called while a reader does not read: a signal came, and true if what waits is
 * to be thrown away. */
void each_output_init(const struct each_options *o, int signals,
		      bool (*stop)(void));

/* A task has written it to descriptor fd. */
void each_output_add(struct each_kept *k, int fd, const char *tag,
		     const uint8_t *buf, size_t len);
/* The task has ended: print what is kept, and a last line without an end. */
void each_output_end(struct each_kept *k, int fd, const char *tag);
/* Write what is kept into a file of this directory.  False: it was said why. */
bool each_output_save(const struct each_kept *k, const char *dir,
		      const char *name);
/* Forget it, as the task begins again. */
void each_kept_fini(struct each_kept *k);
/* Print bytes as they are. */
void each_output_write(int fd, const void *buf, size_t len);
/* Has some not been written? */
bool each_output_lost(void);

#endif
