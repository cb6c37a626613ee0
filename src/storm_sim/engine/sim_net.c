/*
 * sim_net.c - the simulator's network: datagrams, streams and cuts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim_private.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/wire/wire.h"

/* --------------------------------------------------------------------- cuts --- */

void storm_sim_loss(struct storm_sim *sim, uint32_t loss_ppm)
{
	sim->conf.loss_ppm = loss_ppm;
}

static void sim_cut_add(struct storm_sim *sim, const struct storm_idset *from,
			const struct storm_idset *to, size_t above, uint64_t ns)
{
	struct cut *c = calloc(1, sizeof(*c));

	if (!c || storm_idset_union(&c->from, from) ||
	    storm_idset_union(&c->to, to))
		abort();
	c->until = sim->now + ns;
	c->above = above;
	c->next = sim->cuts;
	sim->cuts = c;
}

void storm_sim_cut(struct storm_sim *sim, const struct storm_idset *from,
		   const struct storm_idset *to, uint64_t ns)
{
	sim_cut_add(sim, from, to, 0, ns);
}

void storm_sim_filter(struct storm_sim *sim, const struct storm_idset *from,
		      const struct storm_idset *to, size_t above, uint64_t ns)
{
	sim_cut_add(sim, from, to, above, ns);
}

void storm_sim_filter_single(struct storm_sim *sim,
			     const struct storm_idset *from,
			     const struct storm_idset *to, size_t above,
			     uint64_t ns)
{
	sim_cut_add(sim, from, to, above, ns);
	sim->cuts->group_passes = true;
}

void storm_sim_deafen(struct storm_sim *sim, const struct storm_idset *to,
		      uint64_t ns)
{
	struct storm_range all = { 0, sim->conf.nodes + STORM_SIM_OWNERS };
	struct storm_idset from = { &all, 1, 1 };

	sim_cut_add(sim, &from, to, 1, ns);
	sim->cuts->group_only = true;
}

static void sim_cut_free(struct cut *c)
{
	storm_idset_clear(&c->from);
	storm_idset_clear(&c->to);
	free(c);
}

void storm_sim_heal(struct storm_sim *sim)
{
	while (sim->cuts) {
		struct cut *c = sim->cuts;

		sim->cuts = c->next;
		sim_cut_free(c);
	}
}

/* The cut of a datagram of len bytes, or of a stream (0). */
static uint64_t sim_cut_until(struct storm_sim *sim, uint32_t from, uint32_t to,
			      bool group, size_t len)
{
	struct cut **p = &sim->cuts;
	uint64_t until = 0;

	while (*p) {
		struct cut *c = *p;

		if (c->until <= sim->now) {
			*p = c->next;
			sim_cut_free(c);
			continue;
		}
		if (c->until > until && (!c->above || len > c->above) &&
		    !(group && c->group_passes) && !(c->group_only && !group) &&
		    storm_idset_has(&c->from, from) &&
		    storm_idset_has(&c->to, to))
			until = c->until;
		p = &c->next;
	}
	return until;
}

/* ---------------------------------------------------------------- datagrams --- */

static uint32_t sim_address_index(const struct storm_addr *a)
{
	return (uint32_t) a->ip[12] << 24 | (uint32_t) a->ip[13] << 16 |
	       (uint32_t) a->ip[14] << 8 | a->ip[15];
}

/* The copy of a datagram arrives up to this much later. */
#define DUP_LATE (50 * STORM_MS)

/* The datagrams of a mask that are hit, each with a probability of ppm. */
static uint64_t sim_net_some(struct storm_sim *sim, uint64_t mask, uint32_t ppm)
{
	uint64_t hit = 0;

	for (uint64_t left = mask; ppm && left; left &= left - 1)
		if (storm_sim_happens(sim, ppm))
			hit |= left & -left;
	return hit;
}

static void sim_net_arrives(struct storm_sim *sim, uint32_t to, bool group,
			    struct frame *f, uint64_t mask, uint64_t at)
{
	if (!mask)
		return;
	f->refs++;
	storm_sim_push(sim, (struct event) { .at = at,
					     .kind = EV_DATAGRAM,
					     .to = to,
					     .group = group,
					     .life = sim->ep[to].life,
					     .frame = f,
					     .mask = mask,
					     .from = f->from });
}

/* Deliver datagrams: some are lost, some arrive twice, some late. */
static void sim_net_deliver(struct storm_sim *sim, uint32_t to, bool group,
			    struct frame *f, uint64_t mask, uint64_t at)
{
	uint64_t late;

	if (sim->cuts &&
	    sim_cut_until(sim, f->from, to, group, storm_min(f->len, f->seg)))
		return;
	mask &= ~sim_net_some(sim, mask, sim->conf.loss_ppm);
	sim_net_arrives(sim, to, group, f,
			sim_net_some(sim, mask, sim->conf.dup_ppm),
			at + storm_sim_upto(sim, DUP_LATE));
	late = sim_net_some(sim, mask, sim->conf.late_ppm);
	mask &= ~late;
	sim_net_arrives(sim, to, group, f, late,
			at + storm_sim_upto(sim, sim->conf.late));
	sim_net_arrives(sim, to, group, f, mask,
			at + storm_sim_upto(sim, sim->conf.jitter));
}

