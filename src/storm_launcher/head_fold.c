/*
 * head_fold.c - equal lines of many tasks, of which one is shown.  Each launcher has folded
 * those of its own tasks.  See head_private.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "head_private.h"
#include "run_pieces.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/base/patience.h"

/* Ranks of a run that do the same are not so much apart, and who looks on sees no delay. */
#define FOLD_WAIT (200 * STORM_MS)

static void head_fold_show(struct user_run *run, int k)
{
	struct conn *c = run->client;
	size_t len = 0;
	char *text = run_folded_text(run_fold_first(run->fold[k]),
				     (uint8_t) (k + 1), &len);

	if (c && text && !(c->deaf & 1 << (k + 1)))
		conn_put(c, RUN_OUTPUT, text, len);
	if (!text && c) {
		/* it must not miss anything */
		storm_log(STORM_LOG_ERROR, "no memory for output");
		conn_close(c);
	}
	free(text);
	run_fold_drop(run->fold[k]);
}

static void head_fold_take(struct user_run *run, uint8_t fd,
			   const struct run_folded *line)
{
	struct run_fold **f = &run->fold[fd - 1];

	if (!*f)
		*f = run_fold_create(0, run->tasks);
	while (*f && run_fold_is_full(*f))
		head_fold_show(run, fd - 1);
	if (*f &&
	    run_fold_add(*f, &line->ranks, line->text, line->len, storm_now()))
		return;
	storm_log(STORM_LOG_ERROR, "no memory for output");
	if (run->client)
		conn_close(run->client);
}

void head_folded(struct conn *c, struct storm_in *body)
{
	struct user_run *run = runs_find(&head.runs, c->run);
	uint32_t tasks = run ? run->tasks : UINT32_MAX;
	struct run_folded line;
	uint8_t fd;

	if (!run_folded_get(body, tasks, &fd, &line)) {
		conn_close(c);
	} else {
		if (run && run->folds && run->client)
			head_fold_take(run, fd, &line);
		c->taken += line.len + 1;
	}
	storm_idset_clear(&line.ranks);
}

/* ns until its first line is to be shown, to a client that reads. */
static uint64_t head_fold_left(const struct user_run *run, int k)
{
	if (!run->fold[k] || (run->client && !head_has_reader(run->client)))
		return UINT64_MAX;
	return run_fold_left(run->fold[k], storm_now(), FOLD_WAIT);
}

void head_fold_serve(void)
{
	for (struct user_run *run = head.runs.first; run; run = run->next)
		for (int k = 0; k < 2; k++)
			while (!head_fold_left(run, k))
				head_fold_show(run, k);
}

int head_fold_wait(int wait)
{
	uint64_t left = UINT64_MAX;

	for (struct user_run *run = head.runs.first; run; run = run->next)
		for (int k = 0; k < 2; k++)
			left = storm_min(left, head_fold_left(run, k));
	return storm_sooner(wait, storm_patience(left));
}

void head_fold_end(struct user_run *run)
{
	for (int k = 0; k < 2; k++)
		while (run->fold[k] && run_fold_first(run->fold[k]))
			head_fold_show(run, k);
}
