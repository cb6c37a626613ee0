/*
 * progress.h - what a user sees of a transfer that takes long: a bar on a
 * terminal, or a warning if it stands.  Either names the nodes that hold it up.
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
};

/* stderr is a terminal, and messages on it are those of no -v and no -Q. */
bool progress_has_terminal(void);

/* path is borrowed until progress_end(). */
void progress_begin(struct progress *p, const char *path, uint64_t size);
/* So many bytes are everywhere.  slow: nodes that have the least, or NULL. */
void progress_show(struct progress *p, uint64_t done, const char *slow);
/* Leave the bar, if there is one, as it is; all of size: show that first. */
void progress_end(struct progress *p, bool complete);

#endif
