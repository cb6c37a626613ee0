/*
 * keeper.c - see keeper.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "head.h"
#include "keeper.h"
#include "keeper_step.h"
#include "launcher_base.h"
#include "run_sock.h"
#include "runs.h"
#include "src/libstorm/base/clock.h"

#define FORMER_LIMIT (60 * STORM_SEC)

static struct {
	const char *socket;
	struct run_step step;
	pid_t head; /* a child, where it is not in the step; or 0 */
	int conn;   /* to the head */
	int signals;
	bool ended; /* the head has said that it ends */
	bool locked;
} keeper = { .conn = -1, .signals = -1 };

/* What the job is, by its environment. */
static bool keeper_init(char *why, size_t size)
{
	const char *nodes = getenv("SLURM_JOB_NUM_NODES");
	const char *cpus = getenv("SLURM_JOB_CPUS_PER_NODE");
	const char *job = getenv("SLURM_JOB_ID");
	unsigned long n = nodes ? strtoul(nodes, NULL, 10) : 0;
	struct run_step *s = &keeper.step;

	if (!job || !n || n > STORM_NODES_MAX || !cpus) {
		snprintf(
			why, size,
			"SLURM_JOB_ID, SLURM_JOB_NUM_NODES or SLURM_JOB_CPUS_PER_NODE is not set: run it in a batch script");
		return false;
	}
	s->job = (uint32_t) strtoul(job, NULL, 10);
	/* the client is on the job's first host; or on no host of the job, and
	 * the head is no launcher's child */
	s->local = getenv("SLURMD_NODENAME") ? 0 : STORM_NO_NODE;
	s->count = (uint32_t) n;
	s->cpus = calloc(n, sizeof(*s->cpus));
	s->nodes = calloc(n, sizeof(*s->nodes));
	if (!s->cpus || !s->nodes) {
		snprintf(why, size, "no memory");
		return false;
	}
	if (getrandom(s->key, RUN_KEY, 0) != RUN_KEY) {
		snprintf(why, size, "getrandom: %s", strerror(errno));
		return false;
	}
	if (runs_cpus_read(cpus, s->count, s->cpus))
		return true;
	snprintf(why, size, "SLURM_JOB_CPUS_PER_NODE=%s does not fit %u nodes",
		 cpus, s->count);
	return false;
}

/* A keeper holds a lock for its life: the next one begins when the step of the one
 * before has ended. */
static bool keeper_lock(char *why, size_t size)
{
	const struct timespec pause = { .tv_nsec = 10 * STORM_MS };
	uint64_t until = storm_now() + FORMER_LIMIT;
	char path[RUN_SOCK_PATH];
	bool said = false;
	int fd;

	run_sock_beside(keeper.socket, "keep", &path);
	while ((fd = run_sock_lock(path, false)) < 0 && errno == EWOULDBLOCK &&
	       storm_now() < until) {
		if (!said)
			storm_log(STORM_LOG_INFO,
				  "the launchers before have not ended yet");
		said = true;
		nanosleep(&pause, NULL);
	}
	keeper.locked = fd >= 0;
	if (keeper.locked)
		return true; /* it is never closed */
	snprintf(why, size, "%s: %s", path,
		 errno == EWOULDBLOCK ? "the launchers before have not ended" :
					strerror(errno));
	return false;
}

static bool keeper_take_signals(void)
{
	static const int ignored[] = { KEEPER_IGNORES };
	sigset_t set;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_SETMASK, &set, NULL);
	keeper.signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return keeper.signals >= 0;
}

/* --------------------------------------------------------------------- head --- */

static bool keeper_send_step(void)
{
	size_t len = run_step_len(&keeper.step);
	uint8_t *buf = malloc(RUN_FRAME_HEADER + len);
	struct storm_out o;
	int rc;

	if (!buf)
		return false;
	run_frame_head(buf, RUN_STEP, len);
	o = (struct storm_out) { buf + RUN_FRAME_HEADER,
				 buf + RUN_FRAME_HEADER + len, false };
	run_step_put(&o, &keeper.step);
	rc = run_sock_send(keeper.conn, buf, RUN_FRAME_HEADER + len, NULL);
	free(buf);
	return !rc;
}

