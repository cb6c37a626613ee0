/*
 * each_tasks.c - see each_tasks.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "each_tasks.h"
#include "pull_wire.h"
#include "src/libstorm/base/minmax.h"

/* A task's weight in the mean of a puller's times: the last 8 count most. */
#define EACH_MEAN 8

/* -------------------------------------------------------------------- lists --- */

static void each_list_add(struct each_list *l, struct each_task *task)
{
	task->next = NULL;
	task->prev = l->last;
	if (l->last)
		l->last->next = task;
	else
		l->first = task;
	l->last = task;
}

static void each_list_take(struct each_list *l, struct each_task *task)
{
	if (task->prev)
		task->prev->next = task->next;
	else
		l->first = task->next;
	if (task->next)
		task->next->prev = task->prev;
	else
		l->last = task->prev;
	task->next = task->prev = NULL;
}

/* They begin and end nearly in the order in which they came: it is near the front. */
static struct each_task *each_puller_find(struct each_puller *p, uint64_t seq)
{
	struct each_task *task = p->has.first;

	while (task && task->seq != seq)
		task = task->next;
	return task;
}

static void each_puller_less(struct each_puller *p, struct each_task *task)
{
	each_list_take(&p->has, task);
	p->count--;
	p->feared -= task->deaths > 0;
	p->begun -= task->begun;
	task->begun = false;
}

/* ------------------------------------------------------------------ pullers --- */

void each_tasks_fini(struct each_tasks *t)
{
	free(t->puller);
	t->puller = NULL;
}

bool each_tasks_join(struct each_tasks *t, uint32_t rank, uint32_t slots)
{
	if (rank >= t->pullers) {
		struct each_puller *more =
			reallocarray(t->puller, rank + 1, sizeof(*more));

		if (!more)
			return false;
		memset(more + t->pullers, 0,
		       (rank + 1 - t->pullers) * sizeof(*more));
		t->puller = more;
		t->pullers = rank + 1;
	}
	if (t->puller[rank].came)
		return false;
	t->puller[rank].came = t->puller[rank].there = true;
	t->puller[rank].slots = slots;
	return true;
}

void each_tasks_rejoin(struct each_tasks *t, uint32_t rank)
{
	if (rank < t->pullers && t->puller[rank].came)
		t->puller[rank].there = true;
}

/* How many tasks it should have. */
static uint64_t each_puller_room(const struct each_puller *p, bool bare)
{
	uint64_t ahead = 0;

	if (!bare && p->mean_us)
		ahead = (uint64_t) p->slots * EACH_AHEAD_US / p->mean_us;
	return p->slots + storm_min(ahead, (uint64_t) EACH_AHEAD_MAX);
}

/* Has it less than it should?  What it has ahead goes to the half before. */
static bool each_puller_wants(struct each_puller *p, bool bare)
{
	uint64_t room = each_puller_room(p, bare);

	if (p->count >= room)
		p->fills = false;
	else if (p->count < p->slots || p->count < (p->slots + room) / 2)
		p->fills = true;
	return p->fills;
}

/* May it not have a task with which one was lost before? */
static bool each_tasks_fears(const struct each_tasks *t,
			     const struct each_puller *p)
{
	for (uint32_t k = 0; t->shared && k < t->pullers; k++)
		if (t->puller[k].feared)
			return true;
	return p->feared > 0;
}

/* For a task with which one was lost before, if feared. */
static struct each_puller *each_tasks_pick(struct each_tasks *t, bool bare,
					   bool feared)
{
	struct each_puller *best = NULL;

	for (uint32_t k = 0; k < t->pullers; k++) {
		struct each_puller *p = &t->puller[k];

		if (!p->there || p->back || !p->slots ||
		    (feared && each_tasks_fears(t, p)) ||
		    !each_puller_wants(p, bare))
			continue;
		if (!best || (uint64_t) p->count * best->slots <
				     (uint64_t) best->count * p->slots)
			best = p;
	}
	return best;
}

struct each_puller *each_tasks_wants(struct each_tasks *t, bool bare)
{
	return each_tasks_pick(t, bare, false);
}

struct each_task *each_tasks_again(struct each_tasks *t, bool bare,
				   struct each_puller **p)
{
	struct each_task *task = t->again.first;

	while (task && !(*p = each_tasks_pick(t, bare, task->deaths > 0)))
		task = task->next;
	if (task)
		each_list_take(&t->again, task);
	return task;
}

