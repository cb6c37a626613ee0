/*
 * puller.c - see puller.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "each_env.h"
#include "pull_direct.h"
#include "pull_queue.h"
#include "pull_spawn.h"
#include "pull_wire.h"
#include "puller.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"

#define PULL_US 1000		    /* ns */
#define PULL_GRACE (500 * STORM_MS) /* from SIGTERM to SIGKILL */
#define PULL_PIECE (16u << 10)	    /* bytes of an OUTPUT at most */
#define PULL_OUT_MAX (256u << 10)   /* with more unsent nothing is read */
#define PULL_HOLD_MAX (16u << 10)   /* as much is not kept back */
#define PULL_OUTPUT_HEADER (8 + 1)
#define PULL_SLOTS_MAX 65536

/* A place for a task, and the one that is there. */
struct pull_slot {
	bool taken, ended;
	pid_t pid;
	int pipe[2];	       /* its output; -1: none is left */
	nfds_t at[2];	       /* in pull.poll; 0: not there */
	uint64_t began, until; /* storm_now(); until 0: without an end */
	struct pull_end end;
};

static struct {
	struct pull_setup setup;
	struct pull_slot *slots; /* setup.slots, or NULL */
	uint32_t taken, next;
	struct pull_queue queue;
	struct pull_bytes out;
	struct run_reader in;
	struct pollfd *poll;
	int null, signals;
	bool over; /* no more comes */
	uint64_t since; /* storm_now() when the oldest word came that is not sent; 0: none */
	bool urgent; /* it is not to wait any longer */
	const char *shell;
	bool direct;
	struct each_env env;
} pull;

/* ------------------------------------------------------------------- a task's end --- */

static void pull_slot_free(struct pull_slot *s)
{
	for (int k = 0; k < 2; k++)
		if (s->pipe[k] >= 0)
			close(s->pipe[k]);
	s->taken = false;
	pull.taken--;
}

/* Read what is there, as long as it can be sent.  True: all of it was read. */
static bool pull_slot_read(struct pull_slot *s, int k)
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

static void pull_slot_finish(struct pull_slot *s)
{
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
	s->ended = true;
	s->end.time_us = (storm_now() - s->began) / PULL_US;
	if (WIFSIGNALED(status))
		s->end.signal = (uint8_t) WTERMSIG(status);
	else
		s->end.status = (uint8_t) WEXITSTATUS(status);
	pull_slot_finish(s);
}

static void pull_reap(void)
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

static void pull_kill_all(void)
{
	uint64_t now = storm_now();

	for (uint32_t k = 0; k < pull.setup.slots; k++) {
		struct pull_slot *s = &pull.slots[k];

		if (s->taken && !s->ended && !s->end.killed)
			pull_slot_kill(s, now);
	}
}

