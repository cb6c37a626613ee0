/*
 * sim.c - see sim.h: the simulator's clock, its queue of events and its faults.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "sim_private.h"

/* -------------------------------------------------------------------- queue --- */

static bool before(const struct event *a, const struct event *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

void storm_sim_push(struct storm_sim *sim, struct event e)
{
	size_t i;

	if (sim->count == sim->room) {
		sim->room = sim->room ? sim->room * 2 : 1024;
		sim->heap = realloc(sim->heap, sim->room * sizeof(e));
		if (!sim->heap)
			abort();	/* a simulation without memory is none */
	}
	e.order = sim->order++;
	for (i = sim->count++; i && before(&e, &sim->heap[(i - 1) / 2]);
	     i = (i - 1) / 2)
		sim->heap[i] = sim->heap[(i - 1) / 2];
	sim->heap[i] = e;
}

static struct event pop(struct storm_sim *sim)
{
	struct event top = sim->heap[0], last = sim->heap[--sim->count];
	size_t i = 0, c;

	while ((c = 2 * i + 1) < sim->count) {
		if (c + 1 < sim->count &&
		    before(&sim->heap[c + 1], &sim->heap[c]))
			c++;
		if (!before(&sim->heap[c], &last))
			break;
		sim->heap[i] = sim->heap[c];
		i = c;
	}
	if (sim->count)
		sim->heap[i] = last;
	return top;
}

/* ---------------------------------------------------------------------- run --- */

static void input(struct storm_sim *sim, struct event *e)
{
	struct endpoint *ep = &sim->ep[e->to];
	struct storm_rx rx = { e->buf, e->len, e->group };
	struct storm_open *o = NULL;
	int err;

	if (e->life != ep->life || ep->down)
		return;
	if (e->to == sim->conf.nodes) {
		if (e->kind == EV_DATAGRAM)
			storm_owner_datagrams(sim->owner, &rx, 1, sim->now);
		else if (e->kind == EV_REFUSED)
			storm_owner_stream_failed(sim->owner, e->session,
						  e->node, e->err, e->sys,
						  sim->now);
		return;
	}
	switch (e->kind) {
	case EV_DATAGRAM:
		storm_nm_datagrams(ep->nm, &rx, 1, sim->now);
		break;
	case EV_STREAM:
		storm_nm_stream(ep->nm, e->ticket, e->buf, e->len, sim->now);
		break;
	case EV_REFUSED:
		storm_nm_stream_failed(ep->nm, e->session, e->node,
				       e->err, e->sys, sim->now);
		break;
	case EV_AUTH:
		err = storm_open_verify(e->buf, e->len, &o);
		storm_nm_admit(ep->nm, e->ticket, o, err, sim->now);
		break;
	case EV_BEGUN:
		storm_nm_begun(ep->nm, e->session, e->op, e->err, e->sys,
			       sim->now);
		break;
	case EV_STAGED:
		storm_nm_staged(ep->nm, e->session, e->op, e->err, e->sys,
				sim->now);
		break;
	case EV_APPLIED:
		storm_nm_applied(ep->nm, e->session, e->op, e->err, e->sys,
				 sim->now);
		break;
	}
}

static void tick(struct storm_sim *sim, struct endpoint *ep)
{
	uint64_t next;

	if (ep->down)
		ep->tick_at = STORM_NEVER;
	else if (ep->paused_until > sim->now)
		ep->tick_at = ep->paused_until;
	else {
		next = ep->nm ? storm_nm_tick(ep->nm, sim->now) :
				storm_owner_tick(sim->owner, sim->now);
		/* a state machine that wants to run again at once still
		 * takes time to do so */
		ep->tick_at = next <= sim->now ? sim->now + STORM_US : next;
	}
}

bool storm_sim_run(struct storm_sim *sim, uint64_t ns,
		   bool (*done)(void *arg), void *arg)
{
	uint64_t end = sim->now + ns;

	for (;;) {
		uint64_t next = sim->count ? sim->heap[0].at : STORM_NEVER;
		struct endpoint *who = NULL;

		if (done && done(arg))
			return true;
		for (uint32_t i = 0; i <= sim->conf.nodes; i++)
			if (sim->ep[i].tick_at < next) {
				next = sim->ep[i].tick_at;
				who = &sim->ep[i];
			}
		if (next > end) {
			sim->now = end;
			return false;
		}
		if (next > sim->now)
			sim->now = next;
		if (who) {
			tick(sim, who);
		} else {
			struct event e = pop(sim);
			struct endpoint *ep = &sim->ep[e.to];

			if (ep->paused_until > sim->now && !ep->down) {
				e.at = ep->paused_until;
				storm_sim_push(sim, e);
				continue;
			}
			input(sim, &e);
			free(e.buf);
			tick(sim, ep);
		}
	}
}

/* ------------------------------------------------------------------- faults --- */

static void nm_start(struct endpoint *ep)
{
	int err;

	ep->nm = storm_nm_create(&ep->sim->conf.set, &ep->t, &storm_sim_host_ops, ep,
				 &err);
	if (!ep->nm)
		abort();
	ep->tick_at = STORM_NEVER;
}

void storm_sim_crash(struct storm_sim *sim, uint32_t node)
{
	struct endpoint *ep = &sim->ep[node];

	if (ep->down)
		return;
	ep->down = true;
	ep->life++;
	storm_nm_destroy(ep->nm);
	ep->nm = NULL;
	ep->tick_at = STORM_NEVER;
	ep->session = 0;
}

void storm_sim_restart(struct storm_sim *sim, uint32_t node)
{
	struct endpoint *ep = &sim->ep[node];

	if (!ep->down)
		return;
	ep->down = false;
	nm_start(ep);
}

void storm_sim_foreign(struct storm_sim *sim, uint32_t node)
{
	sim->ep[node].foreign = true;
}

void storm_sim_pause(struct storm_sim *sim, uint32_t node, uint64_t ns)
{
	sim->ep[node].paused_until = sim->now + ns;
}

void storm_sim_loss(struct storm_sim *sim, uint32_t loss_ppm)
{
	sim->conf.loss_ppm = loss_ppm;
}

/* -------------------------------------------------------------------- whole --- */

struct storm_sim *storm_sim_create(const struct storm_sim_conf *conf,
				   const struct storm_owner_ops *ops,
				   void *arg)
{
	struct storm_sim *sim = calloc(1, sizeof(*sim));
	uint32_t n = conf->nodes;
	struct storm_node *nodes = calloc(n, sizeof(*nodes));
	struct storm_domain_conf dc = { .nodes = nodes, .count = n,
					.set = conf->set };
	struct storm_addr self;
	int err;

	if (!sim || !nodes)
		abort();
	storm_credential_use(&storm_sim_credential);
	sim->conf = *conf;
	sim->random = conf->seed;
	sim->now = STORM_SEC;
	sim->ep = calloc(n + 1, sizeof(*sim->ep));
	sim->names = calloc(n, sizeof(*sim->names));
	if (!sim->ep || !sim->names)
		abort();
	for (uint32_t i = 0; i <= n; i++) {
		sim->ep[i].t.ops = &storm_sim_transport_ops;
		sim->ep[i].sim = sim;
		sim->ep[i].index = i;
		if (i == n)
			break;
		snprintf(sim->names[i], sizeof(sim->names[i]), "n%u", i + 1);
		nodes[i].name = sim->names[i];
		storm_sim_address(i, &nodes[i].addr);
		nm_start(&sim->ep[i]);
	}
	storm_sim_address(n, &self);
	sim->owner = storm_owner_create(&dc, &sim->ep[n].t, &self, ops, arg,
					&err);
	free(nodes);
	if (!sim->owner) {
		storm_sim_destroy(sim);
		return NULL;
	}
	sim->ep[n].tick_at = sim->now;
	return sim;
}

void storm_sim_destroy(struct storm_sim *sim)
{
	if (!sim)
		return;
	storm_owner_destroy(sim->owner);
	/* whose sessions hang up their streams */
	for (uint32_t i = 0; i < sim->conf.nodes; i++)
		storm_nm_destroy(sim->ep[i].nm);
	while (sim->count)
		free(pop(sim).buf);
	free(sim->heap);
	free(sim->stream);
	for (uint32_t i = 0; i < sim->conf.nodes; i++)
		storm_sim_host_clear(&sim->ep[i]);
	free(sim->ep);
	free(sim->names);
	free(sim);
}

struct storm_owner *storm_sim_owner(struct storm_sim *sim)
{
	return sim->owner;
}

struct storm_nm *storm_sim_nm(struct storm_sim *sim, uint32_t node)
{
	return sim->ep[node].nm;
}

uint64_t storm_sim_now(const struct storm_sim *sim)
{
	return sim->now;
}

uint64_t storm_sim_session(const struct storm_sim *sim, uint32_t node)
{
	return sim->ep[node].session;
}

uint64_t storm_sim_sent(const struct storm_sim *sim, uint32_t node)
{
	return sim->ep[node == STORM_NO_NODE ? sim->conf.nodes : node].sent;
}
