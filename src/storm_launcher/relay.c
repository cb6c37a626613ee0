/*
 * relay.c - see relay.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "relay.h"
#include "src/libstorm/wire/credential.h"

#define ROOM (128u << 10) /* bytes that wait to be sent */
#define PIECE (16u << 10)

struct relay {
	const struct run_start *start;
	int fd; /* -1: not opened, or failed */
	bool failed;
	uint8_t *out; /* [at, have) is to be sent */
	size_t at, have;
	uint64_t sent, taken;
	struct run_reader in;
};

struct relay *relay_create(const struct run_start *start)
{
	struct relay *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->start = start;
	r->fd = -1;
	r->out = malloc(ROOM);
	if (r->out)
		return r;
	free(r);
	return NULL;
}

static void relay_close(struct relay *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
}

void relay_destroy(struct relay *r)
{
	if (!r)
		return;
	relay_close(r);
	run_reader_fini(&r->in);
	free(r->out);
	free(r);
}

static void relay_fail(struct relay *r, const char *what)
{
	if (!r->failed)
		storm_log(STORM_LOG_ERROR, "output of run %llu is lost: %s: %m",
			  (unsigned long long) r->start->number, what);
	r->failed = true;
	r->at = r->have = 0;
	relay_close(r);
}

static void relay_put(struct relay *r, enum run_kind kind, const void *buf,
		      size_t len)
{
	run_frame_head(r->out + r->have, kind, len);
	memcpy(r->out + r->have + RUN_FRAME_HEADER, buf, len);
	r->have += RUN_FRAME_HEADER + len;
}

/* The first frame names the user, who else may not send, and the run. */
static bool relay_put_proof(struct relay *r)
{
	uint8_t what[8 + RUN_LIFE];
	struct storm_out o = { what, what + sizeof(what), false };
	char *cred;

	storm_put64(&o, r->start->number);
	storm_put(&o, r->start->life, RUN_LIFE);
	if (storm_credential_encode(geteuid(), what, sizeof(what), &cred))
		return false;
	if (strlen(cred) + 1 > ROOM / 2) {
		free(cred);
		errno = EMSGSIZE;
		return false;
	}
	relay_put(r, RUN_PROOF, cred, strlen(cred) + 1);
	free(cred);
	return true;
}

static void relay_open(struct relay *r)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(r->start->relay.port) };
	int one = 1;

	memcpy(&sin.sin_addr, r->start->relay.ip + STORM_ADDR_LEN - 4, 4);
	r->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (r->fd < 0) {
		relay_fail(r, "socket");
		return;
	}
	setsockopt(r->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(r->fd, (struct sockaddr *) &sin, sizeof(sin)) &&
	    errno != EINPROGRESS)
		relay_fail(r, "the head cannot be reached");
	else if (!relay_put_proof(r))
		relay_fail(r, "MUNGE");
}

bool relay_has_room(const struct relay *r)
{
	return ROOM - r->have >= RUN_FRAME_HEADER + PIECE;
}

bool relay_read(struct relay *r, int pipe, uint8_t fd)
{
	uint8_t piece[PIECE];
	ssize_t n;

	piece[0] = fd;
	while (relay_has_room(r)) {
		n = read(pipe, piece + 1, sizeof(piece) - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		if (r->fd < 0 && !r->failed)
			relay_open(r);
		if (r->failed)
			continue;
		relay_put(r, RUN_OUTPUT, piece, 1 + (size_t) n);
		r->sent += (uint64_t) n;
	}
	return true;
}

uint64_t relay_sent(const struct relay *r)
{
	return r->sent;
}

bool relay_has_taken(const struct relay *r, uint64_t sent)
{
	return r->failed || r->taken >= sent;
}

int relay_fd(const struct relay *r, short *events)
{
	*events = POLLIN;
	if (r->have > r->at)
		*events |= POLLOUT;
	return r->fd;
}

static void relay_write(struct relay *r)
{
	while (r->at < r->have) {
		ssize_t n = send(r->fd, r->out + r->at, r->have - r->at,
				 MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			relay_fail(r, "to the head");
			return;
		}
		r->at += (size_t) n;
	}
	memmove(r->out, r->out + r->at, r->have - r->at);
	r->have -= r->at;
	r->at = 0;
}

static void relay_receive(struct relay *r)
{
	enum run_kind kind;
	struct storm_in body;
	size_t room;
	uint8_t *to = run_reader_room(&r->in, &room);
	ssize_t n = to ? recv(r->fd, to, room, 0) : -1;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		if (!n)
			errno = EPIPE;
		relay_fail(r, "from the head");
		return;
	}
	r->in.have += (size_t) n;
	while (run_reader_next(&r->in, &kind, &body) > 0)
		if (kind == RUN_TAKEN)
			r->taken = storm_get64(&body);
}

void relay_serve(struct relay *r, short events)
{
	if (r->fd >= 0 && events & (POLLIN | POLLHUP | POLLERR))
		relay_receive(r);
	if (r->fd >= 0 && events & POLLOUT)
		relay_write(r);
}
