/*
 * head.h - the head of a job's launchers: it owns their domain, and serves clients on
 * its host's socket.  It is a child of the first launcher, so that what stops their
 * step stops it, too.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_HEAD_H
#define STORM_HEAD_H

#include <sys/types.h>

/* Serve until the job's step of launchers ends, or a client says so.  parent: a
 * connection to the process that started it.  The exit status. */
int head_serve(const char *socket, int parent);

/* Start it as a child that dies with this process.  When this returns it waits for
 * the keeper beside the socket's path.  *conn: a connection to it, or -1.  The pid,
 * or 0. */
pid_t head_start(const char *socket, int *conn);

#endif
