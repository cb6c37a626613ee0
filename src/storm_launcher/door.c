/*
 * door.c - see door.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "carrier_sock.h"
#include "door.h"
#include "src/libstorm/base/minmax.h"

#define EVENTS 64
#define FULL_LOOK 1000 /* ms, until a descriptor may be free */

struct door_client {
	struct door_client *next;
	int fd;		  /* -1: gone */
	uint32_t channel; /* 0: nothing has come yet */
	int file[RUN_SOCK_FDS];
	struct run_reader in; /* bytes for the carrier, and no frames */
	uint32_t events;      /* that epoll waits for */
	bool readable, writable;
};

struct door {
	char path[RUN_SOCK_PATH];
	int listener, epoll, stream; /* -1: none */
	uint32_t stream_events;
	bool files, full;
	struct carrier *carrier;
	struct door_client *clients;
	uint32_t count;
};

static bool door_epoll(struct door *d, int op, int fd, uint32_t events,
		       void *what)
{
	struct epoll_event e = { .events = events, .data.ptr = what };

	return !epoll_ctl(d->epoll, op, fd, &e);
}

struct door *door_create(const char *path, bool files)
{
	struct door *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return NULL;
	snprintf(d->path, sizeof(d->path), "%s", path);
	d->files = files;
	d->stream = -1;
	d->epoll = epoll_create1(EPOLL_CLOEXEC);
	d->listener = run_sock_listen(path);
	if (d->epoll >= 0 && d->listener >= 0 &&
	    door_epoll(d, EPOLL_CTL_ADD, d->listener, EPOLLIN, &d->listener))
		return d;
	err = errno;
	door_destroy(d);
	errno = err;
	return NULL;
}

static void door_close_files(struct door_client *c)
{
	for (int k = 0; k < RUN_SOCK_FDS; k++) {
		if (c->file[k] >= 0)
			close(c->file[k]);
		c->file[k] = -1;
	}
}

/* It is freed when no event can name it. */
static void door_close_client(struct door *d, struct door_client *c)
{
	if (c->fd < 0)
		return;
	close(c->fd);
	c->fd = -1;
	if (c->channel && d->carrier)
		carrier_close(d->carrier, c->channel);
	door_close_files(c);
	d->count--;
}

static void door_sweep(struct door *d)
{
	struct door_client **at = &d->clients, *c;

	while ((c = *at)) {
		if (c->fd >= 0) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		run_reader_fini(&c->in);
		free(c);
	}
}

static void door_drop_carrier(struct door *d)
{
	if (d->stream >= 0)
		close(d->stream);
	d->stream = -1;
	carrier_destroy(d->carrier);
	d->carrier = NULL;
}

void door_refuse(struct door *d)
{
	for (struct door_client *c = d->clients; c; c = c->next)
		door_close_client(d, c);
}

void door_destroy(struct door *d)
{
	if (!d)
		return;
	door_refuse(d);
	door_sweep(d);
	door_drop_carrier(d);
	if (d->listener >= 0) {
		close(d->listener);
		unlink(d->path);
	}
	if (d->epoll >= 0)
		close(d->epoll);
	free(d);
}

int door_fd(const struct door *d)
{
	return d->epoll;
}

int door_patience(const struct door *d)
{
	return d->full ? FULL_LOOK : -1;
}

bool door_waits(const struct door *d)
{
	return d->count && !d->carrier;
}

struct carrier *door_carrier(struct door *d)
{
	return d->carrier;
}

void door_give(struct door *d, int fd, struct carrier *c)
{
	carrier_sock_init(fd);
	d->carrier = c;
	d->stream = fd;
	d->stream_events = EPOLLIN | EPOLLOUT; /* its first record */
	door_epoll(d, EPOLL_CTL_ADD, fd, d->stream_events, &d->stream);
}

static void door_lose(struct door *d)
{
	storm_log(STORM_LOG_ERROR, "the connection to the head: %s",
		  carrier_sock_why(d->carrier));
	door_drop_carrier(d);
	door_refuse(d);
}

/* -------------------------------------------------------------------- clients --- */

/* Some descriptors of the process are for all else that it does. */
static bool door_has_room(const struct door *d)
{
	struct rlimit l = { .rlim_cur = RLIM_INFINITY };
	uint32_t each = d->files ? 1 + RUN_SOCK_FDS : 1;

	getrlimit(RLIMIT_NOFILE, &l);
	return d->count < CARRIER_CHANNELS &&
	       (d->count + 1) * (uint64_t) each <= l.rlim_cur / 2;
}

static bool door_accept(struct door *d)
{
	int fd = run_sock_accept(d->listener);
	struct door_client *c = fd < 0 ? NULL : calloc(1, sizeof(*c));

	if (fd < 0) {
		d->full |= errno == EMFILE || errno == ENFILE;
		return errno == EPERM; /* another user's: the next one */
	}
	if (!c || !door_epoll(d, EPOLL_CTL_ADD, fd, 0, c)) {
		free(c);
		close(fd);
		return true;
	}
	c->fd = fd;
	for (int k = 0; k < RUN_SOCK_FDS; k++)
		c->file[k] = -1;
	c->readable = c->writable = true; /* it is tried */
	c->next = d->clients;
	d->clients = c;
	d->count++;
	return true;
}

