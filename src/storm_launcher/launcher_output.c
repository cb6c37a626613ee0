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

/* A task that has been silent so long may wait for an answer: its line is sent without
 * an end, as a prompt has none. */
#define SILENT (100 * STORM_MS)

/* Is its output cut into lines? */
static bool launcher_cuts_lines(const struct launched *run)
{
	return !run->what.framed &&
	       (run->what.label ||
		(run->start.tasks > 1 && !run->what.unbuffered));
}

/* ns until it was silent for so long; UINT64_MAX: its line is not waited for. */
static uint64_t launcher_line_left(const struct run_lines *l)
{
	uint64_t now = storm_now();

	if (!l->have || *l->label)
		return UINT64_MAX;
	return now >= l->since + SILENT ? 0 : l->since + SILENT - now;
}

int launcher_lines_wait(const struct local_task *t)
{
	uint64_t left = UINT64_MAX;

	for (int k = 0; k < 2; k++)
		if (t->pipe[k] >= 0 && relay_has_room(t->run->relay))
			left = storm_min(left,
					 launcher_line_left(&t->lines[k]));
	return left == UINT64_MAX ? -1 : (int) (left / STORM_MS) + (left > 0);
}

/* Line by line.  True: its end is reached, and all of it is sent. */
static bool launcher_lines_read(struct local_task *t, int k)
{
	struct run_lines *l = &t->lines[k];
	struct relay *relay = t->run->relay;
	uint8_t fd = (uint8_t) (k + 1);
	ssize_t n = 1;
	int err = 0;

	while (n > 0 || err == EINTR) {
		size_t room;
		uint8_t *to;

		relay_lines(relay, l, fd, false);
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
		if (!launcher_line_left(l))
			relay_lines(relay, l, fd, true);
		return false;
	}
	relay_lines(relay, l, fd, true);
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