/* Those whose time is over.  ms until the next one, or -1. */
static int pull_time(void)
{
	uint64_t now = storm_now(), next = UINT64_MAX;

	for (uint32_t k = 0; pull.slots && pull.taken && k < pull.setup.slots;
	     k++) {
		struct pull_slot *s = &pull.slots[k];

		if (!s->taken || s->ended || !s->until)
			continue;
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

/* Output that cannot be sent stops what would write more. */
static void pull_begin_tasks(void)
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

/* -------------------------------------------------------------------- the client --- */

static bool pull_set_up(struct storm_in *body)
{
	if (pull.slots || !pull_setup_get(body, &pull.setup) ||
	    pull.setup.slots > PULL_SLOTS_MAX)
		return false;
	free(pull.poll);
	pull.slots = calloc(pull.setup.slots, sizeof(*pull.slots));
	pull.poll =
		calloc(2 * (size_t) pull.setup.slots + 3, sizeof(*pull.poll));
	each_env_client(&pull.env, pull.setup.client);
	return pull.slots && pull.poll;
}

static bool pull_recall(struct storm_in *body)
{
	uint32_t n = storm_get32(body);
	struct pull_task *t;

	while (n-- && (t = pull_queue_last(&pull.queue))) {
		pull_frame_seq(&pull.out, PULL_BACK, t->seq);
		pull_task_free(t);
	}
	pull.urgent = true;
	return storm_in_done(body);
}

/* False: the client's word has no sense. */
static bool pull_hear(enum pull_kind kind, struct storm_in *body)
{
	if (kind == PULL_SETUP)
		return pull_set_up(body);
	if (!pull.slots)
		return false;
	switch (kind) {
	case PULL_TASK:
		return pull_queue_add(&pull.queue, body);
	case PULL_RECALL:
		return pull_recall(body);
	case PULL_KILL:
		pull_kill_all();
		return true;
	default:
		return false;
	}
}

static bool pull_hear_all(void)
{
	size_t room;
	uint8_t *to = run_reader_room(&pull.in, &room);
	ssize_t n = to ? read(STDIN_FILENO, to, room) : -1;
	enum run_kind kind;
	struct storm_in body;
	int is;

	if (!to || (n < 0 && errno != EINTR && errno != EAGAIN))
		return false;
	pull.over |= !n;
	pull.in.have += n > 0 ? (size_t) n : 0;
	while ((is = run_reader_next(&pull.in, &kind, &body)) > 0)
		if (!pull_hear((enum pull_kind) kind, &body))
			return false;
	return !is;
}

/* ------------------------------------------------------------------ what is sent --- */

/* ms that words may wait yet; 0: they are to be sent; -1: there are none. */
static int pull_hold(void)
{
	uint64_t now = storm_now(), until;

	if (!pull_bytes_wait(&pull.out))
		return -1;
	pull.since = pull.since ? pull.since : now;
	until = pull.since + PULL_HOLD_US * PULL_US;
	if (pull.urgent || now >= until ||
	    pull.queue.count < pull.setup.slots ||
	    pull_bytes_wait(&pull.out) >= PULL_HOLD_MAX)
		return 0;
	return (int) ((until - now) / STORM_MS) + 1;
}

/* What is begun to be sent does not wait again.  False: nobody takes it. */
static bool pull_send(void)
{
	if (pull_hold())
		return true;
	if (pull_bytes_write(&pull.out, STDOUT_FILENO))
		return false;
	pull.urgent = pull_bytes_wait(&pull.out);
	pull.since = 0;
	return true;
}

/* --------------------------------------------------------------------- the loop --- */

/* ms that it may wait for something, or -1. */
static int pull_patience(void)
{
	int time = pull_time(), hold = pull_hold();

	return hold <= 0 || (time >= 0 && time < hold) ? time : hold;
}

/* Wait for something, and do what it says but for the client's.  False: it is over. */
static bool pull_turn(void)
{
	struct pollfd *p = pull.poll;
	bool full = pull_bytes_wait(&pull.out) >= PULL_OUT_MAX;
	nfds_t n = 3;

	p[0] = (struct pollfd) { pull.over ? -1 : STDIN_FILENO, POLLIN, 0 };
	p[1] = (struct pollfd) { pull_hold() ? -1 : STDOUT_FILENO, POLLOUT, 0 };
	p[2] = (struct pollfd) { pull.signals, POLLIN, 0 };
	for (uint32_t k = 0; pull.slots && k < 2 * pull.setup.slots; k++) {
		struct pull_slot *s = &pull.slots[k / 2];

		s->at[k % 2] = 0;
		if (!s->taken || s->pipe[k % 2] < 0 || full)
			continue;
		s->at[k % 2] = n;
		p[n++] = (struct pollfd) { s->pipe[k % 2], POLLIN, 0 };
	}
	if (poll(p, n, pull_patience()) < 0)
		return errno == EINTR;
	for (uint32_t k = 0; pull.slots && k < 2 * pull.setup.slots; k++) {
		struct pull_slot *s = &pull.slots[k / 2];

		if (s->taken && s->at[k % 2] && p[s->at[k % 2]].revents)
			pull_slot_read(s, k % 2);
		if (s->taken && s->ended && k % 2)
			pull_slot_finish(s);
	}
	/* it may make another pull.poll */
	return !p[0].revents || pull_hear_all();
}

static bool pull_is_done(void)
{
	return pull.over && !pull.taken && !pull.queue.first &&
	       !pull_bytes_wait(&pull.out);
}

/* CPUs of this node that the job has. */
static uint32_t pull_cpus(uint32_t here)
{
	const char *given = getenv("SLURM_CPUS_ON_NODE");
	unsigned long n = given ? strtoul(given, NULL, 10) : 0;

	return n && n < PULL_SLOTS_MAX ? (uint32_t) n : here;
}

static void pull_hello(uint32_t cpus)
{
	const char *node = getenv("SLURMD_NODENAME");
	size_t len = node ? strlen(node) : 0;
	struct storm_out o = pull_frame(&pull.out, PULL_HELLO, 4 + len);

	storm_put32(&o, cpus);
	storm_put(&o, node, len);
}

/* The environment of tasks: this one's, and variables that change with each. */
static bool pull_environment(void)
{
	if (!each_env_init(&pull.env))
		return false;
	pull.shell = each_shell();
	pull.direct = pull_direct_shell(pull.shell, pull.env.all);
	return true;
}

static bool pull_prepare(void)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL) || !pull_environment())
		return false;
	pull.signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	pull.null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	/* until it is set up */
	pull.poll = calloc(3, sizeof(*pull.poll));
	fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
	fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK);
	return pull.signals >= 0 && pull.null >= 0 && pull.poll;
}

int puller_serve(uint32_t cpus)
{
	if (!pull_prepare()) {
		fprintf(stderr, "storm each: a puller cannot begin: %s\n",
			strerror(errno));
		return EXIT_FAILURE;
	}
	pull_hello(pull_cpus(cpus));
	while (!pull_is_done() && !pull.out.failed) {
		if (!pull_turn())
			return EXIT_FAILURE;
		pull_reap();
		pull_begin_tasks();
		if (!pull_send())
			return EXIT_FAILURE;
	}
	return pull.out.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
