/*
 * talk_udp.c - talk.h by UDP.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <poll.h>
#include <sys/socket.h>

#include "talk.h"

static struct sockaddr_in to;
static int fd;

void talk_open(struct in_addr own, struct in_addr group, uint16_t port)
{
	struct ip_mreq mreq = { .imr_multiaddr = group, .imr_interface = own };
	int on = 1, off = 0;

	to = (struct sockaddr_in) { .sin_family = AF_INET,
				    .sin_port = htons(port),
				    .sin_addr = group };
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	/* bound to the group, so that no other group's come */
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, (struct sockaddr *) &to, sizeof(to)) ||
	    setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &own, sizeof(own)) ||
	    setsockopt(fd, IPPROTO_IP, IP_MULTICAST_LOOP, &off, sizeof(off)) ||
	    setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &mreq, sizeof(mreq)))
		talk_fail("socket");
}

void talk_send(const void *buf, size_t len)
{
	if (sendto(fd, buf, len, 0, (struct sockaddr *) &to, sizeof(to)) !=
	    (ssize_t) len)
		talk_fail("sendto");
}

bool talk_receive(void *buf, size_t len, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int rc = poll(&p, 1, ms);

	if (rc < 0)
		talk_fail("poll");
	if (rc && recv(fd, buf, len, 0) != (ssize_t) len)
		talk_fail("recv");
	return rc;
}
