/*
 * puller_tasks.c - how a puller's tasks begin, and how they end.  See puller_private.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pull_direct.h"
#include "pull_doubt.h"
#include "pull_spawn.h"
#include "puller_private.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"

#define PULL_GRACE (500 * STORM_MS) /* from SIGTERM to SIGKILL */
#define PULL_PIECE (16u << 10)	    /* bytes of an OUTPUT at most */
#define PULL_OUTPUT_HEADER (8 + 1)

/* ------------------------------------------------------------------- a task's end --- */

static void pull_slot_free(struct pull_slot *s)
{
	for (int k = 0; k < 2; k++)
		if (s->pipe[k] >= 0)
			close(s->pipe[k]);
	s->taken = false;
	pull.taken--;
}

bool pull_slot_read(struct pull_slot *s, int k)
{
	while (pull_bytes_wait(&pull.out) < PULL_OUT_MAX) {
		size_t before = pull.out.have - pull.out.at;
		struct storm_out o =
			pull_frame(&pull.out, PULL_OUTPUT,
				   PULL_OUTPUT_HEADER + PULL_PIECE);
		ssize_t n;

		if (o.bad)
			return true;
		storm_put64(&o, s->end.seq);
		storm_put8(&o, (uint8_t) (k + 1));
		n = read(s->pipe[k], o.p, (size_t) (o.end - o.p));
		/* the frame is as long as what came */
		pull.out.have = pull.out.at + before;
		if (n > 0) {
			uint8_t *frame = pull.out.buf + pull.out.have;
			size_t len = PULL_OUTPUT_HEADER + (size_t) n;

			run_frame_head(frame, (enum run_kind) PULL_OUTPUT, len);
			pull.out.have += RUN_FRAME_HEADER + len;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		/* others that still have the pipe are not waited for */
		if (n < 0 && errno == EAGAIN && !s->ended)
			return false;
		close(s->pipe[k]);
		s->pipe[k] = -1;
		return true;
	}
	return false;
}

void pull_slot_finish(struct pull_slot *s)
{
	if (s->until && storm_now() < s->until)
		return;
	s->until = 0;
	for (int k = 0; k < 2; k++)
		if (s->pipe[k] >= 0 && !pull_slot_read(s, k))
			return;
	pull_end_put(&pull.out, &s->end);
	/* a failure may be the end of all */
	pull.urgent |= s->end.status || s->end.signal || s->end.killed;
	pull_slot_free(s);
}

static void pull_slot_ended(struct pull_slot *s, int status)
{
	uint64_t now = storm_now();

	s->ended = true;
	s->end.time_us = (now - s->began) / PULL_US;
	if (WIFSIGNALED(status))
		s->end.signal = (uint8_t) WTERMSIG(status);
	else
		s->end.status = (uint8_t) WEXITSTATUS(status);
	s->until = pull_doubt(&s->end, now);
	pull_slot_finish(s);
}

void pull_reap(void)
{
	struct signalfd_siginfo si[8];
	int status;
	pid_t pid;

	while (read(pull.signals, si, sizeof(si)) > 0)
		;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (uint32_t k = 0; k < pull.setup.slots; k++)
			if (pull.slots[k].taken && !pull.slots[k].ended &&
			    pull.slots[k].pid == pid) {
				pull_slot_ended(&pull.slots[k], status);
				break;
			}
}

/* SIGTERM, and SIGKILL a while later. */
static void pull_slot_kill(struct pull_slot *s, uint64_t now)
{
	kill(-s->pid, s->end.killed ? SIGKILL : SIGTERM);
	s->end.killed = true;
	s->until = now + PULL_GRACE;
}

void pull_kill_all(void)
{
	uint64_t now = storm_now();

	for (uint32_t k = 0; k < pull.setup.slots; k++) {
		struct pull_slot *s = &pull.slots[k];

		if (s->taken && !s->ended && !s->end.killed)
			pull_slot_kill(s, now);
	}
}

int pull_time(void)
{
	uint64_t now = storm_now(), next = UINT64_MAX;

	for (uint32_t k = 0; pull.slots && pull.taken && k < pull.setup.slots;
	     k++) {
		struct pull_slot *s = &pull.slots[k];

		if (!s->taken || !s->until)
			continue;
		if (s->ended) {
			next = storm_min(next, storm_max(s->until, now));
			continue;
		}
		if (now >= s->until) {
			s->end.late |= !s->end.killed;
			pull_slot_kill(s, now);
		}
		next = storm_min(next, s->until);
	}
	return next == UINT64_MAX ? -1 : (int) ((next - now) / STORM_MS) + 1;
}

/* ----------------------------------------------------------------- a task's begin --- */

/* What cannot be started ends as it would in a shell, with a line of its own. */
static void pull_slot_fail(struct pull_slot *s, const char *what, int err)
{
	char line[PATH_MAX + 100];
	int n = snprintf(line, sizeof(line), "storm each: %s: %s\n", what,
			 strerror(err));
	size_t len = storm_min((size_t) n, sizeof(line) - 1);
	struct storm_out o =
		pull_frame(&pull.out, PULL_OUTPUT, PULL_OUTPUT_HEADER + len);

	storm_put64(&o, s->end.seq);
	storm_put8(&o, STDERR_FILENO);
	storm_put(&o, line, len);
	s->end.status = err == ENOENT ? 127 : 126;
	pull_end_put(&pull.out, &s->end);
	pull.urgent = true;
	pull_slot_free(s);
}

static pid_t pull_slot_spawn(struct pull_slot *s, struct pull_task *t,
			     uint32_t slot, const char **what)
{
	int out[2] = { -1, -1 }, err[2] = { -1, -1 };
	struct pull_spawn how = { .shell = pull.shell,
				  .env = pull.env.all,
				  .dir = t->dir,
				  .in = pull.null };
	char **words = NULL;
	pid_t pid = -1;

	*what = "a task";
	how.text = pull_task_text(t, slot);
	if (how.text && !pipe2(out, O_CLOEXEC) && !pipe2(err, O_CLOEXEC)) {
		if (pull.direct && !*t->dir)
			how.words = words = pull_direct(how.text);
		how.out = out[1];
		how.err = err[1];
		pid = pull_spawn(&how, what);
	}
	s->pipe[0] = out[0];
	s->pipe[1] = err[0];
	for (int k = 0, e = errno; k < 2; k++) {
		int theirs = k ? err[1] : out[1];

		if (theirs >= 0)
			close(theirs);
		if (s->pipe[k] >= 0)
			fcntl(s->pipe[k], F_SETFL, O_NONBLOCK);
		errno = e;
	}
	free(words);
	return pid;
}

static void pull_slot_begin(struct pull_slot *s, struct pull_task *t,
			    uint32_t slot)
{
	struct timespec wall;
	struct storm_out o;
	const char *what;

	clock_gettime(CLOCK_REALTIME, &wall);
	*s = (struct pull_slot) {
		.taken = true,
		.pipe = { -1, -1 },
		.began = storm_now(),
		.end = { .seq = t->seq,
			 .start_us = (uint64_t) wall.tv_sec * 1000000 +
				     (uint64_t) wall.tv_nsec / PULL_US },
	};
	pull.taken++;
	if (pull.setup.timeout_us)
		s->until = s->began + pull.setup.timeout_us * PULL_US;
	each_env_task(&pull.env, t->seq, slot);
	o = pull_frame(&pull.out, PULL_BEGUN, 8 + 4);
	storm_put64(&o, t->seq);
	storm_put32(&o, slot);
	s->pid = pull_slot_spawn(s, t, slot, &what);
	if (s->pid < 0)
		pull_slot_fail(s, what, errno);
}

void pull_begin_tasks(void)
{
	for (uint32_t k = 0; k < pull.setup.slots && pull.queue.first &&
			     pull_bytes_wait(&pull.out) < PULL_OUT_MAX;
	     k++) {
		struct pull_task *t;

		if (pull.slots[k].taken)
			continue;
		t = pull_queue_first(&pull.queue);
		pull_slot_begin(&pull.slots[k], t, pull.setup.base + k + 1);
		pull_task_free(t);
	}
}