void each_tasks_give(struct each_puller *p, struct each_task *task)
{
	task->begun = false;
	each_list_add(&p->has, task);
	p->count++;
	p->feared += task->deaths > 0;
}

/* ---------------------------------------------------------------- their ends --- */

struct each_task *each_tasks_begun(struct each_puller *p, uint64_t seq)
{
	struct each_task *task = each_puller_find(p, seq);

	if (!task || task->begun)
		return NULL;
	task->begun = true;
	p->begun++;
	/* what it cannot give back any more */
	p->back = storm_min(p->back, p->count - p->begun);
	return task;
}

struct each_task *each_tasks_ended(struct each_puller *p, uint64_t seq,
				   uint64_t time_us)
{
	struct each_task *task = each_puller_find(p, seq);

	if (!task || !task->begun)
		return NULL;
	each_puller_less(p, task);
	task->tries++;
	time_us = storm_max(time_us, (uint64_t) 1);
	p->mean_us = p->mean_us ? (p->mean_us * (EACH_MEAN - 1) + time_us) /
					  EACH_MEAN :
				  time_us;
	p->mean_us = storm_max(p->mean_us, (uint64_t) 1);
	return task;
}

struct each_task *each_tasks_back(struct each_tasks *t, struct each_puller *p,
				  uint64_t seq)
{
	struct each_task *task = each_puller_find(p, seq);

	if (!task || task->begun)
		return NULL;
	p->back -= p->back > 0;
	each_puller_less(p, task);
	each_list_add(&t->again, task);
	return task;
}

bool each_tasks_retry(struct each_tasks *t, struct each_task *task)
{
	if (task->tries >= t->retries)
		return false;
	each_list_add(&t->again, task);
	return true;
}

/* Tasks that it may have begun and not told of, with its words of PULL_HOLD_US. */
static uint32_t each_puller_suspects(const struct each_puller *p)
{
	uint64_t held = (uint64_t) p->slots * PULL_HOLD_US;
	uint64_t most = p->slots + (p->mean_us ? held / p->mean_us : 0);

	return (uint32_t) (most - storm_min(most, (uint64_t) p->begun));
}

struct each_task *each_tasks_lose(struct each_puller *p, enum each_fate *fate)
{
	struct each_task *task = p->has.first;

	/* its last words may be lost: what had a slot may have begun */
	if (p->there)
		p->suspects = each_puller_suspects(p);
	p->there = false;
	p->back = 0;
	if (!task)
		return NULL;
	*fate = task->begun ? EACH_WAS_BEGUN :
		p->suspects ? EACH_MAY_HAVE_BEGUN :
			      EACH_NOT_BEGUN;
	p->suspects -= *fate == EACH_MAY_HAVE_BEGUN;
	each_puller_less(p, task);
	task->deaths += *fate != EACH_NOT_BEGUN;
	return task;
}

bool each_tasks_survives(struct each_tasks *t, struct each_task *task)
{
	if (task->deaths >= t->crash_limit)
		return false;
	each_list_add(&t->again, task);
	return true;
}

/* Tasks that wait at it, and that nobody has asked for. */
static uint32_t each_puller_waits(const struct each_puller *p)
{
	return p->back ? 0 : p->count - p->begun;
}

struct each_puller *each_tasks_recall(struct each_tasks *t, bool all,
				      uint32_t *n)
{
	struct each_puller *most = NULL;
	uint32_t idle = 0;

	for (uint32_t k = 0; k < t->pullers; k++) {
		struct each_puller *p = &t->puller[k];

		if (!p->there)
			continue;
		idle += p->count < p->slots && !p->back ? p->slots - p->count :
							  0;
		if (each_puller_waits(p) &&
		    (!most || each_puller_waits(p) > each_puller_waits(most)))
			most = p;
	}
	if (!most || (!all && (!idle || most->count <= most->slots)))
		return NULL;
	*n = all ? each_puller_waits(most) :
		   storm_min(idle, most->count - most->slots);
	*n = storm_min(*n, each_puller_waits(most));
	most->back = *n;
	return most;
}

uint64_t each_tasks_under_way(const struct each_tasks *t)
{
	uint64_t sum = 0;

	for (uint32_t k = 0; k < t->pullers; k++)
		sum += t->puller[k].count;
	return sum;
}

uint32_t each_tasks_slots(const struct each_tasks *t)
{
	uint32_t sum = 0;

	for (uint32_t k = 0; k < t->pullers; k++)
		sum += t->puller[k].there ? t->puller[k].slots : 0;
	return sum;
}
