/*
 * pull_queue.c - see pull_queue.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "each_command.h"
#include "pull_queue.h"

/* A task with its strings behind it, in one piece.  A byte 0 stands for the slot's
 * number; its text is where that is known. */
struct pull_whole {
	struct pull_task task;
	char *whole; /* or NULL */
	size_t len;
	char bytes[];
};

bool pull_queue_add(struct pull_queue *q, struct storm_in *in)
{
	uint64_t seq = storm_get64(in);
	uint32_t dir = storm_get32(in);
	size_t len = (size_t) (in->end - in->p);
	struct pull_whole *w;

	if (in->bad || dir > len)
		return false;
	w = malloc(sizeof(*w) + len + 2);
	if (!w)
		return false;
	w->task = (struct pull_task) {
		.prev = q->last,
		.seq = seq,
		.dir = w->bytes,
		.text = w->bytes + dir + 1,
	};
	w->whole = NULL;
	w->len = len - dir;
	memcpy(w->task.dir, in->p, dir);
	w->task.dir[dir] = '\0';
	memcpy(w->task.text, in->p + dir, w->len);
	w->task.text[w->len] = '\0';
	if (q->last)
		q->last->next = &w->task;
	else
		q->first = &w->task;
	q->last = &w->task;
	q->count++;
	return true;
}

struct pull_task *pull_queue_first(struct pull_queue *q)
{
	struct pull_task *t = q->first;

	if (!t)
		return NULL;
	q->count--;
	q->first = t->next;
	if (q->first)
		q->first->prev = NULL;
	else
		q->last = NULL;
	return t;
}

struct pull_task *pull_queue_last(struct pull_queue *q)
{
	struct pull_task *t = q->last;

	if (!t)
		return NULL;
	q->count--;
	q->last = t->prev;
	if (q->last)
		q->last->next = NULL;
	else
		q->first = NULL;
	return t;
}

const char *pull_task_text(struct pull_task *t, uint32_t slot)
{
	struct pull_whole *w = (struct pull_whole *) t;

	if (!memchr(t->text, 0, w->len))
		return t->text;
	free(w->whole);
	w->whole = each_with_slot(t->text, w->len, slot);
	return w->whole;
}

void pull_task_free(struct pull_task *t)
{
	struct pull_whole *w = (struct pull_whole *) t;

	if (!t)
		return;
	free(w->whole);
	free(w);
}
