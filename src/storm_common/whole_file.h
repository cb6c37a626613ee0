/*
 * whole_file.h - write and read small files, so that a reader never sees a part
 * of one.
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
 * Write dir/name, or replace it: write dir/.name with mode 0600, then rename it
 * (a watch of the directory reports IN_MOVED_TO).  Returns 0, or an errno; an
 * old file is then unchanged.
 */
int whole_file_write(const char *dir, const char *name, const void *buf,
		     size_t len);

/* Read at most size bytes.  Returns how many, or -1 and errno.  Does not follow
 * a symbolic link. */
ssize_t whole_file_read(const char *dir, const char *name, void *buf,
			size_t size);
void whole_file_remove(const char *dir, const char *name);

#endif
