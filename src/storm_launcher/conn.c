/*
 * conn.c - see conn.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conn.h"

struct conn *conn_create(int fd, bool tcp)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (!c) {
		close(fd);
		return NULL;
	}
	c->fd = fd;
	c->tcp = tcp;
	c->file[0] = c->file[1] = -1;
	return c;
}

void conn_close_files(struct conn *c)
{
	for (int k = 0; k < RUN_SOCK_FDS; k++) {
		if (c->file[k] >= 0)
			close(c->file[k]);
		c->file[k] = -1;
	}
}

void conn_close(struct conn *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	conn_close_files(c);
}

void conn_destroy(struct conn *c)
{
	if (!c)
		return;
	conn_close(c);
	run_what_free(&c->what);
	run_reader_fini(&c->in);
	free(c->ask);
	free(c->out);
	free(c);
}

static bool conn_has_room(struct conn *c, size_t len)
{
	size_t need = c->have + len;
	uint8_t *more;

	if (need <= c->room)
		return true;
	need *= 2;
	more = realloc(c->out, need);
	if (!more)
		return false;
	c->out = more;
	c->room = need;
	return true;
}

void conn_put(struct conn *c, enum run_kind kind, const void *body, size_t len)
{
	if (c->fd < 0)
		return;
	if (!conn_has_room(c, RUN_FRAME_HEADER + len)) {
		storm_log(STORM_LOG_ERROR, "no memory for a connection");
		conn_close(c);
		return;
	}
	run_frame_head(c->out + c->have, kind, len);
	if (len)
		memcpy(c->out + c->have + RUN_FRAME_HEADER, body, len);
	c->have += RUN_FRAME_HEADER + len;
}

void conn_put_text(struct conn *c, enum run_kind kind, const char *text)
{
	conn_put(c, kind, text, strlen(text));
}

size_t conn_waits(const struct conn *c)
{
	return c->have - c->at;
}

void conn_flush(struct conn *c)
{
	while (c->fd >= 0 && c->at < c->have) {
		ssize_t n = send(c->fd, c->out + c->at, c->have - c->at,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			conn_close(c);
			return;
		}
		c->at += (size_t) n;
	}
	if (c->at) {
		memmove(c->out, c->out + c->at, c->have - c->at);
		c->have -= c->at;
		c->at = 0;
	}
	if (c->bye && !c->have)
		conn_close(c);
}

/* More than one set of descriptors nobody sends. */
static void conn_read_local(struct conn *c)
{
	int fd[RUN_SOCK_FDS], n = run_sock_receive(c->fd, &c->in, &fd);

	if (n < 0) {
		conn_close(c);
		return;
	}
	if (n == RUN_SOCK_FDS && c->file[0] < 0) {
		memcpy(c->file, fd, sizeof(c->file));
		return;
	}
	while (n > 0)
		close(fd[--n]);
}

void conn_read(struct conn *c)
{
	size_t room;
	uint8_t *to;
	ssize_t n;

	if (!c->tcp) {
		conn_read_local(c);
		return;
	}
	to = run_reader_room(&c->in, &room);
	n = to ? recv(c->fd, to, room, MSG_DONTWAIT) : 0;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		conn_close(c);
	else
		c->in.have += (size_t) n;
}
