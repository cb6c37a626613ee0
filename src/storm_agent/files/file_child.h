/*
 * file_child.h - the process that touches a session's files (doc/protocol.md,
 * Trust; paper Algorithm 7, receiving side).  It has become the user, so it has
 * no right that the user lacks.  It alone touches files, so only it may have to
 * wait for a file system.  The agent shares a pool of memory with it
 * (file_pool.h), and sees no descriptor of a file.
 *
 * When the agent closes the child's socket, or dies, the child removes what was
 * not committed, and ends.
 *
 * The nursery (file_nursery.h) forks the children.  Errors are enum storm_err
 * and errno.  No Slurm header; of libstorm's parts it uses only staged.h and
 * digest.h.
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
#include "src/libstorm/wire/digest.h"

struct file_user {
	uid_t uid;
	gid_t gid;
	const gid_t *gids; /* supplementary groups */
	int ngids;
	uint32_t job_id; /* for file_join_fn; 0: no job */
};

enum file_verb {
	FILE_BEGIN = 1,	 /* open a temporary; with the pool's descriptor */
	FILE_STAGE = 2,	 /* check size and digest, set mode and times */
	FILE_COMMIT = 3, /* rename it */
	FILE_ABORT = 4,	 /* unlink it, or forget it after a commit; no answer */
	FILE_RMDIR = 5,	 /* remove the directory `path` of libraries and
				   the files in it */
	FILE_WRITE = 6,	 /* len bytes of the pool, from `at` on, to off */
	FILE_READ = 7,	 /* len bytes of the file, from off on, to at */
	/* Answers without a request: */
	FILE_STARTED = 8, /* the process runs; op: its pid; with its pidfd */
	FILE_ALIVE = 9,	  /* the process is still at work */
	FILE_WAITS = 10	  /* it will start when another one has ended */
};

/* A piece of the pool, and its place in the file. */
struct file_span {
	uint32_t at, len;
	uint64_t off;
};
#define FILE_SPANS 64 /* at most in one request */

/* The exit status of a child that could not begin, for the nursery. */
#define FILE_EXIT_USER 2 /* it cannot become the user */
#define FILE_EXIT_JOB 3	 /* it cannot join the job's mount namespace */

struct file_request {
	uint32_t verb;	/* enum file_verb */
	uint32_t flags; /* STORM_FILE_*; BEGIN only, as size to mode */
	uint64_t op;
	uint64_t size;
	int64_t atime, mtime;
	uint32_t mode;
	uint64_t below;	   /* WRITE: with it all bytes below this are there */
	uint32_t digested; /* STAGE: there is a digest */
	uint8_t digest[STORM_DIGEST_LEN];
	uint32_t spans; /* WRITE: how many spans there are; READ: 1 */
	union {
		char path[PATH_MAX]; /* sent up to its NUL */
		struct file_span span[FILE_SPANS];
	};
};

struct file_reply {
	uint32_t verb;
	uint32_t err;	 /* enum storm_err */
	int32_t sys;	 /* errno beside it, or 0 */
	uint32_t libdir; /* COMMIT: "<path>_libs" was made */
	uint32_t writes; /* WRITE: how many of the oldest pieces are done */
	uint64_t op;
};

/* Ask the nursery for a child of a user.  Returns the child's socket, which
 * does not block, or -1 and errno.  Requests wait in the socket until the child
 * is there.  If there will be none, file_child_recv() returns 0. */
int file_child_start(int nursery, const struct file_user *user);

/* In a new process, still as root: become the user irrevocably and serve sock
 * until the agent closes it.  Does not return. */
void file_child_run(int sock, const struct file_user *u);

/* Send a request, with fd unless that is -1.  0, or -1 and errno. */
int file_child_send(int child, const struct file_request *req, int fd);
/* Receive an answer.  1: *rep is set, and *fd, which the caller closes: a pidfd
 * with STARTED, else -1.  0: the child has ended.  -1 and errno. */
int file_child_recv(int child, struct file_reply *rep, int *fd);

#endif
