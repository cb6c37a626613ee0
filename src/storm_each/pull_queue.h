/*
 * pull_queue.h - tasks that wait at a puller, in the order in which they came.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PULL_QUEUE_H
#define STORM_PULL_QUEUE_H

#include "src/libstorm/wire/wire.h"

struct pull_task {
	struct pull_task *next, *prev;
	uint64_t seq;
	char *dir, *text; /* strings; a number is in the text at each slot */
};

/* Zero it. */
struct pull_queue {
	struct pull_task *first, *last;
	uint32_t count;
};

/* The body of a PULL_TASK.  False: it is malformed, or there is no memory. */
bool pull_queue_add(struct pull_queue *q, struct storm_in *in);
/* The oldest, or the newest, for pull_task_free(); NULL: there is none. */
struct pull_task *pull_queue_first(struct pull_queue *q);
struct pull_task *pull_queue_last(struct pull_queue *q);
/* The text with the slot's number in it, which the task keeps.  NULL: no memory. */
const char *pull_task_text(struct pull_task *t, uint32_t slot);
void pull_task_free(struct pull_task *t);

#endif
