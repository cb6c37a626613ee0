/*
 * keeper_link.c - see keeper_link.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "call_desk.h"
#include "carrier_sock.h"
#include "door.h"
#include "keeper_link.h"
#include "keeper_step.h"
#include "launcher_base.h"
#include "ports.h"
#include "src/libstorm/base/minmax.h"

#define LOOK 5 /* ms between looks for a launcher's door */

static struct {
	const char *socket;
	enum keeper_place place;
	struct run_reader in;
	int local; /* the head on this host; -1: none */
	/* one elsewhere: until it has called, until it is open, then */
	int listener;
	uint16_t port;
	int stream;
	struct carrier *carrier;
	struct door *door;
} head_link = { .local = -1, .listener = -1, .stream = -1 };

bool keeper_link_open(const char *socket, enum keeper_place place, char *why,
		      size_t size)
{
	struct ports p;

	head_link.socket = socket;
	head_link.place = place;
	if (place == KEEPER_WITH_HEAD)
		return true;
	if (!ports_of_slurm(&p, why, size))
		return false;
	head_link.listener = ports_listen(&p, &head_link.port);
	if (head_link.listener >= 0)
		return true;
	snprintf(
		why, size,
		"no port of SrunPortRange=%u-%u of slurm.conf is free here: %s",
		p.first, p.last, strerror(errno));
	return false;
}

uint16_t keeper_link_port(void)
{
	return head_link.port;
}

/* ------------------------------------------------------------------ a stream --- */

/* What channel 0 has, to the reader. */
static bool link_take(struct carrier *c)
{
	const uint8_t *from;
	size_t len, room;

	while (from = carrier_data(c, 0, &len), len) {
		uint8_t *to = run_reader_room(&head_link.in, &room);

		if (!to)
			return false;
		len = storm_min(len, room);
		memcpy(to, from, len);
		head_link.in.have += len;
		carrier_used(c, 0, len);
	}
	return true;
}

/* One turn with the stream, which belongs to no door yet. */
static bool link_turn(int signals)
{
	struct pollfd p = { .fd = head_link.stream, .events = POLLIN };
	size_t waits;

	carrier_out(head_link.carrier, &waits);
	if (waits)
		p.events |= POLLOUT;
	return keeper_step_wait(signals, &p, 1, -1) &&
	       (!(p.revents & ~POLLOUT) ||
		carrier_sock_receive(head_link.carrier, head_link.stream)) &&
	       link_take(head_link.carrier) &&
	       carrier_sock_send(head_link.carrier, head_link.stream);
}

static bool link_send(int signals, const uint8_t *buf, size_t len)
{
	size_t at = 0;

	if (head_link.local >= 0)
		return !run_sock_send(head_link.local, buf, len, NULL);
	while (at < len) {
		at += carrier_put(head_link.carrier, 0, buf + at, len - at);
		if (at < len && !link_turn(signals))
			return false;
	}
	return carrier_sock_send(head_link.carrier, head_link.stream);
}

/* A frame of the head's; false: it has none any more. */
static bool link_hear(int signals, enum run_kind *kind, struct storm_in *body)
{
	int got;

	if (head_link.local >= 0)
		return run_sock_wait(head_link.local, &head_link.in, kind,
				     body);
	while (!(got = run_reader_next(&head_link.in, kind, body)))
		if (!link_turn(signals))
			return false;
	return got > 0;
}

/* --------------------------------------------------------------------- reach --- */

static bool link_await_call(const struct run_step *step, int signals, char *why,
			    size_t size)
{
	struct call_desk *d = call_desk_create(head_link.listener, step->key);
	struct pollfd p[CALL_DESK_POLLS];

	head_link.listener = -1;
	while (d && head_link.stream < 0 &&
	       keeper_step_wait(signals, p, CALL_DESK_POLLS,
				call_desk_polls(d, p)))
		head_link.stream = call_desk_serve(d, p, &head_link.carrier);
	if (head_link.stream < 0) {
		snprintf(why, size, "the head has died%s%s",
			 d && *call_desk_why(d) ? ": a call was refused: " : "",
			 d ? call_desk_why(d) : "");
		keeper_step_explain(why, size);
	}
	/* nobody can call any more */
	call_desk_destroy(d);
	return head_link.stream >= 0;
}

