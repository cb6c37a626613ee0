/*
 * each_place.c - see each_place.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "each_place.h"
#include "src/libstorm/base/minmax.h"

void each_place_ask(struct each_place *p)
{
	p->state = PLACE_ASKED;
	p->recalled = p->waits = false;
}

static enum each_place_event each_place_text(struct each_place *p,
					     const struct storm_in *body,
					     enum each_place_event event)
{
	p->text = body->p;
	p->len = (size_t) (body->end - body->p);
	return event;
}

static bool each_place_awaits(const struct each_place *p)
{
	return p->state == PLACE_ASKED || p->state == PLACE_QUEUED;
}

static enum each_place_event each_place_queued(struct each_place *p,
					       struct storm_in *body)
{
	if (p->state == PLACE_ASKED)
		p->state = PLACE_QUEUED;
	p->heads = 0;
	p->waits = storm_get8(body) && p->state == PLACE_QUEUED;
	return PLACE_NOTHING;
}

static enum each_place_event each_place_over(struct each_place *p,
					     struct storm_in *body)
{
	enum each_place_state was = p->state;
	uint8_t why;

	p->status = storm_get8(body);
	why = storm_get8(body);
	p->state = PLACE_IDLE;
	if (was != PLACE_BEGUN)
		return p->recalled ? PLACE_BACK : PLACE_STOPPED;
	if (why == RUN_END_OWN)
		return PLACE_ENDS;
	return why == RUN_END_NODE_LOST ? PLACE_LOST : PLACE_STOPPED;
}

/* Nobody has its run. */
static enum each_place_event each_place_again(struct each_place *p)
{
	p->state = PLACE_IDLE;
	return p->recalled ? PLACE_BACK : PLACE_ASKS_AGAIN;
}

enum each_place_event each_place_hear(struct each_place *p, enum run_kind kind,
				      struct storm_in *body)
{
	switch (kind) {
	case RUN_QUEUED:
		return each_place_queued(p, body);
	case RUN_PARENT:
		return each_place_text(p, body, PLACE_WAITS_FOR);
	case RUN_BEGAN:
		if (!each_place_awaits(p))
			return PLACE_NOTHING;
		p->state = PLACE_BEGUN;
		p->waits = false;
		return each_place_text(p, body, PLACE_BEGINS);
	case RUN_SAY:
		return each_place_text(p, body, PLACE_SAYS);
	case RUN_OUTPUT:
		p->fd = storm_get8(body);
		if (p->state != PLACE_BEGUN || body->bad ||
		    (p->fd != 1 && p->fd != 2))
			return PLACE_NOTHING;
		return each_place_text(p, body, PLACE_WRITES);
	case RUN_REFUSED:
		p->state = PLACE_IDLE;
		return each_place_text(p, body, PLACE_REFUSED);
	case RUN_AGAIN:
		if (!each_place_awaits(p))
			return PLACE_NOTHING;
		if (p->recalled)
			return each_place_again(p);
		p->state = PLACE_AWAY;
		p->waits = false;
		return PLACE_IS_AWAY;
	case RUN_END:
		return each_place_over(p, body);
	default:
		return PLACE_NOTHING;
	}
}

enum each_place_event each_place_closed(struct each_place *p)
{
	if (p->state == PLACE_AWAY ||
	    (p->state == PLACE_ASKED && p->heads++ < EACH_HEADS))
		return each_place_again(p);
	if (p->state == PLACE_IDLE)
		return PLACE_NOTHING;
	p->state = PLACE_IDLE;
	return PLACE_STOPPED;
}

bool each_place_is_free(enum each_place_event event)
{
	return event >= PLACE_ENDS;
}

uint32_t each_places(uint32_t begun, bool at_times, uint32_t most)
{
	uint32_t ahead = at_times ? 1 : EACH_RUNS_AHEAD;

	return begun + storm_min(ahead, most - storm_min(most, begun));
}
