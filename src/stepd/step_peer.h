/*
 * step_peer.h - is the other end of a TCP connection a socket of this process?
 * The kernel is asked for that one socket (sock_diag(7)), so the answer takes as
 * long on a node with a hundred thousand sockets as on an idle one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_PEER_H
#define STORM_STEP_PEER_H

#include <netinet/in.h>
#include <stdbool.h>

/* A descriptor for step_peer_is_self(), which the caller closes.  self: a
 * listener of this process, to try it with.  -1 and errno: this kernel does not
 * tell. */
int step_peer_open(const struct sockaddr_in *self);
/* conn: the connection here; peer: the other end's address; self: the one that it
 * has connected to. */
bool step_peer_is_self(int diag, int conn, const struct sockaddr_in *peer,
		       const struct sockaddr_in *self);

#endif