/* Every node has joined exactly the groups of the pool. */
static bool sim_net_joined(const struct storm_sim *sim,
			   const struct storm_addr *to)
{
	struct storm_in base = { sim->conf.set.group.ip + 12,
				 sim->conf.set.group.ip + 16, false };
	struct storm_in group = { to->ip + 12, to->ip + 16, false };
	uint32_t first = storm_get32(&base);

	return storm_get32(&group) - first < sim->conf.set.groups;
}

static void sim_net_to_all(struct endpoint *from, struct frame *f,
			   uint64_t mask, uint64_t at)
{
	struct storm_sim *sim = from->sim;

	if (!f->plain)
		f->plain = calloc(f->count, sizeof(*f->plain));
	if (!f->plain)
		abort();
	for (uint32_t i = 0; i < sim->conf.nodes; i++)
		if (i != from->index)
			sim_net_deliver(sim, i, true, f, mask,
					at + storm_sim_latency(sim, from->index,
							       i));
}

/* The datagrams left the sender at time `at`. */
static void sim_net_send(struct endpoint *ep, const struct storm_addr *to,
			 struct frame *f, uint64_t mask, uint64_t at)
{
	struct storm_sim *sim = ep->sim;

	if (to->ip[0] != 0) {
		uint32_t i = sim_address_index(to);

		if (i < sim->conf.nodes + sim->owners)
			sim_net_deliver(sim, i, false, f, mask,
					at + storm_sim_latency(sim, ep->index,
							       i));
	} else if (sim->conf.multicast && sim_net_joined(sim, to)) {
		sim_net_to_all(ep, f, mask, at); /* v4-mapped: a group */
	}
}

static int sim_send(struct storm_transport *t, enum storm_class c,
		    const struct storm_addr *to, const void *buf, size_t len,
		    size_t seg)
{
	struct endpoint *ep = (struct endpoint *) t;
	struct storm_sim *sim = ep->sim;
	struct storm_sim_count *count = c == STORM_BULK ?
						&ep->traffic.tx_bulk :
						&ep->traffic.tx_control;
	/* a multicast takes the greatest distance */
	uint32_t far = to->ip[0] ? sim_address_index(to) : sim->conf.nodes;
	struct frame *f;
	uint64_t at = 0;

	/* As over UDP: the owner's bulk data wait in a socket of limited size.
	 * A node keeps what it relays until it can be sent. */
	if (c == STORM_BULK && ep->owner && !storm_sim_line_room(ep))
		return -EAGAIN;
	f = storm_sim_frame_new(buf, len, seg);
	f->from = ep->index;
	for (uint32_t i = 0; i < f->count; i++) {
		at = storm_sim_transmit(ep, far, storm_min(len - i * seg, seg));
		if (!sim->conf.frames)
			sim_net_send(ep, to, f, 1ULL << i, at);
	}
	if (sim->conf.frames)
		sim_net_send(ep, to, f, ~0ULL >> (64 - f->count), at);
	storm_sim_frame_put(f);
	count->datagrams += (len + seg - 1) / seg;
	count->bytes += len;
	return 0;
}

/* ------------------------------------------------------------------ streams --- */

/* The number of a stream that has ended is used again. */
uint32_t storm_sim_stream_new(struct endpoint *from, uint64_t session,
			      uint32_t node)
{
	struct storm_sim *sim = from->sim;
	uint32_t number = sim->stream_free;

	if (number) {
		sim->stream_free = sim->stream[number - 1].next;
	} else {
		sim->stream = realloc(
			sim->stream, (sim->streams + 1) * sizeof(*sim->stream));
		if (!sim->stream)
			abort();
		number = ++sim->streams;
	}
	sim->stream[number - 1] = (struct stream) { .from = from->index,
						    .life = from->life,
						    .node = node,
						    .session = session,
						    .next = from->streams };
	from->streams = number;
	return number;
}

static void sim_stream_free(struct storm_sim *sim, uint32_t number)
{
	uint32_t *p = &sim->ep[sim->stream[number - 1].from].streams;

	while (*p != number)
		p = &sim->stream[*p - 1].next;
	*p = sim->stream[number - 1].next;
	sim->stream[number - 1].next = sim->stream_free;
	sim->stream_free = number;
}

