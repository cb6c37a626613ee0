/*
 * launcher_input.c - input of tasks here, which the head sends: from the relay into their
 * pipes.  See launcher_private.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "launcher_private.h"
#include "run_feed.h"
#include "runs.h"
#include "src/libstorm/base/minmax.h"

/* What the head is told of is so much more at least: it need not know each byte. */
#define TELL (RUN_INPUT_WINDOW / 4)

struct task_input {
	struct run_feed feed;
	uint32_t rank;	 /* as the head names it */
	uint64_t lowest; /* of the tasks' positions */
	uint64_t told;
};

static uint32_t launcher_inputs; /* runs that have some */

static struct task_input *launcher_input_of(const struct launched *run,
					    uint32_t rank)
{
	uint32_t k = run->inputs ? rank - run->input[0].rank : 0;

	return k < run->inputs ? &run->input[k] : NULL;
}

/* A RUN_INPUT.  Tasks that were not started do not read it. */
static void launcher_input_hear(void *arg, const struct run_piece *p)
{
	struct task_input *in = launcher_input_of(arg, p->rank);

	if (in && !run_feed_add(&in->feed, p->buf, p->len))
		storm_log(STORM_LOG_ERROR, "input beyond the window is lost");
}

bool launcher_input_open(struct launched *run, uint32_t first, uint32_t n)
{
	enum run_input kind = run->what.input;
	uint32_t one = run->what.input_rank;
	uint32_t count = kind == RUN_INPUT_EACH ? n : 1;

	if (kind == RUN_INPUT_NONE || run_lends(&run->start, &run->what) ||
	    (kind == RUN_INPUT_ONE && (one < first || one - first >= n)))
		return true;
	run->input = calloc(count, sizeof(*run->input));
	if (!run->input)
		return false;
	run->inputs = count;
	launcher_inputs++;
	for (uint32_t k = 0; k < count; k++)
		run->input[k].rank = kind == RUN_INPUT_EACH ? first + k :
				     kind == RUN_INPUT_ONE  ? one :
							      RUN_ALL_RANKS;
	relay_await_input(run->relay, launcher_input_hear, run);
	return true;
}

void launcher_input_close(struct launched *run)
{
	launcher_inputs -= run->inputs > 0;
	for (uint32_t k = 0; k < run->inputs; k++)
		run_feed_fini(&run->input[k].feed);
	free(run->input);
	run->input = NULL;
	run->inputs = 0;
}

bool launcher_input_pipe(struct local_task *t, uint32_t rank, int *theirs)
{
	struct launched *run = t->run;
	int p[2];

	t->from = launcher_input_of(
		run, run->what.input == RUN_INPUT_ALL ? RUN_ALL_RANKS : rank);
	if (!t->from)
		return true;
	if (run->what.pty)
		return launcher_pty_open(t, theirs);
	if (pipe2(p, O_CLOEXEC))
		return false;
	fcntl(p[1], F_SETFL, O_NONBLOCK);
	t->input = p[1];
	*theirs = p[0];
	return true;
}

static void launcher_input_end(struct local_task *t)
{
	close(t->input);
	t->input = -1;
}

bool launcher_input_waits(const struct local_task *t)
{
	return t->input >= 0 && t->fed < t->from->feed.come;
}

/* Into the pipe, as much as it takes. */
static void launcher_input_write(struct local_task *t)
{
	const uint8_t *buf;
	size_t len;

	while (t->input >= 0 &&
	       (buf = run_feed_from(&t->from->feed, t->fed, &len), len)) {
		ssize_t n = write(t->input, buf, len);

		if (n > 0)
			t->fed += (uint64_t) n;
		else if (n < 0 && errno == EAGAIN)
			break;
		else if (!n || errno != EINTR)
			launcher_input_end(t); /* it has closed it */
	}
	if (t->input >= 0 && t->from->feed.over && !launcher_input_waits(t))
		launcher_input_end(t);
}

/* A task that would take what is missing for the end does not go on. */
static void launcher_input_lose(struct local_task *t)
{
	if (!relay_failed(t->run->relay) ||
	    (t->from->feed.over && !launcher_input_waits(t)))
		return;
	t->lost = relay_failed(t->run->relay);
	kill(-t->pid, SIGKILL);
	kill(t->pid, SIGKILL);
	launcher_input_end(t);
}

static void launcher_input_serve_task(struct local_task *t)
{
	if (t->input >= 0 && t->ended)
		launcher_input_end(t);
	if (t->input >= 0)
		launcher_input_lose(t);
	launcher_input_write(t);
	if (t->input >= 0)
		t->from->lowest = storm_min(t->from->lowest, t->fed);
}

static void launcher_input_tell(struct launched *run, struct task_input *in)
{
	run_feed_take(&in->feed, in->lowest);
	if (in->feed.taken >= in->told + TELL &&
	    relay_room(run->relay, in->rank, in->feed.taken))
		in->told = in->feed.taken;
}

void launcher_input_serve(void)
{
	if (!launcher_inputs)
		return;
	for (struct launched *run = launcher.runs; run; run = run->next)
		for (uint32_t k = 0; k < run->inputs; k++)
			run->input[k].lowest = run->input[k].feed.come;
	for (struct local_task *t = launcher.tasks; t; t = t->next)
		if (t->from)
			launcher_input_serve_task(t);
	for (struct launched *run = launcher.runs; run; run = run->next)
		for (uint32_t k = 0; k < run->inputs; k++)
			launcher_input_tell(run, &run->input[k]);
}
