/*
 * sim_turn.c - runs the next event: its endpoint gets the input and runs its
 * timers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "sim_private.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/program/runner.h"
#include "src/libstorm/wire/wire.h"

/* ------------------------------------------------------------------- guests --- */

/* A guest gets its input with its lock held, as from its own thread. */
static void sim_guest_datagrams(struct endpoint *ep, struct storm_rx *rx,
				size_t n)
{
	struct storm_shared *sh = ep->runner ? ep->runner->sh : NULL;

	if (!sh)
		return;
	pthread_mutex_lock(&sh->lock);
	ep->handler.datagrams(ep->handler.arg, rx, n);
	pthread_mutex_unlock(&sh->lock);
}

static void sim_guest_input(struct endpoint *ep, const struct event *e)
{
	struct storm_shared *sh = ep->runner ? ep->runner->sh : NULL;

	if (!sh)
		return;
	pthread_mutex_lock(&sh->lock);
	if (e->kind == EV_STREAM)
		ep->handler.stream(ep->handler.arg, e->ticket, e->buf, e->len);
	else
		ep->handler.stream_failed(ep->handler.arg, e->session, e->node,
					  (enum storm_err) e->err, e->sys);
	pthread_mutex_unlock(&sh->lock);
}

static uint64_t sim_guest_tick(struct endpoint *ep)
{
	return ep->runner ? storm_runner_turn(ep->runner) : STORM_NEVER;
}

/* -------------------------------------------------------------------- input --- */

static void sim_turn_datagrams(struct storm_sim *sim, struct endpoint *ep,
			       const struct event *e)
{
	struct frame *f = e->frame;
	struct storm_rx rx[64];
	size_t n = 0;

	for (uint32_t i = 0; i < f->count; i++) {
		size_t off = i * f->seg;
		size_t len = storm_min(f->len - off, f->seg);
		bool bulk = len > 1 && f->bytes[off + 1] == STORM_MSG_DATA;
		struct storm_sim_count *c = bulk ? &ep->traffic.rx_bulk :
						   &ep->traffic.rx_control;

		if (!(e->mask >> i & 1))
			continue;
		c->datagrams++;
		c->bytes += len;
		if (ep->older && len > 1 && f->bytes[off + 1] >= ep->older)
			continue; /* as a malformed one */
		rx[n++] = (struct storm_rx) { .buf = f->bytes + off,
					      .len = len,
					      .group = e->group };
	}
	sim->given = f;
	if (ep->guest)
		sim_guest_datagrams(ep, rx, n);
	else if (ep->nm)
		storm_nm_datagrams(ep->nm, rx, n, sim->now);
	else
		storm_owner_datagrams(ep->owner, rx, n, sim->now);
	sim->given = NULL;
}

