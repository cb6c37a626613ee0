/*
 * health_round.c - see health_round.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "health_round.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"

#define CHECKS_MAX 64
/* So much of a program's output is read in a turn: it may write for ever. */
#define CHUNK 4096

/* ---------------------------------------------------------------- the child --- */

/* Kill this process's group when that one has ended. */
static _Noreturn void health_guard_be(int keeper)
{
	struct pollfd p = { .fd = dup2(keeper, 0), .events = POLLIN };

	close_range(1, ~0U, 0);
	while (!p.fd && poll(&p, 1, -1) != 1)
		;
	kill(0, SIGKILL);
	_exit(1);
}

/* The kernel kills the program's first process alone as storm_health ends.  This one, of
 * the same group and no child of the program's, kills what that has started. */
static void health_guard_start(int keeper)
{
	pid_t pid = fork();

	if (!pid) {
		if (!fork())
			health_guard_be(keeper);
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static _Noreturn void health_child_be(const struct health_check *c,
				      const struct health_place *at, int out,
				      pid_t parent)
{
	int keeper = pidfd_open(parent, 0);
	struct health_sample s = { 0 };

	/* the next storm_health begins it anew */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	setsid(); /* its group dies with it */
	prctl(PR_SET_NAME, "storm_check");
	if (c->kind == HEALTH_CHECK_PROGRAM) {
		if (keeper >= 0)
			health_guard_start(keeper);
		s.err = health_program_run(c->name, at, out, &s.line);
		/* its status says that what it wrote is this */
	} else {
		health_measure(c->kind, c->name, at, &s);
	}
	if (write(out, &s, sizeof(s)) != sizeof(s))
		_exit(1);
	_exit(c->kind == HEALTH_CHECK_PROGRAM ? 127 : 0);
}

static void health_child_close(struct health_check *c)
{
	if (c->pidfd >= 0)
		close(c->pidfd);
	if (c->out >= 0)
		close(c->out);
	c->pidfd = c->out = -1;
	c->pid = 0;
}

static void health_child_kill(const struct health_check *c)
{
	/* not waited for: the pid is still its */
	kill(-c->pid, SIGKILL);
	kill(c->pid, SIGKILL);
}

static void health_child_start(struct health_check *c,
			       const struct health_place *at)
{
	pid_t parent = getpid(), pid;
	int pipe_of[2];

	c->got = (struct health_sample) { 0 };
	c->said = (struct health_line) { 0 };
	c->have = 0;
	if (pipe2(pipe_of, O_CLOEXEC)) {
		c->got.unbegun = errno;
		return;
	}
	pid = fork();
	if (!pid)
		health_child_be(c, at, pipe_of[1], parent);
	close(pipe_of[1]);
	if (pid < 0) {
		c->got.unbegun = errno;
		close(pipe_of[0]);
		return;
	}
	c->pid = pid;
	c->out = pipe_of[0];
	fcntl(c->out, F_SETFL, O_NONBLOCK);
	c->pidfd = pidfd_open(pid, 0);
	c->until = storm_now() + c->patience;
	c->running = c->pidfd >= 0;
	if (!c->running) {
		c->got.unbegun = errno;
		health_child_kill(c);
		waitpid(pid, NULL, 0);
		health_child_close(c);
	}
}

/* ---------------------------------------------------------------- its answer --- */

/* Take what it has written.  False: there is no more now. */
static bool health_child_read(struct health_check *c)
{
	char buf[CHUNK];
	ssize_t n = read(c->out, buf, sizeof(buf));

	if (n <= 0) {
		if (!n || errno != EAGAIN) {
			close(c->out); /* or poll() returns for ever */
			c->out = -1;
		}
		return false;
	}
	if (c->kind == HEALTH_CHECK_PROGRAM)
		health_line_add(&c->said, buf, (size_t) n);
	if (c->have < sizeof(c->got))
		memcpy((char *) &c->got + c->have, buf,
		       storm_min((size_t) n, sizeof(c->got) - c->have));
	c->have += (size_t) n;
	return true;
}

/* The program has run: what it wrote is no sample. */
static void health_program_ended(struct health_check *c, int status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127 &&
	    c->have == sizeof(c->got) && c->got.err)
		return; /* it could not be run */
	c->got = (struct health_sample) { .status = status };
	memcpy(c->got.line, c->said.line, sizeof(c->got.line));
}

static void health_child_ended(struct health_check *c)
{
	int status = 0;

	/* what it has left in the background holds the pipe, and may fill it again */
	for (int i = 0; i < 64 && c->out >= 0 && health_child_read(c); i++)
		;
	health_child_kill(c);
	waitpid(c->pid, &status, 0);
	if (c->kind == HEALTH_CHECK_PROGRAM)
		health_program_ended(c, status);
	else if (c->have != sizeof(c->got))
		c->got = (struct health_sample) { .err = EIO };
	c->running = false;
	health_child_close(c);
}

/* It stays until the kernel lets go of it. */
static void health_child_hangs(struct health_check *c)
{
	c->got = (struct health_sample) { .hung = true };
	memcpy(c->got.line, c->said.line, sizeof(c->got.line));
	health_child_kill(c);
	c->running = false;
	if (c->out >= 0)
		close(c->out);
	c->out = -1;
}

/* True: it has ended since the last round. */
static bool health_child_bury(struct health_check *c)
{
	if (c->pid && waitpid(c->pid, NULL, WNOHANG) != c->pid)
		return false;
	health_child_close(c);
	return true;
}

/* ------------------------------------------------------------------ the round --- */

static int health_round_wait(const struct health_check *c, size_t n)
{
	uint64_t next = STORM_NEVER, now = storm_now();

	for (size_t i = 0; i < n; i++)
		if (c[i].running)
			next = storm_min(next, c[i].until);
	return next <= now ? 0 : (int) ((next - now) / STORM_MS) + 1;
}

/* False: the lifeline was closed. */
static bool health_round_turn(struct health_check *c, size_t n, int lifeline)
{
	struct pollfd p[1 + 2 * CHECKS_MAX] = { { .fd = lifeline,
						  .events = POLLIN } };

	for (size_t i = 0; i < n; i++) {
		p[1 + 2 * i] =
			(struct pollfd) { .fd = c[i].running ? c[i].pidfd : -1,
					  .events = POLLIN };
		p[2 + 2 * i] =
			(struct pollfd) { .fd = c[i].running ? c[i].out : -1,
					  .events = POLLIN };
	}
	if (poll(p, 1 + 2 * (nfds_t) n, health_round_wait(c, n)) < 0)
		return errno == EINTR;
	for (size_t i = 0; i < n; i++) {
		if (p[2 + 2 * i].revents)
			health_child_read(&c[i]);
		if (p[1 + 2 * i].revents)
			health_child_ended(&c[i]);
		else if (c[i].running && storm_now() >= c[i].until)
			health_child_hangs(&c[i]);
	}
	return !p[0].revents;
}

static bool health_round_runs(const struct health_check *c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (c[i].running)
			return true;
	return false;
}

bool health_round(struct health_check *c, size_t n,
		  const struct health_place *at, int lifeline)
{
	bool alive = true;

	n = storm_min(n, (size_t) CHECKS_MAX);
	for (size_t i = 0; i < n; i++)
		if (health_child_bury(&c[i]))
			health_child_start(&c[i], at);
	while (alive && health_round_runs(c, n))
		alive = health_round_turn(c, n, lifeline);
	for (size_t i = 0; i < n && !alive; i++)
		if (c[i].pid)
			health_child_kill(&c[i]);
	return alive;
}
