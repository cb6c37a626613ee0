/*
 * file_nursery.h - the process that forks the children which touch users' files
 * (file_child.h).  It has one thread, and no key or socket that a child could
 * inherit: the agent starts it as a program of its own.
 *
 * It limits the children of a user, and all of them.  They are outside the
 * jobs' control groups, in which a job's turns would stop them, and its end
 * would kill them while they clean up.  A request above the limit waits until a
 * child of that user ends, and the agent is told so.
 *
 * Its parent, storm_keeper, starts it again if it dies or hangs, by the contract
 * of child_watch.h.  The agent could not do that, because it has dropped the
 * capabilities.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_FILE_NURSERY_H
#define STORM_FILE_NURSERY_H

#include <stdint.h>
#include <sys/types.h>

#define FILE_GIDS_MAX 65536
#define FILE_CHILDREN_PER_USER 32
#define FILE_CHILDREN_MAX 256
/* A child whose socket was closed is killed after so long, in ns. */
#define FILE_CHILD_LINGER 5000000000ULL
/* Requests that wait; one user may have a quarter of them. */
#define FILE_WAITING_MAX 4096

/* A request for a child: this, the groups, and the child's socket. */
struct file_spawn {
	uint32_t uid, gid, ngids, job_id;
};

/* Called in a new child, still as root: enter the job's namespace.  If it does
 * not return 0, the child ends. */
typedef int (*file_join_fn)(uint32_t job_id, uid_t uid);

/* Be the nursery.  sock: the other end of file_child_start()'s socket.  The
 * process ends when the agent closes that.  asked: what comes there is answered by
 * as much; -1: nobody asks.  join may be NULL. */
_Noreturn void file_nursery_serve(int sock, int asked, file_join_fn join);

/* Be the keeper: start the nursery, and start it again when it dies or hangs;
 * requests wait in sock.  The process ends when the nursery has ended, or dies
 * again and again. */
_Noreturn void file_nursery_keep(int sock, file_join_fn join);

/* Make the pair of sockets: [0] is the agent's, [1] the nursery's; both are
 * close-on-exec.  0, or -1 and errno. */
int file_nursery_sockets(int pair[static 2]);

#endif
