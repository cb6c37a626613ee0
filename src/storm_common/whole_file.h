/*
 * whole_file.h - small files that are there as a whole or not at all, for whoever
 * opens them at any time.
 *
 * No Slurm header.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_WHOLE_FILE_H
#define STORM_WHOLE_FILE_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Write dir/name, in place of one that is there: first dir/.name, which is then
 * moved (who watches the directory sees IN_MOVED_TO).  For its owner's eyes only.  0
 * or an errno, and what was there before is there still.
 */
int whole_file_write(const char *dir, const char *name, const void *buf,
		     size_t len);

/* Its bytes, at most size, or -1 and errno.  A link is not followed. */
ssize_t whole_file_read(const char *dir, const char *name, void *buf,
			size_t size);
void whole_file_remove(const char *dir, const char *name);

#endif