static void sim_turn_input(struct storm_sim *sim, struct event *e)
{
	struct endpoint *ep = &sim->ep[e->to];
	struct storm_open *o = NULL;
	int err;

	if (ep->guest) {
		if (e->kind == EV_DATAGRAM)
			sim_turn_datagrams(sim, ep, e);
		else
			sim_guest_input(ep, e);
		return;
	}
	if (ep->owner) {
		if (e->kind == EV_DATAGRAM)
			sim_turn_datagrams(sim, ep, e);
		else if (e->kind == EV_REFUSED)
			storm_owner_stream_failed(ep->owner, e->session,
						  e->node, e->err, e->sys,
						  sim->now);
		return;
	}
	switch (e->kind) {
	case EV_DATAGRAM:
		sim_turn_datagrams(sim, ep, e);
		break;
	case EV_STREAM:
		storm_nm_stream(ep->nm, e->ticket, e->buf, e->len, sim->now);
		break;
	case EV_REFUSED:
		storm_nm_stream_failed(ep->nm, e->session, e->node, e->err,
				       e->sys, sim->now);
		break;
	case EV_AUTH:
		err = storm_sim_verify(sim, e->buf, e->len, &o);
		storm_nm_admit(ep->nm, e->ticket, o, err, sim->now);
		break;
	case EV_BEGUN:
		storm_nm_begun(ep->nm, e->session, e->op, e->err, e->sys,
			       sim->now);
		break;
	case EV_WRITTEN:
		ep->disk_bytes -= e->len;
		storm_nm_written(ep->nm, e->session, e->op, e->off, e->len,
				 e->err, e->sys, sim->now);
		break;
	case EV_READ:
		storm_nm_read(ep->nm, e->session, e->op, e->off,
			      e->err ? NULL : e->buf, e->len);
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

/* -------------------------------------------------------------------- turns --- */

static void sim_turn_tick(struct storm_sim *sim, struct endpoint *ep)
{
	uint64_t next = STORM_NEVER;

	ep->writable_at = STORM_NEVER;
	if (ep->paused_until > sim->now) {
		next = ep->paused_until;
	} else if (!ep->down) {
		next = ep->guest ? sim_guest_tick(ep) :
		       ep->nm	 ? storm_nm_tick(ep->nm, sim->now) :
				   storm_owner_tick(ep->owner, sim->now);
		/* time must advance even if the state machine wants to run
		 * again at once */
		if (next <= sim->now)
			next = sim->now + STORM_US;
	}
	storm_sim_wake_at(ep, next);
}

/* The node that sealed the datagram, even if another one relayed it.
 * STORM_SIM_NOBODY if it is forged. */
static uint32_t sim_event_sender(const struct event *e)
{
	struct storm_header h;

	if (!e || e->kind != EV_DATAGRAM || e->from == STORM_SIM_NOBODY ||
	    storm_header_unpack(&h, e->frame->bytes, e->frame->len))
		return STORM_SIM_NOBODY;
	return h.sender;
}

/* The number of an endpoint in callbacks; STORM_NO_NODE: the owner. */
static uint32_t sim_endpoint_called(const struct storm_sim *sim, uint32_t index)
{
	return index == sim->conf.nodes + sim->owners - 1 ? STORM_NO_NODE :
							    index;
}

/* Give an endpoint its input (NULL: only the time), and run its timers. */
static void sim_turn_run(struct storm_sim *sim, struct endpoint *ep,
			 struct event *e)
{
	const struct storm_sim_watch *w = &sim->watch;
	uint32_t node = sim_endpoint_called(sim, ep->index);
	uint32_t from = w->before || w->after ? sim_event_sender(e) :
						STORM_SIM_NOBODY;
	uint64_t sent =
		ep->traffic.tx_control.bytes + ep->traffic.tx_bulk.bytes;

	if (w->before)
		w->before(w->arg, node, from);
	if (e)
		sim_turn_input(sim, e);
	if (e && e->kind == EV_DATAGRAM && e->from == STORM_SIM_NOBODY)
		sim->answers += ep->traffic.tx_control.bytes +
				ep->traffic.tx_bulk.bytes - sent;
	sim_turn_tick(sim, ep);
	if (w->after)
		w->after(w->arg, node, from);
}

/* Run the next event. */
static void sim_turn_next(struct storm_sim *sim)
{
	struct event e = storm_sim_pop(sim);
	struct endpoint *ep = &sim->ep[e.to];

	if (e.kind == EV_TICK) {
		/* an earlier one has replaced it */
		if (ep->tick_queued != e.at)
			return;
		ep->tick_queued = STORM_NEVER;
		if (ep->tick_at > sim->now)
			storm_sim_wake_at(ep, ep->tick_at);
		else
			sim_turn_run(sim, ep, NULL);
		return;
	}
	if (ep->paused_until > sim->now && !ep->down) {
		e.at = ep->paused_until;
		if (storm_sim_hold(ep, &e))
			storm_sim_push(sim, e);
		else
			storm_sim_event_free(&e);
		return;
	}
	if (ep->works_until > sim->now && !ep->down) {
		e.at = ep->works_until;
		storm_sim_push(sim, e);
		return;
	}
	if (e.kind == EV_DATAGRAM)
		ep->works_until =
			sim->now +
			sim->conf.host *
				(uint64_t) __builtin_popcountll(e.mask);
	if (e.life == ep->life && !ep->down) {
		ep->held -= e.held;
		sim_turn_run(sim, ep, &e);
	}
	storm_sim_event_free(&e);
}

void storm_sim_called(struct storm_sim *sim, uint32_t node)
{
	sim_turn_tick(sim, storm_sim_endpoint(sim, node));
}

bool storm_sim_step(struct storm_sim *sim, uint64_t end)
{
	if (!sim->count || sim->heap[0].at > end) {
		if (end == STORM_NEVER)
			abort(); /* it waits, but nothing can happen */
		if (end > sim->now)
			sim->now = end;
		return false;
	}
	if (sim->heap[0].at > sim->now)
		sim->now = sim->heap[0].at;
	sim_turn_next(sim);
	return true;
}
