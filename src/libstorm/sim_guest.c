/*
 * sim_guest.c - the driver "sim" (driver.h): the ends that a program creates,
 * storm_domain_t and storm_node_t, as endpoints of a simulation, in place of the
 * simulator's own owner and nodes.  Whatever waits in them lets time pass.  All is
 * one thread's.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "clock.h"
#include "drivers.h"
#include "runner.h"
#include "sim_private.h"

static struct storm_sim *world;

static struct endpoint *of(const struct storm_net *net)
{
	return (struct endpoint *) net;
}

/* Nodes are at ports 1 to n, owners come one after the other. */
static struct endpoint *place(enum storm_role role, uint16_t port)
{
	uint32_t n = world->conf.nodes;

	if (role == STORM_ROLE_OWNER)
		return world->owners < STORM_SIM_OWNERS ?
		       &world->ep[n + world->owners++] : NULL;
	return port && port <= n && !world->ep[port - 1].guest ?
	       &world->ep[port - 1] : NULL;
}

static struct storm_net *create(const struct storm_settings *set,
				enum storm_role role,
				const struct storm_addr *peer,
				const struct storm_net_handler *h, int *err)
{
	struct endpoint *ep = place(role, set->port);

	(void) peer;
	*err = ep ? STORM_OK : STORM_ESYS;
	if (!ep)
		return NULL;
	ep->guest = h->arg;
	ep->handler = *h;
	ep->down = false;
	return (struct storm_net *) ep;
}

/* What is on its way to it has come too late. */
static void destroy(struct storm_net *net)
{
	struct endpoint *ep = of(net);

	ep->guest = NULL;
	ep->runner = NULL;
	ep->down = true;
	ep->life++;
}

static struct storm_transport *transport(struct storm_net *net)
{
	return &of(net)->t;
}

static void self(const struct storm_net *net, struct storm_addr *out)
{
	storm_sim_address(of(net)->index, out);
}

static uint64_t dropped(const struct storm_net *net)
{
	(void) net;		/* losses are the simulator's settings */
	return 0;
}

static uint64_t now(void)
{
	return world->now;
}

static bool turn(uint64_t deadline)
{
	return storm_sim_step(world, deadline ? deadline : STORM_NEVER);
}

static void attach(struct storm_net *net, struct storm_runner *r)
{
	of(net)->runner = r;
	if (r)
		storm_sim_wake(of(net));
}

static void wake(struct storm_net *net)
{
	storm_sim_wake(of(net));
}

static const struct storm_driver driver_sim = {
	.name = "sim", .create = create, .destroy = destroy,
	.transport = transport, .self = self, .dropped = dropped, .now = now,
	.turn = turn, .attach = attach, .wake = wake,
};

void storm_sim_drive(struct storm_sim *sim)
{
	world = sim;
	storm_driver = sim ? &driver_sim : NULL;
}

/* An end is given its input with its lock held, as its own thread would. */
void storm_sim_guest_datagrams(struct endpoint *ep, struct storm_rx *rx,
			       size_t n)
{
	struct storm_shared *sh = ep->runner ? ep->runner->sh : NULL;

	if (!sh)
		return;
	pthread_mutex_lock(&sh->lock);
	ep->handler.datagrams(ep->handler.arg, rx, n);
	pthread_mutex_unlock(&sh->lock);
}

void storm_sim_guest_input(struct endpoint *ep, const struct event *e)
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

uint64_t storm_sim_guest_tick(struct endpoint *ep)
{
	return ep->runner ? storm_runner_turn(ep->runner) : STORM_NEVER;
}
