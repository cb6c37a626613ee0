/*
 * run_state.c - the base of a run: the first violation, random numbers, and the
 * heap of timed actions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "run_private.h"
#include "src/libstorm/base/chance.h"

void run_violated(struct run *r, const char *fmt, ...)
{
	va_list ap;

	if (r->bad)
		return;
	r->bad = true;
	va_start(ap, fmt);
	vsnprintf(r->why, r->room, fmt, ap);
	va_end(ap);
}

uint64_t run_draw(struct run *r)
{
	return storm_chance(&r->random);
}

static void *action_grow(void *p, uint32_t *room, uint32_t count, size_t size)
{
	if (count < *room)
		return p;
	*room = *room ? 2 * *room : 64;
	p = realloc(p, *room * size);
	if (!p)
		abort();
	return p;
}

static bool action_earlier(const struct action *a, const struct action *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

void action_add(struct run *r, struct action a)
{
	uint32_t i = r->actions++;

	r->action = action_grow(r->action, &r->action_room, i, sizeof(a));
	a.order = r->order++;
	for (; i && action_earlier(&a, &r->action[(i - 1) / 2]);
	     i = (i - 1) / 2)
		r->action[i] = r->action[(i - 1) / 2];
	r->action[i] = a;
}

struct action action_take(struct run *r)
{
	struct action top = r->action[0], last = r->action[--r->actions];
	uint32_t i = 0, c;

	while ((c = 2 * i + 1) < r->actions) {
		if (c + 1 < r->actions &&
		    action_earlier(&r->action[c + 1], &r->action[c]))
			c++;
		if (!action_earlier(&r->action[c], &last))
			break;
		r->action[i] = r->action[c];
		i = c;
	}
	if (r->actions)
		r->action[i] = last;
	return top;
}

uint64_t action_next(const struct run *r)
{
	return r->actions ? r->action[0].at : STORM_NEVER;
}
