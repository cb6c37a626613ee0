/*
 * head_runs.c - what becomes of runs (head_private.h): how the head acts on what runs.c
 * decides, and on what libstorm's thread says.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "head_private.h"
#include "run_names.h"
#include "run_pieces.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"

/* ------------------------------------------------------------------- runs --- */

/* No run begins any more: those that wait go to the next head. */
static void head_send_away(void)
{
	struct user_run *run = head.runs.first, *next;

	for (; run; run = next) {
		struct conn *c = run->client;

		next = run->next;
		if (run->state != RUN_WAITS)
			continue;
		if (c) {
			c->run = 0;
			head_refuse(c, RUN_AGAIN, "");
		}
		head_journal_drop(run->number);
		runs_abort(run);
		run->client = NULL;
	}
}

static void head_say_began(const struct user_run *run, struct conn *c)
{
	char *nodes;

	if (!c->what.tells)
		return;
	nodes = run_names_text(head.step.nodes, &run->nodes);
	conn_put_text(c, RUN_BEGAN, nodes ? nodes : "");
	free(nodes);
}

void head_begin_runs(void)
{
	struct user_run *run;

	while ((run = runs_begin(&head.runs))) {
		struct conn *c = run->client;

		run->began = storm_now();
		head_journal_began(run);
		head_say_queued(c, 0);
		head_say_began(run, c);
		if (head_cast_start(run, c)) {
			head_input_open(run, c);
			continue;
		}
		head_say(c, "error: the launchers cannot be reached");
		runs_abort(run);
	}
	if (head.runs.closing)
		head_send_away();
}

/* Its client hears of each task that has ended, in any order. */
static void head_tell_gone(struct user_run *run)
{
	struct conn *c = run->client;
	uint32_t rank, code;

	while (run_next_gone(run, &rank, &code)) {
		uint8_t gone[RUN_GONE_LEN];

		run_gone_put(gone, rank, code);
		if (c)
			conn_put(c, RUN_GONE, gone + RUN_FRAME_HEADER,
				 sizeof(gone) - RUN_FRAME_HEADER);
	}
}

void head_end_runs(void)
{
	struct user_run *run;
	bool over = false;

	for (run = head.runs.first; run; run = run->next)
		head_tell_gone(run);
	while ((run = runs_over(&head.runs))) {
		struct conn *c = run->client;
		const uint8_t end[] = { (uint8_t) run_status(run),
					(uint8_t) run_why_over(run) };

		if (!head_journal_end(run))
			continue;
		head_fold_end(run);
		/* what a puller that was killed has begun is to end, too */
		if ((run->kill_bad || run->keep) && run->rank)
			head_cast_sweep(run);
		if (c && conn_is_open(c)) {
			run_tell(run, &c->what, head_node_name, head_say_line,
				 c);
			conn_put(c, RUN_END, end, sizeof(end));
			c->run = 0;
			c->bye = true;
		}
		head_pmi_drop(run);
		runs_drop(&head.runs, run);
		over = true;
	}
	if (over)
		head_forget();
}

void head_kill_runs(void)
{
	struct user_run *run;

	while ((run = runs_to_kill(&head.runs))) {
		run->kill = false;
		head_cast_kill(run, SIGKILL);
	}
}

/* ------------------------------------------------------------------ notes --- */

static void head_lose(const struct storm_fault *f)
{
	storm_log(STORM_LOG_ERROR, "node %s is lost: %s",
		  head_node_name(NULL, f->node), storm_strerror((int) f->why));
	runs_lose(&head.runs, f->node);
	/* those whose tasks there had ended do not mind */
	for (struct user_run *run = head.runs.first; run; run = run->next)
		if (storm_idset_has(&run->lost, f->node))
			head_say(
				run->client,
				"error: the launcher on node %s is lost: %s; %s",
				head_node_name(NULL, f->node),
				storm_strerror((int) f->why),
				run->keep ?
					"its tasks end" :
					"its tasks end, and all others of this run");
}

void head_hear_notes(void)
{
	struct note *n, *next;
	uint64_t count;

	if (read(head.event, &count, sizeof(count)) < 0 && errno != EAGAIN)
		return;
	pthread_mutex_lock(&head.lock);
	n = head.notes;
	head.notes = NULL;
	head.notes_tail = &head.notes;
	pthread_mutex_unlock(&head.lock);
	head.input_news = true;
	for (; n; n = next) {
		next = n->next;
		if (n->fault) {
			head_lose(&n->why);
		} else if (!runs_report(&head.runs, n->code, &n->ids)) {
			/* its run would never end: a head that ends ends all */
			storm_log(STORM_LOG_ERROR, "no memory for a report");
			_exit(1);
		}
		storm_idset_clear(&n->ids);
		free(n);
	}
}

void head_step_over(void)
{
	for (struct user_run *run = head.runs.first; run; run = run->next) {
		if (run->state != RUN_RUNS)
			continue;
		head_say(
			run->client,
			"error: the launchers' step has ended with its srun, and all tasks with it");
		runs_stop(run);
	}
	runs_close(&head.runs, false);
}

/* ---------------------------------------------------------------- signals --- */

void head_signal(const struct conn *c, uint8_t sig)
{
	struct user_run *run = runs_find(&head.runs, c->run);

	if (!run || !sig || sig >= NSIG)
		return;
	if (run->state == RUN_RUNS)
		head_cast_kill(run, sig);
	else if (run->state == RUN_WAITS && sig != SIGUSR1 && sig != SIGUSR2)
		runs_cancel(run, sig);
}

void head_recall(const struct conn *c)
{
	struct user_run *run = runs_find(&head.runs, c->run);

	if (run && run->state == RUN_WAITS)
		runs_cancel(run, SIGTERM);
}
