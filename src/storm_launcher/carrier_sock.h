/*
 * carrier_sock.h - a carrier's stream is a TCP connection.  Nothing here waits.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CARRIER_SOCK_H
#define STORM_CARRIER_SOCK_H

#include "carrier.h"

/* Small records go at once, and a host that is gone is noticed. */
void carrier_sock_init(int fd);
/* Take what has come; send what waits, as far as that goes.  False: the stream is over,
 * and errno says why (0: the other end has closed it), or carrier_fault(). */
bool carrier_sock_receive(struct carrier *c, int fd);
bool carrier_sock_send(struct carrier *c, int fd);
/* Why it is over, to be called at once. */
const char *carrier_sock_why(const struct carrier *c);

#endif
