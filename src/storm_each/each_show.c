/*
 * each_show.c - what --bar, --eta and --progress count, for each_screen.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "each_command.h"
#include "each_private.h"
#include "each_screen.h"
#include "src/libstorm/base/clock.h"

/* The task that began first, of those that run. */
static const struct each_job *each_slowest(uint32_t *rank, uint64_t *running)
{
	const struct each_job *slowest = NULL;

	*running = 0;
	for (uint32_t k = 0; k < each.tasks.pullers; k++) {
		const struct each_puller *p = &each.tasks.puller[k];

		*running += p->begun;
		for (const struct each_task *t = p->has.first; t; t = t->next) {
			const struct each_job *j = t->what;

			if (!t->begun ||
			    (slowest && slowest->began <= j->began))
				continue;
			slowest = j;
			*rank = k;
		}
	}
	return slowest;
}

/* Without the total before, that is known when all were made. */
static uint64_t each_total(void)
{
	bool bad;

	return each.total		    ? each.total :
	       each_jobs_over(&bad) && !bad ? each.made :
					      0;
}

static void each_draw(void)
{
	uint64_t now = storm_now();
	struct each_counts c = {
		.total = each_total(),
		.done = each.halt.failed + each.halt.succeeded,
		.failed = each.halt.failed,
		.time_us = (now - each.since) / 1000,
	};
	uint32_t rank = 0;
	const struct each_job *j = each_slowest(&rank, &c.running);
	char *text = j ? each_with_slot(j->text, j->len, j->slot) : NULL;

	if (text) {
		c.slowest = j->task.seq;
		c.slowest_us = (now - j->began) / 1000;
		c.node = each.node[rank];
		c.command = text;
	}
	each_screen_draw(&c);
	free(text);
}

int each_show(void)
{
	/* before, it is said what it waits for */
	if (!each.since)
		return -1;
	if (!each_screen_timeout())
		each_draw();
	return each_screen_timeout();
}
