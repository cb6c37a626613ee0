/*
 * carrier_sock.c - see carrier_sock.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "carrier_sock.h"

/* As srun's own connections live: a minute of silence, then ten questions. */
#define KEEP_IDLE 60 /* s */
#define KEEP_EVERY 30
#define KEEP_TIMES 10

static void carrier_sock_set(int fd, int level, int name, int value)
{
	setsockopt(fd, level, name, &value, sizeof(value));
}

void carrier_sock_init(int fd)
{
	carrier_sock_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	carrier_sock_set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	carrier_sock_set(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE);
	carrier_sock_set(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEP_EVERY);
	carrier_sock_set(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEP_TIMES);
}

bool carrier_sock_receive(struct carrier *c, int fd)
{
	size_t room;
	uint8_t *to = carrier_room(c, &room);
	ssize_t n = recv(fd, to, room, MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	errno = 0;
	if (n)
		carrier_came(c, (size_t) n);
	return n && !carrier_fault(c);
}

bool carrier_sock_send(struct carrier *c, int fd)
{
	const uint8_t *buf;
	size_t len;

	while (buf = carrier_out(c, &len), len) {
		ssize_t n = send(fd, buf, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		carrier_sent(c, (size_t) n);
	}
	errno = 0;
	return !carrier_fault(c);
}

const char *carrier_sock_why(const struct carrier *c)
{
	if (carrier_fault(c))
		return carrier_fault(c);
	return errno ? strerror(errno) : "the other end has closed it";
}
