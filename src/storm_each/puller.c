/*
 * puller.c - see puller.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "pull_direct.h"
#include "puller.h"
#include "puller_private.h"
#include "src/libstorm/base/clock.h"

#define PULL_HOLD_MAX (16u << 10) /* as much is not kept back */
#define PULL_SLOTS_MAX 65536

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
