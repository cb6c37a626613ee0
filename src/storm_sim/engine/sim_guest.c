/*
 * sim_guest.c - the driver "sim" (driver.h): the domains and nodes that a
 * program creates become endpoints of a simulation, in place of the simulator's
 * own owner and nodes.  A call that waits advances the virtual time.  There is
 * one thread.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "sim_private.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/program/drivers.h"
#include "src/libstorm/program/runner.h"

static struct storm_sim *world;

static struct endpoint *sim_guest_of(const struct storm_net *net)
{
	return (struct endpoint *) net;
}

/* The endpoint of a node is its port less 1; owners take the next one after
 * n. */
static struct endpoint *sim_guest_place(enum storm_role role, uint16_t port)
{
	uint32_t n = world->conf.nodes;

	if (role == STORM_ROLE_OWNER)
		return world->owners < STORM_SIM_OWNERS ?
			       &world->ep[n + world->owners++] :
			       NULL;
	return port && port <= n && !world->ep[port - 1].guest ?
		       &world->ep[port - 1] :
		       NULL;
}

static struct storm_net *sim_driver_create(const struct storm_settings *set,
					   enum storm_role role,
					   const struct storm_addr *peer,
					   const struct storm_net_handler *h,
					   int *err)
{
	struct endpoint *ep = sim_guest_place(role, set->port);

	(void) peer;
	*err = ep ? STORM_OK : STORM_ESYS;
	if (!ep)
		return NULL;
	ep->guest = h->arg;
	ep->handler = *h;
	ep->down = false;
	return (struct storm_net *) ep;
}

/* Events in flight to it are of an earlier life, and are dropped. */
static void sim_driver_destroy(struct storm_net *net)
{
	struct endpoint *ep = sim_guest_of(net);

	ep->guest = NULL;
	ep->runner = NULL;
	ep->down = true;
	ep->life++;
}

static struct storm_transport *sim_driver_transport(struct storm_net *net)
{
	return &sim_guest_of(net)->t;
}

static void sim_driver_self(const struct storm_net *net, struct storm_addr *out)
{
	storm_sim_address(sim_guest_of(net)->index, out);
}

static uint64_t sim_driver_dropped(const struct storm_net *net)
{
	(void) net; /* losses come from the simulator's conf */
	return 0;
}

static uint64_t sim_driver_now(void)
{
	return world->now;
}

static bool sim_driver_turn(uint64_t deadline)
{
	return storm_sim_step(world, deadline ? deadline : STORM_NEVER);
}

static void sim_driver_attach(struct storm_net *net, struct storm_runner *r)
{
	sim_guest_of(net)->runner = r;
	if (r)
		storm_sim_wake(sim_guest_of(net));
}

static void sim_driver_wake(struct storm_net *net)
{
	storm_sim_wake(sim_guest_of(net));
}

static const struct storm_driver driver_sim = {
	.name = "sim",
	.create = sim_driver_create,
	.destroy = sim_driver_destroy,
	.transport = sim_driver_transport,
	.self = sim_driver_self,
	.dropped = sim_driver_dropped,
	.now = sim_driver_now,
	.turn = sim_driver_turn,
	.attach = sim_driver_attach,
	.wake = sim_driver_wake,
};

void storm_sim_drive(struct storm_sim *sim)
{
	world = sim;
	storm_driver = sim ? &driver_sim : NULL;
}
