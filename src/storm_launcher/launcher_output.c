/*
 * launcher_output.c - what tasks of a launcher write: from their pipes to the head.  See
 * launcher_private.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <unistd.h>

#include "launcher_private.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/base/patience.h"

/* A task that has been silent so long may wait for an answer: its line is sent without
 * an end, as a prompt has none. */
#define SILENT (100 * STORM_MS)

/* Tasks of a node say the same at nearly the same time; the head waits for other nodes. */
#define FOLD_WAIT (20 * STORM_MS)

/* Is its output cut into lines? */
static bool launcher_cuts_lines(const struct launched *run)
{
	return !run->what.framed &&
	       (run->what.label || run->what.fold ||
		(run->start.tasks > 1 && !run->what.unbuffered));
}

/* ns until it was silent for so long; UINT64_MAX: its line is not waited for. */
static uint64_t launcher_line_left(const struct local_task *t, int k)
{
	const struct run_lines *l = &t->lines[k];
	uint64_t now = storm_now();

	if (!l->have || t->run->what.label || t->run->what.fold)
		return UINT64_MAX;
	return now >= l->since + SILENT ? 0 : l->since + SILENT - now;
}

int launcher_lines_wait(const struct local_task *t)
{
	uint64_t left = UINT64_MAX;

	for (int k = 0; k < 2; k++)
		if (t->pipe[k] >= 0 && relay_has_room(t->run->relay))
			left = storm_min(left, launcher_line_left(t, k));
	return storm_patience(left);
}

/* ------------------------------------------------------------------- folded --- */

bool launcher_fold_open(struct launched *run, uint32_t first, uint32_t n)
{
	bool good = true;

	for (int k = 0; run->what.fold && !run->what.framed && k < 2; k++) {
		run->fold[k] = run_fold_create(first, n);
		good &= run->fold[k] != NULL;
	}
	return good;
}

bool launcher_fold_has(const struct local_task *t)
{
	uint32_t rank = t->id - t->run->start.first;

	for (int k = 0; k < 2; k++)
		if (t->run->fold[k] && run_fold_has(t->run->fold[k], rank))
			return true;
	return false;
}

/* May another task here say the same? */
static bool launcher_run_writes(const struct launched *run, int k)
{
	for (const struct local_task *t = launcher.tasks; t; t = t->next)
		if (t->run == run && t->pipe[k] >= 0)
			return true;
	return false;
}

/* ns until its first line is sent. */
static uint64_t launcher_fold_left(const struct launched *run, int k)
{
	uint64_t left = run->fold[k] ? run_fold_left(run->fold[k], storm_now(),
						     FOLD_WAIT) :
				       UINT64_MAX;

	if (left && left != UINT64_MAX && !launcher_run_writes(run, k))
		return 0;
	return left;
}

void launcher_fold_serve(const struct launched *run)
{
	for (int k = 0; k < 2; k++)
		while (!launcher_fold_left(run, k) &&
		       relay_folded(run->relay, (uint8_t) (k + 1),
				    run_fold_first(run->fold[k])))
			run_fold_drop(run->fold[k]);
}

int launcher_fold_wait(const struct launched *run)
{
	uint64_t left;

	if (!run->fold[0] || !relay_has_room(run->relay))
		return -1;
	left = storm_min(launcher_fold_left(run, 0),
			 launcher_fold_left(run, 1));
	return storm_patience(left);
}

/* Its lines join those of the others here, as many as there is room for. */
static void launcher_fold_lines(struct local_task *t, int k, bool over)
{
	const struct launched *run = t->run;
	uint32_t rank = t->id - run->start.first;
	struct storm_range r = { rank, rank };
	const struct storm_idset one = { &r, 1, 1 };
	size_t at = 0, len;
	const uint8_t *line;

	for (;;) {
		if (run_fold_is_full(run->fold[k]))
			launcher_fold_serve(run);
		if (run_fold_is_full(run->fold[k]) ||
		    !run_lines_next(&t->lines[k], &at, over, &line, &len))
			break;
		if (!run_fold_add(run->fold[k], &one, line, len, storm_now())) {
			/* its task's end would be told without it */
			storm_log(STORM_LOG_ERROR, "no memory for output");
			_exit(1);
		}
		t->wrote = true;
	}
	run_lines_drop(&t->lines[k], at);
}

/* --------------------------------------------------------------------- read --- */

static void launcher_lines_send(struct local_task *t, int k, bool over)
{
	if (t->run->fold[k])
		launcher_fold_lines(t, k, over);
	else
		relay_lines(t->run->relay, &t->lines[k], (uint8_t) (k + 1),
			    over);
}

/* Line by line.  True: its end is reached, and all of it is sent. */
static bool launcher_lines_read(struct local_task *t, int k)
{
	struct run_lines *l = &t->lines[k];
	struct relay *relay = t->run->relay;
	ssize_t n = 1;
	int err = 0;

	while (n > 0 || err == EINTR) {
		size_t room;
		uint8_t *to;

		launcher_lines_send(t, k, false);
		to = run_lines_room(l, &room);
		if (!to)
			return true; /* a task that writes gets SIGPIPE */
		if (!room)
			return false;
		n = read(t->pipe[k], to, room);
		err = n < 0 ? errno : 0;
		if (n > 0) {
			l->have += (size_t) n;
			l->since = storm_now();
		}
		if (n > 0 && relay_failed(relay))
			return false;
	}
	if (err == EAGAIN && !t->ended) {
		if (!launcher_line_left(t, k))
			launcher_lines_send(t, k, true);
		return false;
	}
	launcher_lines_send(t, k, true);
	return !l->have;
}

/* Read what is in its pipe.  True: nobody needs the pipe any more.  What it wrote
 * before its end is there; others that still have the pipe are not waited for. */
static bool launcher_pipe_read(struct local_task *t, int k)
{
	struct relay *relay = t->run->relay;
	uint8_t fd = (uint8_t) (k + 1);

	if (relay_is_deaf(relay, fd))
		return true; /* a task that writes gets SIGPIPE */
	if (launcher_cuts_lines(t->run))
		return launcher_lines_read(t, k);
	errno = 0;
	return !relay_read(relay, t->pipe[k], fd,
			   t->run->what.framed ? t->id - t->run->start.first :
						 RUN_ALL_RANKS) &&
	       (errno != EAGAIN || t->ended);
}

void launcher_task_read(struct local_task *t)
{
	uint64_t before = relay_sent(t->run->relay);

	for (int k = 0; k < 2; k++) {
		if (t->pipe[k] < 0 || !launcher_pipe_read(t, k))
			continue;
		close(t->pipe[k]);
		t->pipe[k] = -1;
	}
	t->wrote |= relay_sent(t->run->relay) > before;
}
