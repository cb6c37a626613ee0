/*
 * sim_line.c - how long things take on the simulator's network: either one
 * latency and one rate for all, or a network of model.h, by the same physics as
 * its equations.  In such a network a datagram is split into packets.  A packet
 * starts when three conditions hold: the line is free, the sender's bus has
 * delivered the packet, and the acknowledgement for the window has arrived
 * (QsNet: that of the previous packet).  A multicast waits for the farthest
 * node.  Nodes are the leaves of the network's fat tree, in order; the owner
 * has the greatest distance to all of them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <math.h>

#include "sim_private.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"

#define SEND_BUFFER (208 << 10)

/* The number of packets.  A partial packet takes as long as a full one. */
static double sim_line_packets(const struct storm_sim *sim, size_t len)
{
	return ceil((double) len / sim->conf.net->packet_size);
}

/* The height of the smallest subtree that holds both. */
static int sim_line_level(const struct storm_sim *sim, uint32_t a, uint32_t b)
{
	uint32_t arity = (uint32_t) sim->conf.net->arity;
	int l = 0;

	if (a >= sim->conf.nodes || b >= sim->conf.nodes)
		return sim->levels;
	for (; a != b; l++) {
		a /= arity;
		b /= arity;
	}
	return l;
}

static double sim_line_round_trip(const struct storm_sim *sim, uint32_t a,
				  uint32_t b)
{
	return sim->round_trip[sim_line_level(sim, a, b)];
}

/* ns from the start of a packet to the start of the next. */
static double sim_line_packet_time(const struct storm_sim *sim, double trip)
{
	const struct storm_model_net *net = sim->conf.net;
	double t = fmax(net->t_packet, trip / net->window);

	return sim->conf.bus > 0 ?
		       fmax(t, net->packet_size * 1e9 / sim->conf.bus) :
		       t;
}

void storm_sim_line_init(struct storm_sim *sim)
{
	const struct storm_model_net *net = sim->conf.net;
	double leaves = 1;

	if (!net)
		return;
	for (int l = 0; l < STORM_SIM_LEVELS; l++, leaves *= net->arity) {
		uint32_t n = storm_min(leaves, sim->conf.nodes);

		sim->levels = l;
		sim->round_trip[l] =
			storm_model_round_trip(net, storm_model_diameter(n),
					       storm_model_switches(net, n));
		if (leaves >= sim->conf.nodes)
			break;
	}
}

uint64_t storm_sim_latency(const struct storm_sim *sim, uint32_t from,
			   uint32_t to)
{
	double t;

	if (!sim->conf.net)
		return sim->conf.latency;
	t = sim_line_round_trip(sim, from, to) / 2;
	if (sim->conf.bus > 0) /* the receiver's */
		t += sim->conf.net->packet_size * 1e9 / sim->conf.bus;
	return (uint64_t) t;
}

uint64_t storm_sim_transmit(struct endpoint *ep, uint32_t to, size_t len)
{
	struct storm_sim *sim = ep->sim;
	double t = 0;

	if (ep->busy_until < sim->now) {
		ep->busy_until = sim->now;
		ep->busy_rest = 0;
	}
	if (sim->conf.net)
		t = sim_line_packets(sim, len) *
		    sim_line_packet_time(
			    sim, sim_line_round_trip(sim, ep->index, to));
	else if (sim->conf.bandwidth > 0)
		t = (double) len * 1e9 / sim->conf.bandwidth;
	t += ep->busy_rest;
	ep->busy_until += (uint64_t) t;
	ep->busy_rest = t - floor(t);
	return ep->busy_until;
}

bool storm_sim_line_room(struct endpoint *ep)
{
	struct storm_sim *sim = ep->sim;
	uint64_t full;

	if (sim->conf.net)
		full = (uint64_t) (sim_line_packets(sim, SEND_BUFFER) *
				   sim_line_packet_time(
					   sim, sim->round_trip[sim->levels]));
	else if (sim->conf.bandwidth > 0)
		full = (uint64_t) (SEND_BUFFER * 1e9 / sim->conf.bandwidth);
	else
		return true;
	if (ep->busy_until <= sim->now + full)
		return true;
	ep->writable_at = ep->busy_until - full / 2;
	return false;
}
