/*
 * sim_net.c - the simulator's network: chance, addresses, datagrams, streams.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "sim_private.h"
#include "wire.h"

/* ------------------------------------------------------------------- chance --- */

uint64_t storm_sim_chance(struct storm_sim *sim)
{
	uint64_t z = sim->random += 0x9e3779b97f4a7c15ULL;	/* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

bool storm_sim_happens(struct storm_sim *sim, uint32_t ppm)
{
	return ppm && storm_sim_chance(sim) % 1000000 < ppm;
}

uint64_t storm_sim_upto(struct storm_sim *sim, uint64_t ns)
{
	return ns ? storm_sim_chance(sim) % (ns + 1) : 0;
}

/* ------------------------------------------------------------------ network --- */

void storm_sim_address(uint32_t index, struct storm_addr *a)
{
	memset(a, 0, sizeof(*a));
	a->ip[0] = 0xfd;
	for (int i = 0; i < 4; i++)
		a->ip[15 - i] = (uint8_t) (index >> 8 * i);
	a->port = 1;
}

static uint32_t index_of(const struct storm_addr *a)
{
	return (uint32_t) a->ip[12] << 24 | (uint32_t) a->ip[13] << 16 |
	       (uint32_t) a->ip[14] << 8 | a->ip[15];
}

/* The copy of a datagram comes this much later: when it does no good. */
#define DUP_LATE (50 * STORM_MS)

static void deliver(struct storm_sim *sim, uint32_t to, bool group,
		    const uint8_t *buf, size_t len, uint64_t at)
{
	struct event e = { .kind = EV_DATAGRAM, .to = to, .group = group,
			   .life = sim->ep[to].life, .len = len };

	if (storm_sim_happens(sim, sim->conf.loss_ppm))
		return;
	for (int copy = storm_sim_happens(sim, sim->conf.dup_ppm); copy >= 0; copy--) {
		e.at = at + storm_sim_upto(sim, copy ? DUP_LATE : sim->conf.jitter);
		e.buf = malloc(len);
		if (!e.buf)
			abort();
		memcpy(e.buf, buf, len);
		storm_sim_push(sim, e);
	}
}

/* Every node has joined the groups of the pool, and no others. */
static bool joined(const struct storm_sim *sim, const struct storm_addr *to)
{
	struct storm_in base = { sim->conf.set.group.ip + 12,
				 sim->conf.set.group.ip + 16, false };
	struct storm_in group = { to->ip + 12, to->ip + 16, false };
	uint32_t first = storm_get32(&base);

	return storm_get32(&group) - first < sim->conf.set.groups;
}

#define SEND_BUFFER (208 << 10)

static int sim_send(struct storm_transport *t, enum storm_class c,
		    const struct storm_addr *to, const void *buf, size_t len,
		    size_t seg)
{
	struct endpoint *ep = (struct endpoint *) t;
	struct storm_sim *sim = ep->sim;
	bool group = to->ip[0] == 0;	/* v4-mapped: the pool of groups */
	const uint8_t *p = buf;

	/* as over UDP: the owner's bulk data wait in a socket of that size,
	 * what a node passes on is kept until it can go */
	if (c == STORM_BULK && ep->index == sim->conf.nodes &&
	    sim->conf.bandwidth > 0 && ep->busy_until > sim->now &&
	    (double) (ep->busy_until - sim->now) * sim->conf.bandwidth / 1e9 >
	    SEND_BUFFER)
		return -EAGAIN;
	for (size_t off = 0; off < len; off += seg) {
		size_t n = len - off < seg ? len - off : seg;
		uint64_t at;

		if (ep->busy_until < sim->now)
			ep->busy_until = sim->now;
		if (sim->conf.bandwidth > 0)
			ep->busy_until += (uint64_t) ((double) n * 1e9 /
						      sim->conf.bandwidth);
		at = ep->busy_until + sim->conf.latency;
		ep->sent++;
		if (!group) {
			uint32_t i = index_of(to);

			if (i <= sim->conf.nodes)
				deliver(sim, i, false, p + off, n, at);
			continue;
		}
		for (uint32_t i = 0; sim->conf.multicast && joined(sim, to) &&
		     i < sim->conf.nodes; i++)
			if (i != ep->index)
				deliver(sim, i, true, p + off, n, at);
	}
	return 0;
}

static int sim_stream(struct storm_transport *t, const struct storm_addr *to,
		      uint64_t session, uint32_t node, const void *buf,
		      size_t len)
{
	struct endpoint *ep = (struct endpoint *) t;
	struct storm_sim *sim = ep->sim;
	uint32_t i = index_of(to);
	struct event e = {
		.at = sim->now + 3 * sim->conf.latency +
		      storm_sim_upto(sim, sim->conf.jitter),
		.kind = EV_STREAM, .to = i, .life = sim->ep[i].life,
		.len = len, .session = session, .node = node,
	};

	if (sim->ep[i].down) {
		e.kind = EV_REFUSED;
		e.to = ep->index;
		e.life = ep->life;
		e.err = STORM_ENOAGENT;
		e.sys = ECONNREFUSED;
	} else {
		e.buf = malloc(len);
		sim->stream = realloc(sim->stream, (sim->streams + 1) *
				      sizeof(*sim->stream));
		if (!e.buf || !sim->stream)
			abort();
		memcpy(e.buf, buf, len);
		/* to another version, ours is another */
		if (sim->ep[i].foreign)
			e.buf[5]++;
		sim->stream[sim->streams++] = (struct stream) {
			ep->index, ep->life, node, session, false };
		e.ticket = sim->streams;
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
	struct event e = {
		.kind = EV_REFUSED, .to = s->from, .life = s->life,
		.session = s->session, .node = s->node,
	};

	if (!number || number > sim->streams)
		abort();
	if (!err)
		return;
	e.err = err == STORM_EAUTH ? STORM_ELOST : err;
	e.sys = err == STORM_EAUTH ? ECONNRESET :
		err == STORM_EVERSION ? STORM_WIRE_VERSION + 1 : 0;
	e.at = sim->now + sim->conf.latency + storm_sim_upto(sim, sim->conf.jitter);
	storm_sim_push(sim, e);
}

/* Who hangs up is heard at once: that is no message. */
static bool sim_stream_waits(struct storm_transport *t, uint64_t number)
{
	struct storm_sim *sim = ((struct endpoint *) t)->sim;
	const struct stream *s = &sim->stream[number - 1];

	return !s->over && s->life == sim->ep[s->from].life;
}

static void sim_drop_streams(struct storm_transport *t, uint64_t session)
{
	struct endpoint *ep = (struct endpoint *) t;

	for (size_t i = 0; i < ep->sim->streams; i++)
		if (ep->sim->stream[i].from == ep->index &&
		    ep->sim->stream[i].session == session)
			ep->sim->stream[i].over = true;
}

static size_t sim_mtu(struct storm_transport *t)
{
	return ((struct endpoint *) t)->sim->conf.mtu;
}

const struct storm_transport_ops storm_sim_transport_ops = {
	.name = "sim", .send = sim_send, .send_stream = sim_stream,
	.end_stream = sim_end_stream, .stream_waits = sim_stream_waits,
	.drop_streams = sim_drop_streams, .mtu = sim_mtu,
};
