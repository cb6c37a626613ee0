/*
 * udp_alive.c - does an agent run that gives no answer to an OPEN?  Its kernel takes
 * the connection and the bytes, also while it is stopped.  So it is asked by another
 * connection for what every version does at once: to reset one that brings no OPEN.
 * An agent that runs, and has to wait for MUNGE, does that.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <unistd.h>

#include "udp_private.h"

int storm_udp_alive_ask(const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (const struct sockaddr *) to, sizeof(*to)) &&
	    errno != EINPROGRESS) {
		close(fd);
		fd = -1;
	}
	return fd;
}

bool storm_udp_alive_answered(int fd, bool *said)
{
	static const uint8_t no_open[4]; /* of no bytes */
	ssize_t r;

	if (!*said) {
		r = send(fd, no_open, sizeof(no_open), MSG_NOSIGNAL);
		*said = r > 0;
	} else {
		uint8_t c;

		r = recv(fd, &c, sizeof(c), 0);
		if (r >= 0)
			return true;
	}
	return r < 0 && errno != EAGAIN && errno != EINTR && errno != ENOTCONN;
}
