/*
 * fdpass.c - see fdpass.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fdpass.h"

union control {
	char buf[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

int fdpass_send(int sock, const void *buf, size_t len, int fd)
{
	union control ctl;
	struct iovec iov = { .iov_base = (void *) buf, .iov_len = len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;
	ssize_t n;

	if (fd >= 0) {
		memset(&ctl, 0, sizeof(ctl));
		m.msg_control = &ctl;
		m.msg_controllen = sizeof(ctl.buf);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	}
	do {
		n = sendmsg(sock, &m, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -1 : 0;
}

/* CMSG_SPACE() rounds up, so two may fit where one was expected. */
static int fdpass_take(struct msghdr *m)
{
	int fd = -1, got;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0;
		     CMSG_LEN((i + 1) * sizeof(int)) <= c->cmsg_len; i++) {
			memcpy(&got, CMSG_DATA(c) + i * sizeof(int),
			       sizeof(int));
			if (fd >= 0)
				close(fd);
			fd = got;
		}
	}
	return fd;
}

ssize_t fdpass_recv(int sock, void *buf, size_t size, int *fd)
{
	union control ctl;
	struct iovec iov = { .iov_base = buf, .iov_len = size };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = &ctl,
			    .msg_controllen = sizeof(ctl.buf) };
	ssize_t n;

	*fd = -1;
	do {
		n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n;
	*fd = fdpass_take(&m);
	if (m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		if (*fd >= 0)
			close(*fd);
		*fd = -1;
		errno = EPROTO;
		return -1;
	}
	return n;
}
