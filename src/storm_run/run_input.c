/*
 * run_input.c - see run_input.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "run_input.h"
#include "src/libstorm/base/minmax.h"
#include "src/storm_launcher/run_paths.h"
#include "src/storm_launcher/run_pieces.h"
#include "src/storm_launcher/run_sock.h"

#define LOOK 1000 /* ms, whether the terminal is this process's again */

static struct {
	int sock;
	uint32_t rank;
	bool terminal;
	bool open, over; /* the head takes it; its end was sent */
	uint64_t sent, taken;
} run_input = { .rank = RUN_ALL_RANKS };

/* Nobody waits for what is always empty. */
static bool run_input_is_null(void)
{
	struct stat st;

	return fstat(STDIN_FILENO, &st) ||
	       (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3));
}

void run_input_tell(const struct run_options *o, struct run_what *w)
{
	uint32_t task = 0;
	enum run_stream kind = run_stream_of(o->stream[0], &task);

	if ((kind != RUN_CLIENTS && kind != RUN_ONE_TASK) ||
	    run_input_is_null())
		return;
	w->input = kind == RUN_CLIENTS ? RUN_INPUT_ALL : RUN_INPUT_ONE;
	w->input_rank = task;
	run_input.rank = kind == RUN_CLIENTS ? RUN_ALL_RANKS : task;
	run_input.terminal = isatty(STDIN_FILENO);
	/* a task has a process group of its own, which a terminal would stop */
	w->lends = !run_input.terminal;
}

void run_input_begin(int sock)
{
	run_input.sock = sock;
	run_input.open = false;
	/* in the background read(2) fails, and nothing stops */
	if (run_input.terminal)
		signal(SIGTTIN, SIG_IGN);
}

void run_input_room(struct storm_in *body)
{
	uint32_t rank;
	uint64_t taken;

	if (!run_room_get(body, &rank, &taken))
		return;
	run_input.open = true;
	if (rank == run_input.rank)
		run_input.taken = storm_max(run_input.taken, taken);
}

/* Without a controlling terminal read(2) tells. */
static bool run_input_is_ours(void)
{
	pid_t group = run_input.terminal ? tcgetpgrp(STDIN_FILENO) : -1;

	return group < 0 || group == getpgrp();
}

/* How many bytes may be sent? */
static uint64_t run_input_may(void)
{
	uint64_t waits = run_input.sent - run_input.taken;

	return run_input.open && !run_input.over && waits < RUN_INPUT_WINDOW ?
		       RUN_INPUT_WINDOW - waits :
		       0;
}

int run_input_fd(void)
{
	return run_input_may() && run_input_is_ours() ? STDIN_FILENO : -1;
}

int run_input_wait(int wait)
{
	if (!run_input_may() || run_input_is_ours())
		return wait;
	return wait < 0 ? LOOK : (int) storm_min((uint64_t) wait, LOOK);
}

/* No bytes: its end.  A head that is gone tells by the end of its connection. */
static void run_input_send(uint8_t *frame, size_t len)
{
	run_input_head(frame, run_input.rank, len);
	run_sock_send(run_input.sock, frame, RUN_INPUT_HEADER + len, NULL);
	run_input.sent += len;
	run_input.over = !len;
}

void run_input_read(void)
{
	uint8_t frame[RUN_INPUT_HEADER + RUN_INPUT_PIECE];
	size_t room =
		storm_min(sizeof(frame) - RUN_INPUT_HEADER, run_input_may());
	ssize_t n;

	if (!room)
		return;
	n = read(STDIN_FILENO, frame + RUN_INPUT_HEADER, room);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n < 0 && errno == EIO && !run_input_is_ours())
		return; /* just now */
	if (n < 0)
		run_say("error: standard input: %s", strerror(errno));
	run_input_send(frame, n > 0 ? (size_t) n : 0);
}