/* It says that it serves clients, or why it cannot. */
static bool keeper_head_answers(char *why, size_t size)
{
	struct run_reader r = { 0 };
	struct storm_in body;
	enum run_kind kind;
	bool some = run_sock_wait(keeper.conn, &r, &kind, &body);
	bool ready = some && kind == RUN_READY;

	if (!ready)
		snprintf(why, size, "the head has died");
	if (some && kind == RUN_REFUSED)
		snprintf(why, size, "%.*s", (int) (body.end - body.p),
			 (const char *) body.p);
	run_reader_fini(&r);
	return ready;
}

/* Tell the head, which is a launcher's child or ours, where launchers are. */
static bool keeper_reach_head(char *why, size_t size)
{
	char path[RUN_SOCK_PATH];
	int unused = -1;

	if (keeper.step.local == STORM_NO_NODE) {
		keeper.head = head_start(keeper.socket, &unused);
		if (unused >= 0)
			close(unused);
	}
	run_sock_beside(keeper.socket, "new", &path);
	keeper.conn = run_sock_connect(path);
	if (keeper.conn < 0) {
		snprintf(why, size, "the head: %s: %s", path, strerror(errno));
		return false;
	}
	if (keeper_send_step())
		return keeper_head_answers(why, size);
	snprintf(why, size, "the head: %s", strerror(errno));
	return false;
}

/* It closes the connection when it ends.  One that dies says nothing before. */
static bool keeper_head_ended(struct run_reader *r)
{
	struct storm_in body;
	enum run_kind kind;
	int none[RUN_SOCK_FDS];
	int got = run_sock_receive(keeper.conn, r, &none);

	while (run_reader_next(r, &kind, &body) > 0)
		keeper.ended |= kind == RUN_END;
	return got < 0;
}

static void keeper_stay(void)
{
	struct run_reader r = { 0 };
	struct signalfd_siginfo si;
	bool over = false;

	while (!over && !keeper_step_ended()) {
		struct pollfd p[] = { { keeper.signals, POLLIN, 0 },
				      { keeper.conn, POLLIN, 0 },
				      { keeper_step_out(), POLLIN, 0 } };

		if (poll(p, 3, -1) < 0)
			continue;
		while (read(keeper.signals, &si, sizeof(si)) == sizeof(si))
			;
		if (p[2].revents)
			keeper_step_drain();
		over = p[1].revents && keeper_head_ended(&r);
	}
	run_reader_fini(&r);
}

/* The client's lock file is left to nobody if the client is gone. */
static void keeper_tell(int tell, int lock, const char *what)
{
	char path[RUN_SOCK_PATH];

	run_sock_beside(keeper.socket, "lock", &path);
	if (dprintf(tell, "%s", what) < 0)
		unlink(path);
	close(lock);
	close(tell);
}

int keeper_serve(const char *socket, int tell, int lock)
{
	char why[600] = "no signals";
	bool good;

	fcntl(tell, F_SETFD, FD_CLOEXEC);
	fcntl(lock, F_SETFD, FD_CLOEXEC);
	launcher_log_as("keeper");
	keeper.socket = socket;
	good = keeper_take_signals() && keeper_lock(why, sizeof(why)) &&
	       keeper_init(why, sizeof(why)) &&
	       keeper_step_start(&keeper.step,
				 keeper.step.local == STORM_NO_NODE ?
					 KEEPER_NO_HEAD :
					 socket,
				 why, sizeof(why)) &&
	       keeper_reach_head(why, sizeof(why));
	keeper_tell(tell, lock, good ? KEEPER_READY : why);
	if (good)
		keeper_stay();
	/* a head whose step has ended hears it by this */
	if (keeper.conn >= 0)
		close(keeper.conn);
	keeper_step_stop(keeper.ended);
	if (keeper.head)
		waitpid(keeper.head, NULL, 0);
	/* no other head can be there before the lock is free */
	if (keeper.locked)
		run_sock_remove(keeper.socket, good);
	return !good;
}
