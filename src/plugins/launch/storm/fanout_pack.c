/*
 * fanout_pack.c - a message as the bytes that a slurmd reads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/common/slurm_xlator.h"

#include "src/common/log.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/xmalloc.h"

#include "fanout_pack.h"
#include "src/slurm/message.h"

struct sink {
	int fd;
	uint8_t *buf;
	size_t len, room;
};

static void *fanout_drain(void *arg)
{
	struct sink *k = arg;
	ssize_t n;

	for (;;) {
		if (k->len == k->room) {
			k->room *= 2;
			xrealloc(k->buf, k->room);
		}
		n = read(k->fd, k->buf + k->len, k->room - k->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return NULL;
		k->len += n;
	}
}

uint8_t *fanout_pack(slurm_msg_t *msg, const struct storm_addr *self,
		     size_t head, size_t *len)
{
	struct sink k = { .room = 65536, .len = head };
	slurm_addr_t orig = { 0 };
	pthread_t thread;
	int fd[2], rc;

	if (!memcmp(self->ip, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12)) {
		struct sockaddr_in *v4 = (void *) &orig;

		v4->sin_family = AF_INET;
		memcpy(&v4->sin_addr, self->ip + 12, 4);
	} else {
		struct sockaddr_in6 *v6 = (void *) &orig;

		v6->sin6_family = AF_INET6;
		memcpy(&v6->sin6_addr, self->ip, 16);
	}
	msg->orig_addr = orig;
	/* Slurm packs into sockets only. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd)) {
		error("storm: socketpair: %m");
		return NULL;
	}
	k.fd = fd[1];
	k.buf = xmalloc(k.room);
	if ((rc = pthread_create(&thread, NULL, fanout_drain, &k))) {
		error("storm: cannot start a thread: %s", strerror(rc));
		close(fd[0]);
		close(fd[1]);
		xfree(k.buf);
		return NULL;
	}
	rc = message_send(fd[0], msg);
	close(fd[0]);
	pthread_join(thread, NULL);
	close(fd[1]);
	if (rc < 0) {
		error("storm: cannot pack a message: %m");
		xfree(k.buf);
		return NULL;
	}
	*len = k.len;
	return k.buf;
}
