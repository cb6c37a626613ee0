/*
 * head_doors.c - clients on other hosts, which come by the doors of launchers: who may
 * open a carrier, and its channels' connections.  See head_private.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "carrier_sock.h"
#include "head_private.h"
#include "src/libstorm/base/clock.h"

void head_door_open(struct conn *c, struct storm_in *body)
{
	uint32_t version = storm_get32(body), node = storm_get32(body);
	const uint8_t *caller = storm_get(body, SEALED_RANDOM);
	uint8_t answerer[SEALED_RANDOM];
	const struct sealed_form f = { .use = SEALED_DOOR,
				       .key = head.doors,
				       .caller = caller,
				       .answerer = answerer };
	struct sealed *s = NULL;

	if (storm_in_done(body) && version == RUN_VERSION &&
	    node < head.step.count && c->in.have == c->in.used &&
	    !storm_random(answerer, sizeof(answerer)))
		s = sealed_create(&f);
	c->carries = s ? carrier_create(s, false) : NULL;
	if (!c->carries) {
		conn_close(c);
		return;
	}
	c->kind = CONN_DOOR;
	c->node = node;
	carrier_sock_init(c->fd);
	/* the carrier's first record is behind it */
	conn_put(c, RUN_ANSWER, answerer, sizeof(answerer));
	conn_flush(c);
}

static struct conn *head_of_channel(const struct carrier *carrier,
				    uint32_t channel)
{
	struct conn *c = head.conns;

	while (c && !(c->carrier == carrier && c->channel == channel))
		c = c->next;
	return c;
}

struct conn *head_door_next(struct conn *door)
{
	uint32_t channel = 0;
	struct conn *c = NULL;

	while (!c && carrier_next(door->carries, &channel)) {
		/* the keeper's own has channel 0 from the start */
		c = head_of_channel(door->carries, channel);
		if (c)
			return c;
		if (channel)
			c = conn_create_on(door->carries, channel);
	}
	if (!c)
		return NULL;
	c->node = door->node;
	c->since = storm_now();
	c->serial = ++head.serial;
	c->next = head.conns;
	head.conns = c;
	return c;
}

void head_door_lost(struct conn *door)
{
	for (struct conn *c = head.conns; c; c = c->next)
		if (c->carrier && c->carrier == door->carries)
			conn_forget_carrier(c);
}

void head_flush(void)
{
	for (struct conn *c = head.conns; c; c = c->next)
		if (!c->carries)
			conn_flush(c);
	for (struct conn *c = head.conns; c; c = c->next)
		if (c->carries)
			conn_flush(c);
}
