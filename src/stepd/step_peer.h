/*
 * step_peer.h - tells whether the other end of a TCP connection is a socket of
 * this process.  The kernel is asked for that one socket (sock_diag(7)).  So
 * the answer takes as long on a node with a hundred thousand sockets as on an
 * idle one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_PEER_H
#define STORM_STEP_PEER_H

#include <netinet/in.h>
#include <stdbool.h>

/* Returns a descriptor for step_peer_is_self(), which the caller closes.  self:
 * a listener of this process, with which it is tried.  -1 and errno: this
 * kernel does not tell. */
int step_peer_open(const struct sockaddr_in *self);
/* Is the other end a socket of this process?  conn: the connection here; peer:
 * the other end's address; self: the address to which it has connected. */
bool step_peer_is_self(int diag, int conn, const struct sockaddr_in *peer,
		       const struct sockaddr_in *self);

#endif
