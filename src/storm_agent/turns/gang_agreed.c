/*
 * gang_agreed.c - see gang_agreed.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <string.h>

#include "gang_agreed.h"
#include "src/libstorm/base/minmax.h"

/* No plan of a strobe that came so late, as the clocks say: they may be wrong,
 * and then this would begin slots too early. */
#define LATE STORM_MS
#define MARGIN_STEP 100 /* ns */
#define DEAF (2 * STORM_MS)

void gang_agreed_clock(struct gang_agreed *g, uint64_t number,
		       const struct gang_strobe *s, uint64_t received)
{
	uint32_t epoch = number >> 32;

	/* another strober, or the same one after a time in which it did not run */
	if (epoch != g->epoch)
		memset(g, 0, sizeof(*g));
	g->epoch = epoch;
	storm_clock_offset_add(&g->clock, s->sent, received);
}

static bool gang_agreed_same_map(const struct gang_strobe *a,
				 const struct gang_strobe *b)
{
	return a->version == b->version && a->digest == b->digest &&
	       a->zone == b->zone;
}

/* Was it as planned?  A repeat does not show it, nor does one after others were
 * missed.  The first one of a map is no plan's. */
static void gang_agreed_judge(struct gang_agreed *g,
			      const struct gang_strobe *s)
{
	const struct gang_strobe *l = &g->last;

	if (!gang_agreed_same_map(s, l) || !l->next_at || !s->next_at)
		g->right = false;
	else if (s->at && s->at < l->next_at)
		g->right = false;
	else if (s->at && s->at - l->next_at < s->next_at - s->at)
		g->right = s->slot == l->next;
}

/* When to act by it; 0: at once. */
static uint64_t gang_agreed_when(const struct gang_agreed *g,
				 const struct gang_strobe *s, uint64_t received,
				 uint64_t now)
{
	uint64_t ahead = s->at - s->sent, own;

	if (s->at <= s->sent || ahead > GANG_LEAD_MAX ||
	    !storm_clock_offset_own(&g->clock, s->at, now, &own))
		return 0;
	own = storm_min(own, received + ahead);
	return own > received ? own : 0;
}

/* When the next slot begins, if this strobe was not late itself; else 0. */
static uint64_t gang_agreed_plan(const struct gang_agreed *g,
				 const struct gang_strobe *s, uint64_t received,
				 uint64_t now)
{
	uint64_t own;

	if (s->next_at <= s->sent || !g->right ||
	    !storm_clock_offset_own(&g->clock, s->sent, now, &own) ||
	    received > own + LATE)
		return 0;
	storm_clock_offset_own(&g->clock, s->next_at, now, &own);
	return storm_min(own, received + (s->next_at - s->sent));
}

bool gang_agreed_hear(struct gang_agreed *g, uint64_t number,
		      const struct gang_strobe *s, uint64_t received,
		      uint64_t now)
{
	gang_agreed_judge(g, s);
	g->last = *s;
	g->number = number;
	g->wait_at = gang_agreed_when(g, s, received, now);
	g->plan_at = gang_agreed_plan(g, s, received, now);
	return g->wait_at;
}

uint64_t gang_agreed_due(const struct gang_agreed *g)
{
	if (g->wait_at)
		return g->wait_at;
	return g->plan_at ? g->plan_at : STORM_NEVER;
}

bool gang_agreed_deaf(const struct gang_agreed *g, uint64_t now)
{
	uint64_t due = gang_agreed_due(g);

	return due != STORM_NEVER && due <= now + DEAF;
}

uint64_t gang_agreed_awake(const struct gang_agreed *g)
{
	uint64_t due = gang_agreed_due(g);

	return due == STORM_NEVER ? due : due - storm_min(due, g->margin);
}

void gang_agreed_woke(struct gang_agreed *g, uint64_t late, uint64_t max)
{
	/* in balance if one of 20 is later than the margin */
	if (late > g->margin)
		g->margin = storm_min(g->margin + 19 * MARGIN_STEP, max);
	else
		g->margin -= storm_min(g->margin, MARGIN_STEP);
}

bool gang_agreed_take(struct gang_agreed *g, uint64_t now,
		      struct gang_strobe *out, uint64_t *number, bool *by_plan)
{
	if (now < gang_agreed_due(g))
		return false;
	*out = g->last;
	*number = g->number;
	*by_plan = !g->wait_at;
	g->wait_at = 0;
	if (!*by_plan)
		return true;
	g->plan_at = 0;
	out->slot = g->last.next;
	++*number;
	return true;
}

void gang_agreed_cancel(struct gang_agreed *g)
{
	g->wait_at = g->plan_at = 0;
	g->right = false;
}