static void door_accept_all(struct door *d)
{
	bool more = true;

	d->full = false;
	while (more && !d->full) {
		d->full = !door_has_room(d);
		more = !d->full && door_accept(d);
	}
}

/* Descriptors are there before the first byte of their client goes on. */
static void door_receive(struct door *d, struct door_client *c)
{
	size_t before = c->in.have;
	int fd[RUN_SOCK_FDS], n = run_sock_receive(c->fd, &c->in, &fd);

	if (n < 0) {
		door_close_client(d, c);
		return;
	}
	c->readable = c->in.have > before;
	if (n == RUN_SOCK_FDS && d->files && c->file[0] < 0) {
		memcpy(c->file, fd, sizeof(c->file));
		return;
	}
	while (n > 0)
		close(fd[--n]);
}

/* From the client to the carrier, as far as there is a window. */
static void door_read_client(struct door *d, struct door_client *c)
{
	size_t n;

	while (c->fd >= 0) {
		if (!c->in.have && c->readable)
			door_receive(d, c);
		if (c->fd < 0 || !c->in.have)
			return;
		if (!c->channel)
			c->channel = carrier_open(d->carrier);
		n = carrier_put(d->carrier, c->channel, c->in.buf, c->in.have);
		if (!n)
			return;
		c->in.have -= n;
		memmove(c->in.buf, c->in.buf + n, c->in.have);
	}
}

/* And back. */
static void door_write_client(struct door *d, struct door_client *c)
{
	const uint8_t *buf;
	size_t len;

	while (c->fd >= 0 && c->channel && c->writable &&
	       (buf = carrier_data(d->carrier, c->channel, &len), len)) {
		ssize_t n = send(c->fd, buf, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0)
			carrier_used(d->carrier, c->channel, (size_t) n);
		else if (errno == EAGAIN)
			c->writable = false;
		else if (errno != EINTR)
			door_close_client(d, c);
	}
	if (c->fd >= 0 && c->channel && carrier_ended(d->carrier, c->channel))
		door_close_client(d, c);
}

/* What its descriptor is to say, once there is a use for it. */
static void door_watch_client(struct door *d, struct door_client *c)
{
	uint32_t events = (c->in.have || !d->carrier ? 0 : EPOLLIN) |
			  (c->writable ? 0 : EPOLLOUT);

	if (c->fd < 0 || events == c->events)
		return;
	if (door_epoll(d, EPOLL_CTL_MOD, c->fd, events, c))
		c->events = events;
	else
		door_close_client(d, c);
}

static void door_serve_clients(struct door *d)
{
	uint32_t any;

	while (d->carrier && carrier_next(d->carrier, &any))
		;
	for (struct door_client *c = d->clients; c; c = c->next) {
		if (d->carrier && carrier_is_proven(d->carrier)) {
			door_read_client(d, c);
			door_write_client(d, c);
		}
		door_watch_client(d, c);
	}
}

/* --------------------------------------------------------------------- events --- */

static void door_serve_stream(struct door *d)
{
	size_t waits;
	uint32_t events;

	if (!d->carrier)
		return;
	if (!carrier_sock_send(d->carrier, d->stream)) {
		door_lose(d);
		return;
	}
	carrier_out(d->carrier, &waits);
	events = EPOLLIN | (waits ? EPOLLOUT : 0);
	if (events != d->stream_events &&
	    door_epoll(d, EPOLL_CTL_MOD, d->stream, events, &d->stream))
		d->stream_events = events;
}

static void door_event(struct door *d, const struct epoll_event *e)
{
	struct door_client *c = e->data.ptr;

	if (e->data.ptr == &d->listener) {
		door_accept_all(d);
	} else if (e->data.ptr == &d->stream) {
		if (d->carrier && e->events & ~(uint32_t) EPOLLOUT &&
		    !carrier_sock_receive(d->carrier, d->stream))
			door_lose(d);
	} else if (c->fd >= 0 && e->events & (EPOLLHUP | EPOLLERR)) {
		/* what it has not read, and what was not read of it, is in
		 * vain */
		door_close_client(d, c);
	} else {
		c->readable |= (e->events & EPOLLIN) != 0;
		c->writable |= (e->events & EPOLLOUT) != 0;
	}
}

/* The listener is not looked at while nobody can be accepted. */
static void door_watch_listener(struct door *d, bool was_full)
{
	if (was_full)
		door_accept_all(d);
	if (d->full != was_full)
		door_epoll(d, EPOLL_CTL_MOD, d->listener, d->full ? 0 : EPOLLIN,
			   &d->listener);
}

void door_serve(struct door *d)
{
	struct epoll_event e[EVENTS];
	bool was_full = d->full;
	int n = epoll_wait(d->epoll, e, EVENTS, 0);

	for (int k = 0; k < n; k++)
		door_event(d, &e[k]);
	door_watch_listener(d, was_full);
	door_serve_clients(d);
	door_serve_stream(d);
	door_sweep(d);
}

int door_files(struct door *d, uint32_t channel, int (*fd)[RUN_SOCK_FDS])
{
	struct door_client *c = d->clients;

	while (c && !(c->fd >= 0 && c->channel == channel))
		c = c->next;
	if (!c)
		return EPIPE;
	if (c->file[0] < 0)
		return EMFILE;
	memcpy(*fd, c->file, sizeof(*fd));
	for (int k = 0; k < RUN_SOCK_FDS; k++)
		c->file[k] = -1;
	return 0;
}
