/*
 * sim.c - see sim.h: a simulation as a whole.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>

#include "sim_private.h"
#include "src/libstorm/base/clock.h"

void storm_sim_watch(struct storm_sim *sim, const struct storm_sim_watch *w)
{
	sim->watch = *w;
}

bool storm_sim_run(struct storm_sim *sim, uint64_t ns, bool (*done)(void *arg),
		   void *arg)
{
	uint64_t end = sim->now + ns;

	do {
		if (done && done(arg))
			return true;
	} while (storm_sim_step(sim, end));
	return false;
}

/* Save an epoch in the one place that all owners share. */
static int sim_owner_save(void *arg, uint32_t was, uint32_t epoch,
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

static bool sim_owner_start(struct storm_sim *sim, void *arg)
{
	uint32_t n = sim->conf.nodes;
	struct endpoint *ep = &sim->ep[n + sim->owners];
	struct storm_node *nodes = calloc(n, sizeof(*nodes));
	struct storm_domain_conf dc = {
		.nodes = nodes,
		.count = n,
		.set = sim->conf.set,
		.cluster = sim->conf.cluster,
		.epoch = sim->saved,
		.excluded = &sim->saved_excluded,
		.save = sim_owner_save,
		.arg = sim,
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
	ep->owner =
		storm_owner_create(&dc, &ep->t, &self, &sim->ops, arg, &err);
	free(nodes);
	if (!ep->owner)
		return false;
	sim->owners++;
	storm_sim_wake(ep);
	return true;
}

bool storm_sim_succeed(struct storm_sim *sim, void *arg)
{
	return sim->conf.cluster && sim->owners < STORM_SIM_OWNERS &&
	       sim_owner_start(sim, arg);
}

uint32_t storm_sim_saved(const struct storm_sim *sim,
			 const struct storm_idset **excluded)
{
	*excluded = &sim->saved_excluded;
	return sim->saved;
}

struct storm_sim *storm_sim_create(const struct storm_sim_conf *conf,
				   const struct storm_owner_ops *ops, void *arg)
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
	if (!conf->guests && !sim_owner_start(sim, arg)) {
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

		/* later owners may end operations here, and be watched */
		storm_owner_destroy(ep->owner);
		ep->owner = NULL;
	}
	storm_idset_clear(&sim->saved_excluded);
	/* their sessions close their streams */
	for (uint32_t i = 0; i < sim->conf.nodes; i++)
		storm_nm_destroy(sim->ep[i].nm);
	while (sim->count) {
		struct event e = storm_sim_pop(sim);

		storm_sim_event_free(&e);
	}
	free(sim->disk_room);
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
