/*
 * head_call.c - the keeper is on another host, as under salloc: the head calls it there,
 * and takes the connection as one of a door, which has the keeper in its channel 0.  See
 * head_private.h and call.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "call.h"
#include "carrier_sock.h"
#include "head_private.h"
#include "launcher_base.h"
#include "src/libstorm/wire/credential.h"

#define CONNECT_LIMIT 10000 /* ms: a firewall may say nothing */

/* The call, until the keeper has answered. */
static struct {
	int fd;
	struct call call;
} dialled = { .fd = -1 };

static bool head_connect(int fd, const struct storm_addr *to)
{
	struct sockaddr_in sin = launcher_sockaddr(to);
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof(int);
	int err = ETIMEDOUT;

	if (!connect(fd, (struct sockaddr *) &sin, sizeof(sin)))
		return true;
	if (errno != EINPROGRESS)
		return false;
	if (poll(&p, 1, CONNECT_LIMIT) > 0)
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len);
	errno = err;
	return !err;
}

/* The first frame.  Few bytes: they go at once. */
static bool head_show(char *why, size_t size)
{
	uint8_t hidden[CALL_LEN], *frame = NULL;
	size_t len = 0;
	char *cred = NULL;
	bool sent;

	call_hide(&dialled.call, &hidden);
	if (!storm_credential_encode(geteuid(), hidden, sizeof(hidden), &cred))
		frame = call_frame(cred, &len);
	sent = frame &&
	       send(dialled.fd, frame, len, MSG_NOSIGNAL) == (ssize_t) len;
	if (!sent)
		snprintf(why, size, "the keeper cannot be called: %s",
			 frame ? strerror(errno) :
				 "MUNGE makes no credential on this node");
	free(frame);
	free(cred);
	return sent;
}

bool head_call(const struct head_keeper *k, char *why, size_t size)
{
	uint8_t key[RUN_KEY];
	struct storm_addr to;

	if (!run_key_read(getenv(RUN_KEY_VARIABLE), key) ||
	    !call_begin(&dialled.call, key) ||
	    storm_addr_set(&to, k->ip, k->port)) {
		snprintf(why, size, "the keeper's address is \"%s\"", k->ip);
		return false;
	}
	dialled.fd =
		socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (dialled.fd >= 0 && head_connect(dialled.fd, &to))
		return head_show(why, size);
	snprintf(
		why, size,
		"port %u of the host of storm run, %s, cannot be reached from here: %s: open SrunPortRange of slurm.conf for nodes there, as for srun",
		k->port, k->ip, strerror(errno));
	return false;
}

/* Exactly the answer's frame, as records follow. */
static bool head_answered(uint8_t (*answer)[CALL_ANSWER])
{
	uint8_t right[RUN_FRAME_HEADER];
	size_t have = 0;

	while (have < sizeof(*answer)) {
		struct pollfd p = { .fd = dialled.fd, .events = POLLIN };
		ssize_t n;

		poll(&p, 1, -1);
		n = recv(dialled.fd, *answer + have, sizeof(*answer) - have, 0);
		if (!n || (n < 0 && errno != EAGAIN && errno != EINTR))
			return false;
		have += n > 0 ? (size_t) n : 0;
	}
	run_frame_head(right, RUN_ANSWER, SEALED_RANDOM);
	return !memcmp(right, *answer, sizeof(right));
}

/* The stream and the keeper as connections of the head.  NULL: no memory. */
static struct conn *head_link(struct carrier *carrier, struct conn **keeper)
{
	struct conn *door = carrier ? head_add_conn(dialled.fd, CONN_DOOR) :
				      NULL;

	if (!door)
		return NULL;
	dialled.fd = -1;
	door->carries = carrier;
	door->tcp = true;
	carrier_sock_init(door->fd);
	*keeper = conn_create_on(carrier, 0);
	if (!*keeper)
		return NULL;
	(*keeper)->kind = CONN_KEEPER;
	(*keeper)->next = head.conns;
	head.conns = *keeper;
	return door;
}

/* Its first frame says where launchers are. */
static bool head_hear_channel(struct conn *door, struct conn *keeper)
{
	struct storm_in body;
	enum run_kind kind;
	int got = 0;

	while (conn_is_open(door) && conn_is_open(keeper) && !got) {
		struct pollfd p = {
			door->fd,
			(short) (POLLIN | (conn_waits(door) ? POLLOUT : 0)), 0
		};

		poll(&p, 1, -1);
		if (p.revents & ~POLLOUT)
			conn_read(door);
		conn_read(keeper);
		conn_flush(door);
		got = run_reader_next(&keeper->in, &kind, &body);
	}
	return got > 0 && kind == RUN_STEP && head_take_step(&body);
}

bool head_called(char *why, size_t size)
{
	uint8_t answer[CALL_ANSWER];
	struct conn *door = NULL, *keeper = NULL;
	struct sealed *s;

	if (head_answered(&answer)) {
		s = call_sealed(&dialled.call, answer + RUN_FRAME_HEADER, true);
		door = head_link(s ? carrier_create(s, false) : NULL, &keeper);
	}
	if (door && head_hear_channel(door, keeper))
		return true;
	snprintf(why, size, "the keeper does not answer the head's call");
	return false;
}
