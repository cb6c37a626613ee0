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
#include <stdint.h>
#include <sys/types.h>

/*
 * Write dir/name, or replace it: write dir/.name with mode 0600, then rename it
 * (a watch of the directory reports IN_MOVED_TO).  Returns 0, or an errno; an
 * old file is then unchanged.
 */
int whole_file_write(const char *dir, const char *name, const void *buf,
		     size_t len);

/* Read at most size bytes of dir/name.  Returns how many, or -1 and errno.
 * Does not follow a symbolic link. */
ssize_t whole_file_read(const char *dir, const char *name, void *buf,
			size_t size);
void whole_file_remove(const char *dir, const char *name);

/*
 * Write a file with a head that has the length and a checksum.  So a file that
 * was cut off or changed is noticed when it is read.  whole_file_save() returns
 * when file and name are on disk.
 */
int whole_file_save(const char *dir, const char *name, const void *buf,
		    size_t len);
/* Load a file.  0: *buf, which the caller frees, has *len bytes and a NUL after
 * them.  Else an errno: ENOENT; EBADMSG: it is damaged. */
int whole_file_load(const char *dir, const char *name, char **buf, size_t *len);

/* A checksum that differs if one byte of buf does, whichever it is. */
uint64_t whole_file_sum(const void *buf, size_t len);

#endif
