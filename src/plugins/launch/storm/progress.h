/*
 * progress.h - shows the user a transfer that takes long: by a bar on a
 * terminal, and by a warning if it stands still.  Both name the nodes that hold
 * it up.  At its end a line says how fast it was.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PROGRESS_H
#define STORM_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool bar; /* draw it; the caller sets it before progress_begin() */
	bool shown, warned;
	const char *path;
	uint64_t size, done, begun, moved_at;
	char slow[200]; /* the nodes that had least at the last look; "": not known */
};

/* Is stderr a terminal, on which srun logs as without -v and -Q? */
bool progress_has_terminal(void);

/* A transfer of size bytes begins.  path must stay until progress_end(). */
void progress_begin(struct progress *p, const char *path, uint64_t size);
/* So many bytes have been written on all nodes.  slow: the nodes that have
 * least, or NULL. */
void progress_show(struct progress *p, uint64_t done, const char *slow);
/* The transfer has ended.  nodes: how many have all of it, in which case a line in the
 * bar's place, or of the log at -v, says how fast that was; 0: it failed. */
void progress_end(struct progress *p, uint32_t nodes);

#endif
