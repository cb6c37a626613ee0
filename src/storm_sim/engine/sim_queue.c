/*
 * sim_queue.c - the base of the simulator: random numbers, endpoints, frames of
 * datagrams, and the queue of events.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "sim_private.h"
#include "src/libstorm/base/chance.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"

/* ------------------------------------------------------------------- chance --- */

uint64_t storm_sim_chance(struct storm_sim *sim)
{
	return storm_chance(&sim->random);
}

bool storm_sim_happens(struct storm_sim *sim, uint32_t ppm)
{
	return storm_chance_ppm(&sim->random, ppm);
}

uint64_t storm_sim_upto(struct storm_sim *sim, uint64_t ns)
{
	return ns ? storm_sim_chance(sim) % (ns + 1) : 0;
}

/* ---------------------------------------------------------------- endpoints --- */

void storm_sim_address(uint32_t index, struct storm_addr *a)
{
	memset(a, 0, sizeof(*a));
	a->ip[0] = 0xfd;
	for (int i = 0; i < 4; i++)
		a->ip[15 - i] = (uint8_t) (index >> 8 * i);
	a->port = 1;
}

struct endpoint *storm_sim_endpoint(const struct storm_sim *sim, uint32_t node)
{
	return &sim->ep[node == STORM_NO_NODE ?
				sim->conf.nodes + sim->owners - 1 :
				node];
}

/* ------------------------------------------------------------------- frames --- */

struct frame *storm_sim_frame_new(const void *buf, size_t len, size_t seg)
{
	struct frame *f = malloc(sizeof(*f) + len);

	if (!f || len > 64 * seg)
		abort();
	memcpy(f->bytes, buf, len);
	f->refs = 1;
	f->count = (uint32_t) ((len + seg - 1) / seg);
	f->len = len;
	f->seg = seg;
	f->plain = NULL;
	return f;
}

void storm_sim_frame_put(struct frame *f)
{
	if (!f || --f->refs)
		return;
	for (uint32_t i = 0; f->plain && i < f->count; i++)
		free(f->plain[i]);
	free(f->plain);
	free(f);
}

/* -------------------------------------------------------------------- queue --- */

static void *sim_queue_grow(void *p, size_t *room, size_t size)
{
	*room = *room ? *room * 2 : 1024;
	p = realloc(p, *room * size);
	if (!p)
		abort(); /* no memory: the simulation cannot go on */
	return p;
}

static bool sim_turn_before(const struct turn *a, const struct turn *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

/* A free place in the pool. */
static uint32_t sim_event_new(struct storm_sim *sim)
{
	size_t room = sim->events_room;

	if (sim->free_events)
		return sim->free_event[--sim->free_events];
	if (sim->events == room) {
		size_t same = room;

		sim->event =
			sim_queue_grow(sim->event, &room, sizeof(*sim->event));
		sim->free_event = sim_queue_grow(sim->free_event, &same,
						 sizeof(*sim->free_event));
		sim->events_room = (uint32_t) room;
	}
	return sim->events++;
}

void storm_sim_push(struct storm_sim *sim, struct event e)
{
	struct turn t = { e.at, sim->order++, sim_event_new(sim) };
	size_t i;

	if (sim->count == sim->room)
		sim->heap = sim_queue_grow(sim->heap, &sim->room, sizeof(t));
	sim->event[t.event] = e;
	for (i = sim->count++;
	     i && sim_turn_before(&t, &sim->heap[(i - 1) / 2]); i = (i - 1) / 2)
		sim->heap[i] = sim->heap[(i - 1) / 2];
	sim->heap[i] = t;
}

struct event storm_sim_pop(struct storm_sim *sim)
{
	struct turn top = sim->heap[0], last = sim->heap[--sim->count];
	size_t i = 0, c;

	while ((c = 2 * i + 1) < sim->count) {
		if (c + 1 < sim->count &&
		    sim_turn_before(&sim->heap[c + 1], &sim->heap[c]))
			c++;
		if (!sim_turn_before(&sim->heap[c], &last))
			break;
		sim->heap[i] = sim->heap[c];
		i = c;
	}
	if (sim->count)
		sim->heap[i] = last;
	sim->free_event[sim->free_events++] = top.event;
	return sim->event[top.event];
}

void storm_sim_event_free(struct event *e)
{
	storm_sim_frame_put(e->frame);
	free(e->buf);
}

/* Timers change often, mostly to a later time.  So an EV_TICK is queued only if
 * it is earlier than the one in the queue, and a tick that comes too early is
 * queued again. */
void storm_sim_wake_at(struct endpoint *ep, uint64_t at)
{
	ep->tick_at = storm_min(at, ep->writable_at);
	if (ep->tick_at >= ep->tick_queued)
		return;
	ep->tick_queued = ep->tick_at;
	storm_sim_push(ep->sim, (struct event) { .at = ep->tick_at,
						 .kind = EV_TICK,
						 .to = ep->index });
}

void storm_sim_wake(struct endpoint *ep)
{
	storm_sim_wake_at(ep, ep->sim->now);
}
