/*
 * talk.h - how talk.c sends to a group and receives from it.  What fails ends the
 * program.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef TALK_H
#define TALK_H

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TALK_MOST 128 /* bytes of a datagram */

/* Join the group with the interface that has this host's address.  RDMA has no
 * ports. */
void talk_open(struct in_addr own, struct in_addr group, uint16_t port);
void talk_send(const void *buf, size_t len);
/* A datagram of that length, within ms.  False: none came.  One's own may come. */
bool talk_receive(void *buf, size_t len, int ms);

static inline void talk_fail(const char *what)
{
	fprintf(stderr, "talk: %s: %s\n", what, strerror(errno));
	exit(1);
}

#endif
