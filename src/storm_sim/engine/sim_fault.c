/*
 * sim_fault.c - faults of a simulation: nodes and owners that crash, restart or
 * pause, the socket of a paused node, slow and failing disks, and forged
 * datagrams.  (sim_net.c cuts the network.)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "sim_private.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/wire/wire.h"

/* ------------------------------------------------------------- nodes, owner --- */

static void sim_endpoint_down(struct endpoint *ep)
{
	ep->down = true;
	ep->life++;
	ep->paused_until = ep->held = 0;
	ep->disk_until = ep->disk_bytes = 0;
	ep->session = 0;
}

void storm_sim_crash(struct storm_sim *sim, uint32_t node)
{
	struct endpoint *ep = storm_sim_endpoint(sim, node);

	if (ep->down)
		return;
	/* sometimes the whole host dies, and the note is lost */
	if (ep->nm)
		ep->note_len =
			ep->life % 4 == 3 ?
				0 :
				storm_nm_note(ep->nm, ep->session, ep->note);
	sim_endpoint_down(ep);
	storm_owner_destroy(ep->owner);
	ep->owner = NULL;
	storm_nm_destroy(ep->nm);
	ep->nm = NULL;
}

void storm_sim_restart(struct storm_sim *sim, uint32_t node)
{
	struct endpoint *ep = storm_sim_endpoint(sim, node);

	if (!ep->down)
		return;
	ep->down = false;
	storm_sim_node_start(ep);
	if (!ep->note_len)
		return;
	storm_nm_return(ep->nm, ep->note, ep->note_len, sim->now);
	storm_sim_wake(ep);
}

void storm_sim_foreign(struct storm_sim *sim, uint32_t node)
{
	sim->ep[node].foreign = true;
}

void storm_sim_older(struct storm_sim *sim, uint32_t node, uint8_t type)
{
	sim->ep[node].older = type;
}

void storm_sim_pause(struct storm_sim *sim, uint32_t node, uint64_t ns)
{
	storm_sim_endpoint(sim, node)->paused_until = sim->now + ns;
}

/* The socket of a paused node holds socket_buffer bytes; the rest is lost. */
bool storm_sim_hold(struct endpoint *ep, struct event *e)
{
	uint64_t bytes = 0;

	if (e->kind != EV_DATAGRAM || e->held)
		return true;
	for (uint64_t left = e->mask; left; left &= left - 1)
		bytes += e->frame->seg;
	if (ep->held + bytes > ep->sim->conf.set.socket_buffer)
		return false;
	ep->held += bytes;
	e->held = bytes;
	return true;
}

void storm_sim_disk(struct storm_sim *sim, uint32_t node, int sys)
{
	sim->ep[node].disk_error = sys;
}

void storm_sim_hang(struct storm_sim *sim, uint32_t node)
{
	sim->ep[node].disk_hung = true;
}

void storm_sim_queue(struct storm_sim *sim, uint32_t node, uint64_t until)
{
	sim->ep[node].disk_turn = until;
}

void storm_sim_slow(struct storm_sim *sim, uint32_t node, uint64_t ns)
{
	sim->ep[node].disk_slow = ns;
}

/* ------------------------------------------------------------------ forgery --- */

/* A copy of a random datagram in flight. */
static struct frame *sim_forge_overheard(struct storm_sim *sim)
{
	for (int i = 0; i < 16 && sim->count; i++) {
		size_t at = storm_sim_chance(sim) % sim->count;
		const struct event *e = &sim->event[sim->heap[at].event];
		uint64_t which;
		size_t off, len;

		/* a forged one could become valid again */
		if (e->kind != EV_DATAGRAM || e->from == STORM_SIM_NOBODY)
			continue;
		which = storm_sim_chance(sim) % e->frame->count;
		off = which * e->frame->seg;
		len = e->frame->len - off < e->frame->seg ?
			      e->frame->len - off :
			      e->frame->seg;
		return storm_sim_frame_new(e->frame->bytes + off, len, len);
	}
	return NULL;
}

static struct frame *sim_forge_noise(struct storm_sim *sim)
{
	uint8_t buf[256];
	size_t len = storm_sim_chance(sim) % sizeof(buf) + 1;

	for (size_t i = 0; i < len; i++)
		buf[i] = (uint8_t) storm_sim_chance(sim);
	if (storm_sim_chance(sim) % 2)
		buf[0] = STORM_WIRE_VERSION;
	return storm_sim_frame_new(buf, len, len);
}

static void sim_forge_stream(struct storm_sim *sim, struct endpoint *to,
			     const struct frame *f)
{
	struct event e = { .at = sim->now,
			   .kind = EV_STREAM,
			   .to = to->index,
			   .life = to->life,
			   .len = f->len,
			   .from = STORM_SIM_NOBODY };

	e.buf = malloc(f->len);
	if (!e.buf)
		abort();
	memcpy(e.buf, f->bytes, f->len);
	e.ticket = storm_sim_stream_new(to, 0, 0);
	sim->stream[e.ticket - 1].forged = true;
	storm_sim_push(sim, e);
}

void storm_sim_forge(struct storm_sim *sim, uint32_t node)
{
	struct endpoint *to = storm_sim_endpoint(sim, node);
	bool copy = storm_sim_chance(sim) % 4;
	struct frame *f = copy ? sim_forge_overheard(sim) : NULL;

	if (f) {
		size_t bit = storm_sim_chance(sim) % (8 * f->len);

		f->bytes[bit / 8] ^= (uint8_t) (1u << bit % 8);
	} else {
		f = sim_forge_noise(sim);
	}
	f->from = STORM_SIM_NOBODY;
	if (!copy && to->nm && !to->down && storm_sim_chance(sim) % 2) {
		sim_forge_stream(sim, to, f);
		storm_sim_frame_put(f);
		return;
	}
	storm_sim_push(sim, (struct event) { .at = sim->now,
					     .kind = EV_DATAGRAM,
					     .to = to->index,
					     .life = to->life,
					     .frame = f,
					     .mask = 1,
					     .from = STORM_SIM_NOBODY });
}

uint64_t storm_sim_answers(const struct storm_sim *sim)
{
	return sim->answers;
}
