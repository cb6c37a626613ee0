/*
 * call_desk.c - see call_desk.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "call_desk.h"
#include "carrier_sock.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/wire/credential.h"

#define LOOK 500 /* ms */
/* A stranger says something at once; the step of a head can stand. */
#define CALL_LIMIT (3 * STORM_SEC)
#define RECORD_LIMIT (60 * STORM_SEC)

struct desk_guest {
	int fd; /* -1: none */
	uint64_t until;
	uint8_t buf[RUN_FRAME_HEADER + CALL_MAX];
	size_t have;
	struct carrier *carrier; /* it was answered */
};

struct call_desk {
	int listener;
	uint8_t key[RUN_KEY];
	const char *why;
	struct desk_guest guest[CALL_DESK_GUESTS];
};

struct call_desk *call_desk_create(int listener,
				   const uint8_t key[static RUN_KEY])
{
	struct call_desk *d = calloc(1, sizeof(*d));

	if (!d) {
		close(listener);
		return NULL;
	}
	d->listener = listener;
	memcpy(d->key, key, RUN_KEY);
	d->why = "";
	for (int k = 0; k < CALL_DESK_GUESTS; k++)
		d->guest[k].fd = -1;
	return d;
}

static void desk_dismiss(struct desk_guest *g)
{
	if (g->fd >= 0)
		close(g->fd);
	g->fd = -1;
	carrier_destroy(g->carrier);
	g->carrier = NULL;
}

void call_desk_destroy(struct call_desk *d)
{
	if (!d)
		return;
	for (int k = 0; k < CALL_DESK_GUESTS; k++)
		desk_dismiss(&d->guest[k]);
	close(d->listener);
	free(d);
}

const char *call_desk_why(const struct call_desk *d)
{
	return d->why;
}

static void desk_refuse(struct call_desk *d, struct desk_guest *g,
			const char *why)
{
	d->why = why;
	desk_dismiss(g);
}

int call_desk_polls(const struct call_desk *d, struct pollfd *p)
{
	bool room = false;
	int some = -1;

	for (int k = 0; k < CALL_DESK_GUESTS; k++) {
		size_t waits = 0;

		if (d->guest[k].carrier)
			carrier_out(d->guest[k].carrier, &waits);
		p[1 + k] = (struct pollfd) {
			d->guest[k].fd,
			(short) (POLLIN | (waits ? POLLOUT : 0)), 0
		};
		room |= d->guest[k].fd < 0;
		if (d->guest[k].fd >= 0)
			some = LOOK;
	}
	p[0] = (struct pollfd) { room ? d->listener : -1, POLLIN, 0 };
	return some;
}

static void desk_accept(struct call_desk *d)
{
	struct desk_guest *g = d->guest;

	while (g < d->guest + CALL_DESK_GUESTS && g->fd >= 0)
		g++;
	if (g == d->guest + CALL_DESK_GUESTS)
		return;
	g->fd = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	g->have = 0;
	g->until = storm_now() + CALL_LIMIT;
}

/* Whose credential is it?  One that has expired, as the launchers' start may take long,
 * and one that was decoded before, is as good: without its secret it leads nowhere. */
static const char *desk_read(const struct call_desk *d, const char *cred,
			     struct call *call)
{
	uint32_t uid, gid;
	void *what;
	size_t len;
	const char *why;

	if (!cred)
		return "it is of another program";
	if (storm_credential_decode_stale(cred, &what, &len, &uid, &gid))
		return "MUNGE refuses its credential";
	why = call_read(call, d->key, uid, geteuid(), what, len);
	free(what);
	return why;
}

/* It is the head's, if its first record says so. */
static void desk_answer(struct call_desk *d, struct desk_guest *g,
			const struct call *call)
{
	uint8_t answer[CALL_ANSWER];
	struct sealed *s = NULL;

	run_frame_head(answer, RUN_ANSWER, SEALED_RANDOM);
	if (!storm_random(answer + RUN_FRAME_HEADER, SEALED_RANDOM))
		s = call_sealed(call, answer + RUN_FRAME_HEADER, false);
	g->carrier = s ? carrier_create(s, true) : NULL;
	if (!g->carrier) {
		desk_refuse(d, g, "no memory");
		return;
	}
	carrier_sock_init(g->fd);
	g->until = storm_now() + RECORD_LIMIT;
	/* so few bytes go at once */
	if (send(g->fd, answer, sizeof(answer), MSG_NOSIGNAL) !=
		    (ssize_t) sizeof(answer) ||
	    !carrier_sock_send(g->carrier, g->fd))
		desk_refuse(d, g, "its connection is lost");
}

/* A whole frame is there. */
static void desk_hear(struct call_desk *d, struct desk_guest *g, size_t len)
{
	struct storm_in body = { g->buf + RUN_FRAME_HEADER,
				 g->buf + RUN_FRAME_HEADER + len, false };
	bool ours = g->buf[4] == RUN_CALL && g->have == RUN_FRAME_HEADER + len;
	struct call call;
	const char *why = desk_read(d, ours ? call_cred(&body) : NULL, &call);

	if (!why) {
		desk_answer(d, g, &call);
		return;
	}
	/* the log is a file of the user's, and anybody can call */
	if (strcmp(why, d->why))
		storm_log(STORM_LOG_ERROR, "a call is refused: %s", why);
	desk_refuse(d, g, why);
}

static void desk_receive(struct call_desk *d, struct desk_guest *g)
{
	ssize_t n = recv(g->fd, g->buf + g->have, sizeof(g->buf) - g->have,
			 MSG_DONTWAIT);
	struct storm_in in = { g->buf, g->buf + RUN_FRAME_HEADER, false };
	uint32_t len;

	if (n <= 0) {
		if (!n || (errno != EAGAIN && errno != EINTR))
			desk_dismiss(g);
		return;
	}
	g->have += (size_t) n;
	if (g->have < RUN_FRAME_HEADER)
		return;
	len = storm_get32(&in);
	if (len > CALL_MAX)
		desk_dismiss(g);
	else if (g->have >= RUN_FRAME_HEADER + len)
		desk_hear(d, g, len);
}

/* An end that has no secret is at its end here. */
static void desk_carry(struct call_desk *d, struct desk_guest *g, short came)
{
	if ((came & ~POLLOUT && !carrier_sock_receive(g->carrier, g->fd)) ||
	    !carrier_sock_send(g->carrier, g->fd))
		desk_refuse(d, g, carrier_sock_why(g->carrier));
}

int call_desk_serve(struct call_desk *d, const struct pollfd *p,
		    struct carrier **c)
{
	uint64_t now = storm_now();

	for (int k = 0; k < CALL_DESK_GUESTS; k++) {
		struct desk_guest *g = &d->guest[k];
		int fd = g->fd;

		if (fd < 0 || p[1 + k].fd != fd)
			continue;
		if (p[1 + k].revents && !g->carrier)
			desk_receive(d, g);
		else if (p[1 + k].revents)
			desk_carry(d, g, p[1 + k].revents);
		else if (now > g->until)
			desk_dismiss(g);
		if (g->carrier && carrier_is_proven(g->carrier)) {
			*c = g->carrier;
			g->carrier = NULL;
			g->fd = -1;
			return fd;
		}
	}
	if (p[0].revents)
		desk_accept(d);
	return -1;
}
