/*
 * staged.h - a file on its way to its final name: written into a temporary
 * beside it, shown by a rename (paper Algorithm 7, the receiving side of the
 * file transfer; architecture: Trust, Files).  All that can fail happens before
 * the rename.
 *
 * Paths are opened with the rights of the calling process; whoever serves other
 * users calls this in a process that has become the user.  No call blocks on
 * anything but the file system.  Errors are enum storm_err, with an errno beside
 * in *sys, or 0.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STAGED_H
#define STORM_STAGED_H

#include <limits.h>

#include "src/libstorm/storm.h"

/* Where files go: one for each domain. */
struct storm_staging {
	int root;	/* a directory that no path leads out of, no symbolic
			   link being followed; -1: paths are the system's */
	int libdir;	/* of the last LIBDIR file, or -1 */
};

/* A file in hand; the caller reads and writes fd. */
struct storm_staged {
	uint64_t size;
	uint32_t flags, mode;	/* STORM_FILE_* */
	int64_t atime, mtime;
	bool committed;
	int dir;		/* where it goes */
	int fd;
	char name[NAME_MAX + 1];
	char temp[NAME_MAX + 1];
	char libdir[NAME_MAX + 1];	/* in dir; "" unless LIBDIR */
	bool libdir_made;		/* for this file */
};

/* Check all that can be checked now, make the temporary.  On failure there is
 * nothing to drop. */
int storm_staged_begin(struct storm_staged *f, struct storm_staging *g,
		       const struct storm_target *to, uint64_t size, int *sys);
/* All bytes are written: size, mode, times. */
int storm_staged_check(struct storm_staged *f, int *sys);
/* Rename; a second time it does nothing. */
int storm_staged_commit(struct storm_staged *f, int *sys);
/* Close; unless it was committed, leave nothing behind. */
void storm_staged_drop(struct storm_staged *f);

/* Split a path into its directory, opened, and its last name. */
int storm_staged_open_dir(int root, const char *path, int *dir,
			  char name[NAME_MAX + 1], int *sys);

/* Which of our errors an errno of a path's operation is. */
int storm_staged_error(int num);

/* pwrite() and pread() of all of it; 0 or an errno. */
int storm_staged_write(int fd, uint64_t off, const void *buf, size_t len);
int storm_staged_read(int fd, uint64_t off, void *buf, size_t len);

#endif
