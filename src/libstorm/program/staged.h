/*
 * staged.h - a file that is written under a temporary name beside its target,
 * and then renamed (paper Algorithm 7, the receiving side of the file transfer;
 * doc/protocol.md).  Everything that can fail happens before the rename.
 *
 * Paths are opened with the rights of the calling process.  A program that
 * serves other users calls this in a process that has become the user.  Calls
 * block on the file system only.  Errors are enum storm_err, with an errno or 0
 * in *sys.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STAGED_H
#define STORM_STAGED_H

#include <limits.h>

#include "src/libstorm/storm.h"

/* The target directories of one domain. */
struct storm_staging {
	int root;   /* paths are below this directory, and symbolic links
			   are not followed; -1: the system's root */
	int libdir; /* library directory of the last LIBDIR file, or -1 */
};

/* A file under its temporary name.  The caller reads and writes fd. */
struct storm_staged {
	uint64_t size;
	struct storm_digest *digest; /* of the bytes below hashed */
	uint64_t hashed;
	uint32_t flags, mode; /* STORM_FILE_* */
	int64_t atime, mtime;
	bool committed;
	int dir; /* its directory */
	int fd;
	char name[NAME_MAX + 1];
	char temp[NAME_MAX + 1];
	char libdir[NAME_MAX + 1]; /* in dir; "" unless LIBDIR */
	bool libdir_made;	   /* libdir was created for this file */
};

/* Check the target and create the temporary file, for size bytes.  On failure
 * there is nothing to drop. */
int storm_staged_begin(struct storm_staged *f, struct storm_staging *g,
		       const struct storm_target *to, uint64_t size, int *sys);
/* The caller has written these bytes.  They are hashed now, while they are in
 * the cache, if they follow what is hashed already. */
void storm_staged_wrote(struct storm_staged *f, uint64_t off, const void *buf,
			size_t len);
/* All bytes below `below` are written.  Read back and hash some of those that
 * are not hashed yet.  True: there are more of them. */
bool storm_staged_catch_up(struct storm_staged *f, uint64_t below);
/* After the last write: check the size and the digest (NULL: the file is
 * empty), and set group, mode and times. */
int storm_staged_check(struct storm_staged *f, const uint8_t *digest, int *sys);
/* Close it, and rename it to its final name: from then on it can be executed.
 * A second call does nothing. */
int storm_staged_commit(struct storm_staged *f, int *sys);
/* Close it.  If it is not committed, remove what it created. */
void storm_staged_drop(struct storm_staged *f);

/* Open the directory of path, and copy its last component to name.  The caller
 * closes *dir. */
int storm_staged_open_dir(int root, const char *path, int *dir,
			  char (*name)[NAME_MAX + 1], int *sys);

/* The enum storm_err for the errno of a failed path operation. */
int storm_staged_error(int num);

/* pwrite() and pread() all len bytes.  0 or an errno; EIO at the end of the
 * file. */
int storm_staged_write(int fd, uint64_t off, const void *buf, size_t len);
int storm_staged_read(int fd, uint64_t off, void *buf, size_t len);

#endif
