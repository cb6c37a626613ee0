/*
 * step_peer.h - is the other end of a TCP connection a socket of this process?
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_PEER_H
#define STORM_STEP_PEER_H

#include <netinet/in.h>
#include <stdbool.h>

/* peer: the other end's address; self: the one that it has connected to. */
bool step_peer_is_self(const struct sockaddr_in *peer,
		       const struct sockaddr_in *self);

#endif