static bool link_find(const struct run_step *step, int signals, char *why,
		      size_t size)
{
	char path[RUN_SOCK_PATH];

	/* it listens since before its launcher did */
	run_sock_beside(head_link.socket, "new", &path);
	head_link.local = run_sock_connect(path);
	if (head_link.local >= 0)
		return true;
	if (head_link.listener >= 0)
		return link_await_call(step, signals, why, size);
	snprintf(why, size, "the head: %s: %s", path, strerror(errno));
	keeper_step_explain(why, size);
	return false;
}

static bool link_send_step(const struct run_step *step, int signals)
{
	size_t len = run_step_len(step);
	uint8_t *buf = malloc(RUN_FRAME_HEADER + len);
	struct storm_out o;
	bool sent;

	if (!buf)
		return false;
	run_frame_head(buf, RUN_STEP, len);
	o = (struct storm_out) { buf + RUN_FRAME_HEADER,
				 buf + RUN_FRAME_HEADER + len, false };
	run_step_put(&o, step);
	sent = link_send(signals, buf, RUN_FRAME_HEADER + len);
	free(buf);
	return sent;
}

/* The launcher of this host opens its door with the head's first message, which can come
 * after the head's word that all is ready. */
static bool link_await_door(int signals)
{
	struct pollfd p = { .fd = head_link.stream, .events = POLLIN };
	int fd;

	while ((fd = run_sock_connect(head_link.socket)) < 0)
		if (!keeper_step_wait(signals, &p, 1, LOOK) || p.revents)
			return false;
	close(fd);
	return true;
}

/* From now on clients of this host are served. */
static bool link_open_door(int signals, char *why, size_t size)
{
	if (head_link.local >= 0)
		return true;
	if (head_link.place == KEEPER_WITH_LAUNCHER)
		return link_await_door(signals);
	head_link.door = door_create(head_link.socket, false);
	if (!head_link.door) {
		snprintf(why, size, "%s: %s", head_link.socket,
			 strerror(errno));
		return false;
	}
	door_give(head_link.door, head_link.stream, head_link.carrier);
	head_link.stream = -1;
	head_link.carrier = NULL;
	return true;
}

bool keeper_link_reach(const struct run_step *step, int signals, char *why,
		       size_t size)
{
	struct storm_in body;
	enum run_kind kind;

	launcher_many_files(); /* clients need some; srun has its own limit */
	if (!link_find(step, signals, why, size))
		return false;
	if (!link_send_step(step, signals) ||
	    !link_hear(signals, &kind, &body)) {
		snprintf(why, size, "the head has died");
		keeper_step_explain(why, size);
		return false;
	}
	snprintf(why, size, "the head's answer cannot be read");
	if (kind == RUN_READY)
		return link_open_door(signals, why, size);
	if (kind == RUN_REFUSED)
		snprintf(why, size, "%.*s", (int) (body.end - body.p),
			 (const char *) body.p);
	return false;
}

/* ---------------------------------------------------------------------- stay --- */

int keeper_link_fd(void)
{
	return head_link.door	    ? door_fd(head_link.door) :
	       head_link.local >= 0 ? head_link.local :
				      head_link.stream;
}

int keeper_link_patience(void)
{
	return head_link.door ? door_patience(head_link.door) : -1;
}

bool keeper_link_serve(bool *ended)
{
	int none[RUN_SOCK_FDS];
	struct storm_in body;
	enum run_kind kind;
	bool open;

	if (head_link.door) {
		door_serve(head_link.door);
		open = door_carrier(head_link.door) &&
		       link_take(door_carrier(head_link.door));
	} else if (head_link.stream >= 0) {
		open = carrier_sock_receive(head_link.carrier,
					    head_link.stream);
		/* its last word can come with the end */
		open &= link_take(head_link.carrier) &&
			carrier_sock_send(head_link.carrier, head_link.stream);
	} else {
		open = run_sock_receive(head_link.local, &head_link.in,
					&none) >= 0;
	}
	while (run_reader_next(&head_link.in, &kind, &body) > 0)
		*ended |= kind == RUN_END;
	return open;
}

void keeper_link_close(void)
{
	if (head_link.local >= 0)
		close(head_link.local);
	if (head_link.listener >= 0)
		close(head_link.listener);
	if (head_link.stream >= 0)
		close(head_link.stream);
	carrier_destroy(head_link.carrier);
	door_destroy(head_link.door);
	run_reader_fini(&head_link.in);
}
