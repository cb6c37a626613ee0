/*
 * run_sock.h - the head's socket on its own host: where it is, and frames with
 * descriptors on it.  Both ends check that the other one is the same user's.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_SOCK_H
#define STORM_RUN_SOCK_H

#include <sys/un.h>

#include "run_wire.h"

#define RUN_SOCK_FDS 3 /* 0, 1 and 2 of a client */
#define RUN_SOCK_PATH sizeof(((struct sockaddr_un *) 0)->sun_path)

/*
 * The socket's path for a job, in a directory that only this user can open, which
 * is made if it is missing.  False: it cannot be, and why says it.
 */
bool run_sock_path(const char *job, char (*out)[RUN_SOCK_PATH], char *why,
		   size_t size);

/* The path of another file for the same job: its last part is this one. */
void run_sock_beside(const char *path, const char *part,
		     char (*out)[RUN_SOCK_PATH]);

/* A lock's descriptor, of the file that has this name now; its holder may remove it.
 * -1 with errno; EWOULDBLOCK: another process has it, and wait was false. */
int run_sock_lock(const char *path, bool wait);
/* Remove what a keeper and its head leave beside a socket, the keeper's lock last; by
 * the holder of that lock.  The log says why a start failed. */
void run_sock_remove(const char *path, bool log);
/* Likewise, where the socket is another process's. */
void run_sock_remove_lock(const char *path, bool log);

/* A descriptor, or -1 and errno; EPERM: the other end is another user's. */
int run_sock_connect(const char *path);
int run_sock_listen(const char *path);
/* EPERM: likewise, or it is of another job (run_peer.h), and was told so. */
int run_sock_accept(int listener);

/*
 * Add what has come to r, without waiting; fd[] receives descriptors, which the
 * caller closes.  How many; -1: the other end has closed, or it failed.
 */
int run_sock_receive(int sock, struct run_reader *r, int (*fd)[RUN_SOCK_FDS]);

/* Wait for a whole frame.  False: the other end has closed, or it failed. */
bool run_sock_wait(int sock, struct run_reader *r, enum run_kind *kind,
		   struct storm_in *body);

/* Send all of buf, and fd[] (NULL: none) with its first byte.  Waits.  0, or -1 and
 * errno. */
int run_sock_send(int sock, const void *buf, size_t len,
		  const int fd[RUN_SOCK_FDS]);
/* Send what goes now of [*at, len), and move *at.  False: nobody reads, and errno. */
bool run_sock_put(int sock, const void *buf, size_t *at, size_t len);

#endif