static int sim_stream(struct storm_transport *t, const struct storm_addr *to,
		      uint64_t session, uint32_t node, const void *buf,
		      size_t len)
{
	struct endpoint *ep = (struct endpoint *) t;
	struct storm_sim *sim = ep->sim;
	uint32_t i = sim_address_index(to);
	struct event e = {
		/* one round trip to connect */
		.at = storm_sim_transmit(ep, i, len) +
		      3 * storm_sim_latency(sim, ep->index, i) +
		      storm_sim_upto(sim, sim->conf.jitter),
		.kind = EV_STREAM,
		.to = i,
		.life = sim->ep[i].life,
		.len = len,
		.session = session,
		.node = node,
		.from = ep->index,
	};
	uint64_t cut = sim_cut_until(sim, ep->index, i, false, 0);

	/* a cut in either direction delays it: TCP retransmits */
	if (cut < sim_cut_until(sim, i, ep->index, false, 0))
		cut = sim_cut_until(sim, i, ep->index, false, 0);
	if (cut)
		e.at += cut - sim->now;
	if (sim->ep[i].down) {
		e.kind = EV_REFUSED;
		e.to = ep->index;
		e.life = ep->life;
		e.err = STORM_ENOAGENT;
		e.sys = ECONNREFUSED;
	} else {
		e.buf = malloc(len);
		if (!e.buf)
			abort();
		memcpy(e.buf, buf, len);
		/* a foreign node sees another version */
		if (sim->ep[i].foreign)
			e.buf[5]++;
		e.ticket = storm_sim_stream_new(ep, session, node);
	}
	storm_sim_push(sim, e);
	return 0;
}

static void sim_end_stream(struct storm_transport *t, uint64_t number,
			   enum storm_err err)
{
	struct endpoint *ep = (struct endpoint *) t;
	struct storm_sim *sim = ep->sim;
	const struct stream *s = &sim->stream[number - 1];
	struct event e = { .kind = EV_REFUSED };

	if (!number || number > sim->streams)
		abort();
	e.to = s->from;
	e.life = s->life;
	e.session = s->session;
	e.node = s->node;
	if (s->forged && err && err != STORM_EAUTH)
		sim->answers += STORM_REFUSAL_LEN;
	sim_stream_free(sim, (uint32_t) number);
	if (!err || s->forged)
		return;
	e.err = err == STORM_EAUTH ? STORM_ELOST : STORM_REFUSAL_WHY(err);
	e.sys = err == STORM_EAUTH    ? ECONNRESET :
		err == STORM_EVERSION ? STORM_WIRE_VERSION + 1 :
					STORM_REFUSAL_SYS(err);
	e.at = sim->now + storm_sim_latency(sim, ep->index, e.to) +
	       storm_sim_upto(sim, sim->conf.jitter);
	storm_sim_push(sim, e);
}

/* The receiver sees the end of a stream at once, without a message. */
static bool sim_stream_waits(struct storm_transport *t, uint64_t number)
{
	struct storm_sim *sim = ((struct endpoint *) t)->sim;
	const struct stream *s = &sim->stream[number - 1];

	return !s->over && s->life == sim->ep[s->from].life;
}

/* No connection takes time here. */
static enum storm_stream sim_stream_state(struct storm_transport *t,
					  uint64_t session, uint32_t node)
{
	struct endpoint *ep = (struct endpoint *) t;
	const struct stream *s;

	for (uint32_t i = ep->streams; i; i = s->next) {
		s = &ep->sim->stream[i - 1];
		if (s->session == session && s->node == node)
			return STORM_STREAM_WAITS;
	}
	return STORM_STREAM_OVER;
}

static void sim_drop_streams(struct storm_transport *t, uint64_t session)
{
	struct endpoint *ep = (struct endpoint *) t;
	struct stream *s;

	for (uint32_t i = ep->streams; i; i = s->next) {
		s = &ep->sim->stream[i - 1];
		if (s->session == session)
			s->over = true;
	}
}

/* ---------------------------------------------------------------- transport --- */

static size_t sim_mtu(struct storm_transport *t)
{
	return ((struct endpoint *) t)->sim->conf.mtu;
}

static size_t sim_room(struct storm_transport *t)
{
	uint64_t room = ((struct endpoint *) t)->sim->conf.room;

	return room ? room : SIZE_MAX;
}

/*
 * The first receiver opens a multicast for all: it has one sender, and a session that
 * a receiver knows has one key.  Without that the launch of
 * testsuite/sim/scenarios/launch-16384.json takes 61 s of CPU, not 18.
 */
static const uint8_t *sim_unseal(struct storm_transport *t,
				 struct storm_seal *s, uint64_t sequence,
				 const struct storm_rx *rx)
{
	struct frame *f = ((struct endpoint *) t)->sim->given;
	uint8_t **plain = &f->plain[(size_t) (rx->buf - f->bytes) / f->seg];
	size_t len = rx->len - STORM_HEADER_LEN;

	if (*plain)
		return *plain;
	*plain = malloc(len);
	if (!*plain)
		abort();
	if (storm_seal_open(s, rx->buf, sequence, rx->buf + STORM_HEADER_LEN,
			    len, *plain)) {
		free(*plain);
		*plain = NULL;
	}
	return *plain;
}

const struct storm_transport_ops storm_sim_transport_ops = {
	.name = "sim",
	.send = sim_send,
	.send_stream = sim_stream,
	.end_stream = sim_end_stream,
	.stream_waits = sim_stream_waits,
	.stream_state = sim_stream_state,
	.drop_streams = sim_drop_streams,
	.mtu = sim_mtu,
	.room = sim_room,
	.unseal = sim_unseal,
};
