/*
 * file_child.h - files opened as the user: one process per session that has
 * dropped to the user's ids does everything that names a path; the agent only
 * ever holds the descriptor of the temporary file (architecture: Trust,
 * Files; paper Algorithm 7, the receiving side of the file broadcast).
 *
 * A temporary lives no longer than its session: when the agent closes the
 * child's socket, or dies in whatever way, the child removes what was not
 * committed and ends.
 *
 * The children are forked by a small process of one thread, the nursery, which
 * the agent starts before it has threads, keys or sockets: a fork of the agent
 * itself would inherit all of them.
 *
 * No Slurm header; of libstorm, the file calls of staged.h alone.  Errors are
 * enum storm_err and errno.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_FILE_CHILD_H
#define STORM_FILE_CHILD_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/libstorm/storm.h"

struct file_user {
	uid_t uid;
	gid_t gid;
	const gid_t *gids;	/* supplementary groups */
	int ngids;
	uint32_t job_id;	/* for file_join_fn; 0: no job */
};

/* Called in a new child, still as root: enter the job's namespace.  0, or what
 * keeps the child from serving. */
typedef int (*file_join_fn)(uint32_t job_id, uid_t uid);

enum file_verb {
	FILE_BEGIN = 1,		/* open a temporary; the answer carries it */
	FILE_STAGE = 2,		/* size, mode, times */
	FILE_COMMIT = 3,	/* rename */
	FILE_ABORT = 4,		/* unlink, or forget after a commit; no answer */
	FILE_RMDIR = 5,		/* remove the libraries' directory `path` and
				   the files in it */
};

struct file_request {
	uint32_t verb;		/* enum file_verb */
	uint32_t flags;		/* STORM_FILE_*; the rest: BEGIN only */
	uint64_t op;
	uint64_t size;
	int64_t atime, mtime;
	uint32_t mode;
	char path[PATH_MAX];
};

struct file_reply {
	uint32_t verb;
	uint32_t err;		/* enum storm_err */
	int32_t sys;		/* errno beside it, or 0 */
	uint32_t libdir;	/* COMMIT: "<path>_libs" is there now */
	uint64_t op;
};

/* Fork the nursery; the descriptor to ask it by, or -1 and errno.  It ends
 * when that is closed.  join may be NULL. */
int file_nursery_start(file_join_fn join);

/* A child for a user: the non-blocking descriptor to talk to it, or -1 and
 * errno.  Should the nursery fail to make one, the descriptor is at its end
 * (file_child_recv gives 0). */
int file_child_start(int nursery, const struct file_user *user);

/* 0, or -1 and errno. */
int file_child_send(int child, const struct file_request *req);
/* 1: *rep, and *fd for a good BEGIN (else -1); 0: the child is gone; -1:
 * errno. */
int file_child_recv(int child, struct file_reply *rep, int *fd);

#endif
