/*
 * conn.c - see conn.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "carrier_sock.h"
#include "conn.h"
#include "grow.h"
#include "src/libstorm/base/minmax.h"

struct conn *conn_create(int fd, bool tcp)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (!c) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	c->fd = fd;
	c->tcp = tcp;
	c->node = STORM_NO_NODE;
	for (int k = 0; k < RUN_SOCK_FDS; k++)
		c->file[k] = -1;
	return c;
}

struct conn *conn_create_on(struct carrier *carrier, uint32_t channel)
{
	struct conn *c = conn_create(-1, false);

	if (!c) {
		if (channel)
			carrier_close(carrier, channel);
		return NULL;
	}
	c->carrier = carrier;
	c->channel = channel;
	return c;
}

bool conn_is_open(const struct conn *c)
{
	return c->fd >= 0 || c->carrier;
}

void conn_forget_carrier(struct conn *c)
{
	c->carrier = NULL;
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
	if (c->carrier && c->channel)
		carrier_close(c->carrier, c->channel);
	c->carrier = NULL;
	conn_close_files(c);
}

void conn_destroy(struct conn *c)
{
	if (!c)
		return;
	conn_close(c);
	carrier_destroy(c->carries);
	run_what_free(&c->what);
	run_reader_fini(&c->in);
	free(c->ask);
	free(c->out);
	free(c);
}

void conn_put(struct conn *c, enum run_kind kind, const void *body, size_t len)
{
	if (!conn_is_open(c))
		return;
	if (!grow_buffer(&c->out, &c->room, c->have + RUN_FRAME_HEADER + len)) {
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
	size_t more = 0;

	if (c->carries)
		carrier_out(c->carries, &more);
	return c->have - c->at + more;
}

/* A channel's bytes go to its carrier. */
static void conn_send(struct conn *c)
{
	if (c->carrier)
		c->at += carrier_put(c->carrier, c->channel, c->out + c->at,
				     c->have - c->at);
	if (c->fd >= 0 && !run_sock_put(c->fd, c->out, &c->at, c->have))
		conn_close(c);
}

/* Close a carrier's stream; its clients are the head's to close. */
static void conn_end_carrier(struct conn *c)
{
	/* anybody can be refused */
	if (carrier_is_proven(c->carries))
		storm_log(STORM_LOG_ERROR, "the connection to a door: %s",
			  carrier_sock_why(c->carries));
	conn_close(c);
}

void conn_flush(struct conn *c)
{
	conn_send(c);
	if (c->at && conn_is_open(c)) {
		memmove(c->out, c->out + c->at, c->have - c->at);
		c->have -= c->at;
		c->at = 0;
	}
	if (c->carries && c->fd >= 0 && !c->have &&
	    !carrier_sock_send(c->carries, c->fd))
		conn_end_carrier(c);
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

/* Frames of any length: so all of it goes to the reader. */
static void conn_read_channel(struct conn *c)
{
	const uint8_t *from;
	size_t len, room;

	while (from = carrier_data(c->carrier, c->channel, &len), len) {
		uint8_t *to = run_reader_room(&c->in, &room);

		if (!to) {
			conn_close(c);
			return;
		}
		len = storm_min(len, room);
		memcpy(to, from, len);
		c->in.have += len;
		carrier_used(c->carrier, c->channel, len);
	}
	if (carrier_ended(c->carrier, c->channel))
		conn_close(c);
}

void conn_read(struct conn *c)
{
	size_t room;
	uint8_t *to;
	ssize_t n;

	if (c->carrier) {
		conn_read_channel(c);
		return;
	}
	if (c->carries) {
		if (!carrier_sock_receive(c->carries, c->fd))
			conn_end_carrier(c);
		return;
	}
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
