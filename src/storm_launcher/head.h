/*
 * head.h - the head of a job's launchers: it owns their domain, and serves clients on
 * its host's socket.  It is a child of the first launcher, so that what stops their
 * step stops it, too.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_HEAD_H
#define STORM_HEAD_H

#include <stdint.h>
#include <sys/types.h>

/* Said by a launcher of its head: Slurm kills a whole step for what it has lost elsewhere,
 * and srun says what that is. */
#define HEAD_KILLED "the head was killed"

/* Where a keeper on another host waits for the head's call. */
struct head_keeper {
	const char *ip; /* NULL: it is on this host, and comes to the head */
	uint16_t port;
};

/* Serve until the job's step of launchers ends, or a client says so.  parent: a
 * connection to the process that started it.  The exit status. */
int head_serve(const char *socket, int parent, const struct head_keeper *k);

/* Start it as a child that dies with this process.  When this returns it waits for
 * the keeper beside the socket's path, or for the answer of the one that it has called.
 * *conn: a connection to it.  The pid; 0, and why. */
pid_t head_start(const char *socket, const struct head_keeper *k, int *conn,
		 char *why, size_t size);

/* What is said of its end, by its status as wait(2) has it. */
const char *head_end(int status);

#endif
