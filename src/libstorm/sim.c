/*
 * sim.c - see sim.h: the simulator's clock and its queue of events.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "sim_private.h"
#include "wire.h"

/* -------------------------------------------------------------------- queue --- */

static void *grown(void *p, size_t *room, size_t size)
{
	*room = *room ? *room * 2 : 1024;
	p = realloc(p, *room * size);
	if (!p)
		abort();	/* a simulation without memory is none */
	return p;
}

static bool before(const struct turn *a, const struct turn *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

/* A place in the pool. */
static uint32_t event_new(struct storm_sim *sim)
{
	size_t room = sim->events_room;

	if (sim->free_events)
		return sim->free_event[--sim->free_events];
	if (sim->events == room) {
		size_t same = room;

		sim->event = grown(sim->event, &room, sizeof(*sim->event));
		sim->free_event = grown(sim->free_event, &same,
					sizeof(*sim->free_event));
		sim->events_room = (uint32_t) room;
	}
	return sim->events++;
}

void storm_sim_push(struct storm_sim *sim, struct event e)
{
	struct turn t = { e.at, sim->order++, event_new(sim) };
	size_t i;

	if (sim->count == sim->room)
		sim->heap = grown(sim->heap, &sim->room, sizeof(t));
	sim->event[t.event] = e;
	for (i = sim->count++; i && before(&t, &sim->heap[(i - 1) / 2]);
	     i = (i - 1) / 2)
		sim->heap[i] = sim->heap[(i - 1) / 2];
	sim->heap[i] = t;
}

static struct event pop(struct storm_sim *sim)
{
	struct turn top = sim->heap[0], last = sim->heap[--sim->count];
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
	sim->free_event[sim->free_events++] = top.event;
	return sim->event[top.event];
}

static void event_free(struct event *e)
{
	storm_sim_frame_put(e->frame);
	free(e->buf);
}

/* Timers move all the time, mostly to later: only one that is due earlier than
 * all that is queued of an endpoint is queued anew, and one that comes too
 * early goes again. */
static void tick_at(struct endpoint *ep, uint64_t at)
{
	ep->tick_at = at < ep->writable_at ? at : ep->writable_at;
	if (ep->tick_at >= ep->tick_queued)
		return;
	ep->tick_queued = ep->tick_at;
	storm_sim_push(ep->sim, (struct event) {
		.at = ep->tick_at, .kind = EV_TICK, .to = ep->index });
}

void storm_sim_wake(struct endpoint *ep)
{
	tick_at(ep, ep->sim->now);
}

/* ---------------------------------------------------------------------- run --- */

static void datagrams(struct storm_sim *sim, struct endpoint *ep,
		      const struct event *e)
{
	struct frame *f = e->frame;
	struct storm_rx rx[64];
	size_t n = 0;

	for (uint32_t i = 0; i < f->count; i++) {
		size_t off = i * f->seg;
		size_t len = f->len - off < f->seg ? f->len - off : f->seg;
		bool bulk = len > 1 && f->bytes[off + 1] == STORM_MSG_DATA;
		struct storm_sim_count *c = bulk ? &ep->traffic.rx_bulk :
						   &ep->traffic.rx_control;

		if (!(e->mask >> i & 1))
			continue;
		c->datagrams++;
		c->bytes += len;
		rx[n++] = (struct storm_rx) { f->bytes + off, len, e->group };
	}
	sim->given = f;
	if (ep->guest)
		storm_sim_guest_datagrams(ep, rx, n);
	else if (ep->nm)
		storm_nm_datagrams(ep->nm, rx, n, sim->now);
	else
		storm_owner_datagrams(ep->owner, rx, n, sim->now);
	sim->given = NULL;
}

static void input(struct storm_sim *sim, struct event *e)
{
	struct endpoint *ep = &sim->ep[e->to];
	struct storm_open *o = NULL;
	int err;

	if (ep->guest) {
		if (e->kind == EV_DATAGRAM)
			datagrams(sim, ep, e);
		else
			storm_sim_guest_input(ep, e);
		return;
	}
	if (ep->owner) {
		if (e->kind == EV_DATAGRAM)
			datagrams(sim, ep, e);
		else if (e->kind == EV_REFUSED)
			storm_owner_stream_failed(ep->owner, e->session,
						  e->node, e->err, e->sys,
						  sim->now);
		return;
	}
	switch (e->kind) {
	case EV_DATAGRAM:
		datagrams(sim, ep, e);
		break;
	case EV_STREAM:
		storm_nm_stream(ep->nm, e->ticket, e->buf, e->len, sim->now);
		break;
	case EV_REFUSED:
		storm_nm_stream_failed(ep->nm, e->session, e->node,
				       e->err, e->sys, sim->now);
		break;
	case EV_AUTH:
		err = storm_sim_verify(sim, e->buf, e->len, &o);
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
	case EV_TICK:
		break;
	}
}

static void tick(struct storm_sim *sim, struct endpoint *ep)
{
	uint64_t next = STORM_NEVER;

	ep->writable_at = STORM_NEVER;
	if (ep->paused_until > sim->now) {
		next = ep->paused_until;
	} else if (!ep->down) {
		next = ep->guest ? storm_sim_guest_tick(ep) :
		       ep->nm ? storm_nm_tick(ep->nm, sim->now) :
				storm_owner_tick(ep->owner, sim->now);
		/* a state machine that wants to run again at once still
		 * takes time to do so */
		if (next <= sim->now)
			next = sim->now + STORM_US;
	}
	tick_at(ep, next);
}

/* Who sealed it, whoever passed it on; what a stranger says is not asked. */
static uint32_t sender(const struct event *e)
{
	struct storm_header h;

	if (!e || e->kind != EV_DATAGRAM || e->from == STORM_SIM_NOBODY ||
	    storm_header_unpack(&h, e->frame->bytes, e->frame->len))
		return STORM_SIM_NOBODY;
	return h.sender;
}

struct endpoint *storm_sim_endpoint(const struct storm_sim *sim, uint32_t node)
{
	return &sim->ep[node == STORM_NO_NODE ?
			sim->conf.nodes + sim->owners - 1 : node];
}

/* How others call an endpoint. */
static uint32_t called(const struct storm_sim *sim, uint32_t index)
{
	return index == sim->conf.nodes + sim->owners - 1 ? STORM_NO_NODE :
							    index;
}

/* What an endpoint is given (NULL: nothing but the time), and what it does. */
static void run(struct storm_sim *sim, struct endpoint *ep, struct event *e)
{
	const struct storm_sim_watch *w = &sim->watch;
	uint32_t node = called(sim, ep->index);
	uint32_t from = w->before || w->after ? sender(e) : STORM_SIM_NOBODY;
	uint64_t sent = ep->traffic.tx_control.bytes + ep->traffic.tx_bulk.bytes;

	if (w->before)
		w->before(w->arg, node, from);
	if (e)
		input(sim, e);
	if (e && e->kind == EV_DATAGRAM && e->from == STORM_SIM_NOBODY)
		sim->answers += ep->traffic.tx_control.bytes +
				ep->traffic.tx_bulk.bytes - sent;
	tick(sim, ep);
	if (w->after)
		w->after(w->arg, node, from);
}

/* The next event happens. */
static void turn(struct storm_sim *sim)
{
	struct event e = pop(sim);
	struct endpoint *ep = &sim->ep[e.to];

	if (e.kind == EV_TICK) {
		/* another one has taken its place */
		if (ep->tick_queued != e.at)
			return;
		ep->tick_queued = STORM_NEVER;
		if (ep->tick_at > sim->now)
			tick_at(ep, ep->tick_at);
		else
			run(sim, ep, NULL);
		return;
	}
	if (ep->paused_until > sim->now && !ep->down) {
		e.at = ep->paused_until;
		if (storm_sim_hold(ep, &e))
			storm_sim_push(sim, e);
		else
			event_free(&e);
		return;
	}
	if (ep->works_until > sim->now && !ep->down) {
		e.at = ep->works_until;
		storm_sim_push(sim, e);
		return;
	}
	if (e.kind == EV_DATAGRAM)
		ep->works_until = sim->now + sim->conf.host *
				  (uint64_t) __builtin_popcountll(e.mask);
	if (e.life == ep->life && !ep->down) {
		ep->held -= e.held;
		run(sim, ep, &e);
	}
	event_free(&e);
}

void storm_sim_watch(struct storm_sim *sim, const struct storm_sim_watch *w)
{
	sim->watch = *w;
}

void storm_sim_called(struct storm_sim *sim, uint32_t node)
{
	tick(sim, storm_sim_endpoint(sim, node));
}

bool storm_sim_step(struct storm_sim *sim, uint64_t end)
{
	if (!sim->count || sim->heap[0].at > end) {
		if (end == STORM_NEVER)
			abort();	/* it waits for what will never be */
		if (end > sim->now)
			sim->now = end;
		return false;
	}
	if (sim->heap[0].at > sim->now)
		sim->now = sim->heap[0].at;
	turn(sim);
	return true;
}

bool storm_sim_run(struct storm_sim *sim, uint64_t ns,
		   bool (*done)(void *arg), void *arg)
{
	uint64_t end = sim->now + ns;

	do {
		if (done && done(arg))
			return true;
	} while (storm_sim_step(sim, end));
	return false;
}

/* -------------------------------------------------------------------- whole --- */

void storm_sim_node_start(struct endpoint *ep)
{
	int err;

	ep->nm = storm_nm_create(&ep->sim->conf.set, &ep->t,
				 &storm_sim_host_ops, ep, &err);
	if (!ep->nm)
		abort();
}

/* The one place where epochs are kept, as all owners see it. */
static int save(void *arg, uint32_t was, uint32_t epoch,
		const struct storm_idset *excluded)
{
	struct storm_sim *sim = arg;

	if (sim->saved != was)
		return -1;
	sim->saved = epoch;
	storm_idset_clear(&sim->saved_excluded);
	storm_idset_union(&sim->saved_excluded, excluded);
	return 0;
}

static bool owner_start(struct storm_sim *sim, void *arg)
{
	uint32_t n = sim->conf.nodes;
	struct endpoint *ep = &sim->ep[n + sim->owners];
	struct storm_node *nodes = calloc(n, sizeof(*nodes));
	struct storm_domain_conf dc = {
		.nodes = nodes, .count = n, .set = sim->conf.set,
		.cluster = sim->conf.cluster, .epoch = sim->saved,
		.excluded = &sim->saved_excluded, .save = save, .arg = sim,
	};
	struct storm_addr self;
	int err;

	if (!nodes)
		abort();
	for (uint32_t i = 0; i < n; i++) {
		nodes[i].name = sim->names[i];
		storm_sim_address(i, &nodes[i].addr);
	}
	storm_sim_address(ep->index, &self);
	ep->owner = storm_owner_create(&dc, &ep->t, &self, &sim->ops, arg,
				       &err);
	free(nodes);
	if (!ep->owner)
		return false;
	sim->owners++;
	tick_at(ep, sim->now);
	return true;
}

bool storm_sim_succeed(struct storm_sim *sim, void *arg)
{
	return sim->conf.cluster && sim->owners < STORM_SIM_OWNERS &&
	       owner_start(sim, arg);
}

uint32_t storm_sim_saved(const struct storm_sim *sim,
			 const struct storm_idset **excluded)
{
	*excluded = &sim->saved_excluded;
	return sim->saved;
}

struct storm_sim *storm_sim_create(const struct storm_sim_conf *conf,
				   const struct storm_owner_ops *ops,
				   void *arg)
{
	struct storm_sim *sim = calloc(1, sizeof(*sim));
	uint32_t n = conf->nodes;

	if (!sim)
		abort();
	storm_credential_use(&storm_sim_credential);
	sim->conf = *conf;
	storm_sim_line_init(sim);
	sim->random = conf->seed;
	sim->now = STORM_SEC;
	if (ops)
		sim->ops = *ops;
	sim->ep = calloc(n + STORM_SIM_OWNERS, sizeof(*sim->ep));
	sim->names = calloc(n, sizeof(*sim->names));
	if (!sim->ep || !sim->names)
		abort();
	for (uint32_t i = 0; i < n + STORM_SIM_OWNERS; i++) {
		sim->ep[i].t.ops = &storm_sim_transport_ops;
		sim->ep[i].sim = sim;
		sim->ep[i].index = i;
		sim->ep[i].tick_at = sim->ep[i].tick_queued =
			sim->ep[i].writable_at = STORM_NEVER;
		if (i >= n)
			continue;
		snprintf(sim->names[i], sizeof(sim->names[i]), "n%u", i + 1);
		if (conf->guests)
			sim->ep[i].down = true;
		else
			storm_sim_node_start(&sim->ep[i]);
	}
	if (!conf->guests && !owner_start(sim, arg)) {
		storm_sim_destroy(sim);
		return NULL;
	}
	return sim;
}

void storm_sim_destroy(struct storm_sim *sim)
{
	if (!sim)
		return;
	storm_sim_heal(sim);
	for (uint32_t i = 0; i < sim->owners; i++) {
		struct endpoint *ep = &sim->ep[sim->conf.nodes + i];

		/* those after it may end operations, and be looked at */
		storm_owner_destroy(ep->owner);
		ep->owner = NULL;
	}
	storm_idset_clear(&sim->saved_excluded);
	/* whose sessions hang up their streams */
	for (uint32_t i = 0; i < sim->conf.nodes; i++)
		storm_nm_destroy(sim->ep[i].nm);
	while (sim->count) {
		struct event e = pop(sim);

		event_free(&e);
	}
	free(sim->heap);
	free(sim->event);
	free(sim->free_event);
	free(sim->stream);
	storm_sim_forget_open(sim);
	for (uint32_t i = 0; i < sim->conf.nodes; i++)
		storm_sim_host_clear(&sim->ep[i]);
	free(sim->ep);
	free(sim->names);
	free(sim);
}

struct storm_owner *storm_sim_owner(struct storm_sim *sim)
{
	return storm_sim_endpoint(sim, STORM_NO_NODE)->owner;
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

const struct storm_sim_traffic *storm_sim_traffic(const struct storm_sim *sim,
						  uint32_t node)
{
	return &storm_sim_endpoint(sim, node)->traffic;
}
