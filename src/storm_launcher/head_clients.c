/*
 * head_clients.c - what clients ask for, and what they are told before their run
 * begins.  See head_private.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "head_private.h"
#include "launcher_base.h"
#include "run_names.h"
#include "run_paths.h"
#include "src/libstorm/base/clock.h"

void head_refuse(struct conn *c, enum run_kind kind, const char *why)
{
	conn_put_text(c, kind, why);
	c->kind = CONN_WAITS;
	conn_close_files(c);
}

/* The run in a task of which this client is, and which may wait for it; or NULL. */
static const struct user_run *head_parent_of(const struct conn *c)
{
	char name[RUN_PARENT_TEXT], *const *e = c->what.env;
	size_t len = run_parent_text(head.life, &name);

	while (e && *e && strncmp(*e, name, len))
		e++;
	return e && *e ? runs_find(&head.runs, strtoull(*e + len, NULL, 10)) :
			 NULL;
}

/* It may wait for its own parent, and that for it. */
static void head_say_parent(struct conn *c)
{
	const struct user_run *parent = head_parent_of(c);
	struct run_stocks all;
	char text[100];

	if (!parent || parent->state != RUN_RUNS)
		return;
	runs_sum(&head.runs, &all);
	snprintf(text, sizeof(text), "%llu, in which this is, has %llu of %llu",
		 (unsigned long long) parent->number,
		 (unsigned long long) run_cpus(&head.runs, parent),
		 (unsigned long long) all.cpus);
	conn_put_text(c, RUN_PARENT, text);
}

/* The first time also which one it is: names of files have it. */
static void head_put_queued(struct conn *c, uint8_t waits)
{
	const char *step = getenv("SLURM_STEP_ID");
	uint8_t body[64];
	struct storm_out o = { body, body + sizeof(body), false };

	c->queued = waits;
	storm_put8(&o, waits);
	storm_put64(&o, c->run);
	if (step && strlen(step) < 20)
		storm_put(&o, step, strlen(step));
	conn_put(c, RUN_QUEUED, body, (size_t) (o.p - body));
}

void head_say_queued(struct conn *c, uint8_t waits)
{
	if (c->queued == waits)
		return;
	if (waits)
		head_say_parent(c);
	head_put_queued(c, waits);
}

/* The nodes of a list that a client gives.  False, and why. */
static bool head_names(const char *list, struct storm_idset *out, char *why,
		       size_t size)
{
	char unknown[STORM_NAME_MAX + 1] = "";
	const char *bad;

	if (!*list)
		return true;
	if (!run_names_read(list, head.step.nodes, head.step.count, out,
			    &unknown, &bad))
		snprintf(why, size, "\"%.100s\": %s", list, bad);
	else if (*unknown)
		snprintf(why, size, "node %.100s is not in the job", unknown);
	else
		return true;
	return false;
}

/* NULL, and why not. */
static struct user_run *head_add_run(struct conn *c, const struct run_ask *ask,
				     char *why, size_t size)
{
	struct run_want want = { .nodes = ask->nodes,
				 .tasks = ask->tasks,
				 .cpus = ask->cpus,
				 .gpus = ask->gpus,
				 .node_gpus = ask->node_gpus,
				 .mem = ask->mem,
				 .cpu_mem = ask->cpu_mem,
				 .whole = ask->whole };
	struct user_run *run = NULL;

	if (head_names(ask->with, &want.with, why, size) &&
	    head_names(ask->without, &want.never, why, size))
		run = runs_add(&head.runs, &want, c, why, size);
	if (run) {
		run->kill_bad = ask->kill;
		run->keep = ask->keep;
		run->tells = c->what.tells;
		run->limit = ask->limit * STORM_SEC;
		run->wait = ask->wait;
	}
	storm_idset_clear(&want.with);
	storm_idset_clear(&want.never);
	return run;
}

static void head_say_no_task(const struct user_run *run, uint32_t task,
			     char *why, size_t size)
{
	snprintf(why, size, "task %u is named, the run has %u tasks", task,
		 run->tasks);
}

/* Tasks of which input or output alone is wanted are there, and each task has a
 * program.  False, and why. */
static bool head_tasks_named(const struct user_run *run,
			     const struct run_what *w, char *why, size_t size)
{
	uint32_t task = w->input_rank, missing;

	if (w->programs.count &&
	    run_programs_tasks(&w->programs) > run->tasks) {
		head_say_no_task(run, run_programs_tasks(&w->programs) - 1, why,
				 size);
		return false;
	}
	if (w->programs.count &&
	    !run_programs_cover(&w->programs, run->tasks, &missing)) {
		snprintf(why, size, "%.100s: task %u has no program",
			 w->argv[0], missing);
		return false;
	}
	if (w->pty && (run->tasks > 1 || w->input != RUN_INPUT_ALL)) {
		snprintf(why, size, "--pty is for one task, the run has %u",
			 run->tasks);
		return false;
	}
	if (w->input == RUN_INPUT_ONE && task >= run->tasks) {
		head_say_no_task(run, task, why, size);
		return false;
	}
	for (int k = 0; k < 3; k++) {
		if (run_stream_of(w->stream[k], &task) != RUN_ONE_TASK ||
		    task < run->tasks)
			continue;
		head_say_no_task(run, task, why, size);
		return false;
	}
	return true;
}

struct user_run *head_ask(struct conn *c, struct storm_in *body)
{
	struct run_ask ask;
	struct user_run *run;
	char why[256];

	if (!run_ask_get(body, &ask)) {
		head_refuse(
			c, RUN_REFUSED,
			"the launchers are of another version of STORM: storm run --stop ends them");
		c->bye = true;
		return NULL;
	}
	if (head.runs.closing) {
		head_refuse(c, RUN_AGAIN, "");
		return NULL;
	}
	c->ask_len = (size_t) (body->end - body->p);
	c->ask = launcher_copy(body->p, c->ask_len);
	*body = (struct storm_in) { c->ask, c->ask + c->ask_len, false };
	if (!run_what_get(body, &c->what)) {
		head_refuse(c, RUN_REFUSED, "the request cannot be read");
		c->bye = true;
		return NULL;
	}
	run = head_add_run(c, &ask, why, sizeof(why));
	if (run && !head_tasks_named(run, &c->what, why, sizeof(why))) {
		runs_leave(&head.runs, run);
		run = NULL;
	}
	if (!run) {
		head_refuse(c, RUN_REFUSED, *why ? why : "no memory");
		c->bye = true;
		return NULL;
	}
	if (!head_journal_begin(run, c, ask.journal)) {
		runs_leave(&head.runs, run);
		head_refuse(c, RUN_REFUSED, "no memory");
		c->bye = true;
		return NULL;
	}
	run->framed = c->what.framed;
	run->folds = c->what.fold && !run->framed;
	c->what.direct &= !run->framed && !run->folds && !c->what.pty;
	c->kind = CONN_CLIENT;
	c->run = run->number;
	/* without this first word a client may ask another head */
	head_put_queued(c, 0);
	return run;
}

void head_stay(struct conn *c)
{
	if (head.runs.closing) {
		head_refuse(c, RUN_AGAIN, "");
		return;
	}
	head.stays = true;
	c->kind = CONN_WAITS;
	conn_put(c, RUN_READY, NULL, 0);
}
