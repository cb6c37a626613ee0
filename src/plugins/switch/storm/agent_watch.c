/*
 * agent_watch.c - a thread in slurmd that runs the node agent.  It watches the
 * agent by pidfd, starts another one when it dies, and copies its messages to
 * slurmd's log.  After a restart of slurmd it adopts a living agent of the same
 * build, so the restart loses no session (doc/architecture.md, Processes and
 * threads).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2, P_PIDFD */
#endif
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/slurmd/slurmd/slurmd.h"

#include "src/plugins/switch/storm/agent/agent_contract.h"
#include "agent_watch.h"
#include "src/plugins/switch/storm/gang/gang_guard.h"
#include "src/plugins/switch/storm/local/local.h"
#include "src/storm_common/child_log.h"
#include "src/storm_common/child_spawn.h"
#include "src/storm_common/storm_conf.h"
#include "src/libstorm/base/clock.h"

/* slurmd's variable; other programs that load this plugin have none */
#pragma weak conf

#define BACKOFF_MIN 100 /* ms */
#define BACKOFF_MAX 60000
/* after an agent that lived this long the back-off starts over */
#define LIVED_WELL (5 * STORM_SEC)
#define START_LIMIT (10 * STORM_SEC)
#define STOP_LIMIT 5000 /* ms */
#define AGENT "storm_agent"

static struct {
	pthread_t thread;
	bool running;
	int wake; /* eventfd: end the thread */
	int log_read, log_write;
	struct child_log log; /* of the agent */
	pid_t pid;
	int pidfd, sock;
	bool child; /* a child; else adopted */
	uint64_t started;
} w = { .wake = -1, .log_read = -1, .log_write = -1, .pidfd = -1, .sock = -1 };

/* Wait at most ms for a descriptor.  True: the thread must end. */
static bool agent_watch_wait(int ms, bool *agent_gone)
{
	struct pollfd p[5] = {
		{ .fd = w.wake, .events = POLLIN },
		{ .fd = w.log_read, .events = POLLIN },
		{ .fd = w.pidfd, .events = POLLIN },
		{ .fd = w.sock, .events = POLLIN },
		{ .fd = gang_guard_fd(), .events = POLLIN },
	};

	if (poll(p, 5, ms) < 0 && errno != EINTR) {
		error("storm: poll: %m");
		return true;
	}
	if (p[1].revents)
		child_log_drain(&w.log, w.log_read, AGENT);
	if (agent_gone)
		*agent_gone = p[2].revents || p[3].revents;
	return p[0].revents;
}

/* ------------------------------------------------------------ start and end --- */

static void agent_watch_forget(void)
{
	if (w.pidfd >= 0)
		close(w.pidfd);
	if (w.sock >= 0)
		close(w.sock);
	w.pidfd = w.sock = -1;
	w.pid = 0;
	w.child = false;
}

static int agent_watch_spawn(void)
{
	char *argv[] = { "storm_agent", "--node",	 conf->node_name,
			 "--run",	"--slurmd-port", NULL,
			 NULL };
	char port[8];

	snprintf(port, sizeof(port), "%u", conf->port);
	argv[5] = port;
	if (child_spawn(STORM_AGENT_PATH, argv, conf->conffile, -1, w.log_write,
			&w.pid))
		return SLURM_ERROR;
	w.child = true;
	w.started = storm_now();
	w.pidfd = pidfd_open(w.pid, 0);
	if (w.pidfd < 0)
		error("storm: pidfd_open: %m");
	return SLURM_SUCCESS;
}

/* The exit status of a child, 128 + its signal if killed; -1 if adopted. */
static int agent_watch_reap(void)
{
	siginfo_t si = { 0 };

	if (!w.child || waitid(P_PID, w.pid, &si, WEXITED))
		return -1;
	child_log_drain(&w.log, w.log_read, AGENT);
	if (si.si_code == CLD_EXITED)
		return si.si_status;
	error("storm: the agent (pid %d) was killed by signal %d", w.pid,
	      si.si_status);
	return 128 + si.si_status;
}

static bool agent_watch_is_dead(void)
{
	struct pollfd p = { .fd = w.pidfd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void agent_watch_end_agent(void)
{
	struct pollfd p = { .fd = w.pidfd, .events = POLLIN };

	if (w.pidfd < 0)
		return;
	pidfd_send_signal(w.pidfd, SIGTERM, NULL, 0);
	if (poll(&p, 1, STOP_LIMIT) == 0) {
		pidfd_send_signal(w.pidfd, SIGKILL, NULL, 0);
		poll(&p, 1, STOP_LIMIT);
	}
	agent_watch_reap();
	agent_watch_forget();
}

/* ---------------------------------------------------------------- adoption --- */

/* Send HELLO.  False: no answer, another build, or another storm.conf. */
static bool agent_watch_hello(void)
{
	static struct local_frame f;
	char build[128], stamp[STORM_CONF_STAMP_MAX];
	char now[STORM_CONF_STAMP_MAX];
	enum local_type type;

	local_begin(&f, LOCAL_HELLO);
	local_put32(&f, conf->port);
	if (local_send(w.sock, &f, w.log_write) ||
	    local_recv(w.sock, &f, &type) != 1 || type != LOCAL_HELLO_IS) {
		info("storm: replacing the agent (pid %d): it does not answer HELLO",
		     w.pid);
		return false;
	}
	local_get_str(&f, build, sizeof(build));
	local_get_str(&f, stamp, sizeof(stamp));
	if (!local_end(&f) || strcmp(build, AGENT_BUILD)) {
		info("storm: replacing the agent (pid %d): its version is %s, not %s",
		     w.pid, build, AGENT_BUILD);
		return false;
	}
	storm_conf_stamp(now);
	if (strcmp(stamp, now)) {
		info("storm: replacing the agent (pid %d): storm.conf or SchedulerType has changed",
		     w.pid);
		return false;
	}
	return true;
}

/* True: adopted a living agent.  False: there is none, and w has none. */
static bool agent_watch_adopt(void)
{
	w.sock = local_connect(NULL, conf->node_name, &w.pid);
	if (w.sock < 0) {
		if (errno == EPERM)
			error("storm: another user's process listens on %s/%s/agent.sock: stop it",
			      STORM_RUNDIR, conf->node_name);
		return false;
	}
	w.pidfd = pidfd_open(w.pid, 0);
	if (w.pidfd < 0) {
		agent_watch_forget();
		return false;
	}
	w.started = storm_now();
	if (agent_watch_hello()) {
		info("storm: adopted the agent, pid %d", w.pid);
		return true;
	}
	agent_watch_end_agent();
	return false;
}

/* Wait until the new child listens.  False: it ended, or failed HELLO, or
 * *end. */
static bool agent_watch_greet(bool *end)
{
	uint64_t limit = storm_now() + START_LIMIT;
	bool gone = false;

	while (!gone && !*end && storm_now() < limit) {
		w.sock = local_connect(NULL, conf->node_name, NULL);
		if (w.sock >= 0)
			return agent_watch_hello();
		*end = agent_watch_wait(20, &gone);
	}
	if (!gone && !*end)
		error("storm: the agent (pid %d) did not open its socket in %d s: killing it",
		      w.pid, (int) (START_LIMIT / STORM_SEC));
	return false;
}

/* ----------------------------------------------------------------- the thread --- */

static void agent_watch_log(bool bad, const char *text)
{
	if (bad)
		error("storm: %s", text);
	else
		info("storm: %s", text);
}

/* Watch the agent until it ends.  Returns ms to wait before the next start. */
static int agent_watch_live(bool *end, int backoff)
{
	bool gone = false;
	int status;

	while (!*end && !gone)
		*end = agent_watch_wait(gang_guard_look(false), &gone);
	if (*end)
		return 0;
	gang_guard_look(true);
	if (storm_now() - w.started > LIVED_WELL)
		backoff = BACKOFF_MIN;
	/* if it only closed its socket it is broken: kill it */
	if (w.child) {
		struct pollfd p = { .fd = w.pidfd, .events = POLLIN };

		poll(&p, 1, STOP_LIMIT);
		pidfd_send_signal(w.pidfd, SIGKILL, NULL, 0);
	}
	status = agent_watch_reap();
	if (agent_watch_is_dead())
		gang_guard_dead();
	if (status >= 0 && status < 128)
		error("storm: the agent (pid %d) ended with status %d", w.pid,
		      status);
	else if (status < 0)
		error("storm: the adopted agent (pid %d) is gone", w.pid);
	agent_watch_forget();
	return status == AGENT_EXIT_CONF ? BACKOFF_MAX : backoff;
}

static void *agent_watch_thread(void *arg)
{
	int backoff = BACKOFF_MIN, pause;
	bool end = false;

	(void) arg;
	gang_guard_begin(NULL, conf->node_name, agent_watch_log);
	while (!end) {
		if (!agent_watch_adopt() &&
		    agent_watch_spawn() == SLURM_SUCCESS &&
		    !agent_watch_greet(&end) && !end) {
			/* it failed HELLO; agent_watch_live() reaps it */
			if (!agent_watch_is_dead())
				pidfd_send_signal(w.pidfd, SIGKILL, NULL, 0);
		}
		if (end)
			break;
		pause = w.pid ? agent_watch_live(&end, backoff) : backoff;
		if (end)
			break;
		backoff = pause * 2 > BACKOFF_MAX ? BACKOFF_MAX : pause * 2;
		for (uint64_t until = storm_now() + pause * STORM_MS;
		     !end && storm_now() < until;)
			end = agent_watch_wait(
				(until - storm_now()) / STORM_MS + 1, NULL);
	}
	/* the agent stays, and notices that the socket is closed */
	gang_guard_end();
	agent_watch_forget();
	return NULL;
}

static void agent_watch_close_all(void)
{
	int *fds[] = { &w.wake, &w.log_read, &w.log_write };

	for (int i = 0; i < 3; i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

int agent_watch_start(void)
{
	int log[2], rc;

	if (!&conf || !conf || !conf->node_name) {
		error("storm: slurmd has not set its node's name: build STORM for this Slurm");
		return SLURM_ERROR;
	}
	/* non-blocking: a log message must not delay slurmd or the agent */
	if (pipe2(log, O_CLOEXEC | O_NONBLOCK)) {
		error("storm: pipe: %m");
		return SLURM_ERROR;
	}
	w.log_read = log[0];
	w.log_write = log[1];
	w.wake = eventfd(0, EFD_CLOEXEC);
	if (w.wake < 0) {
		error("storm: eventfd: %m");
		agent_watch_close_all();
		return SLURM_ERROR;
	}
	rc = pthread_create(&w.thread, NULL, agent_watch_thread, NULL);
	if (rc) {
		error("storm: pthread_create: %s", strerror(rc));
		agent_watch_close_all();
		return SLURM_ERROR;
	}
	w.running = true;
	return SLURM_SUCCESS;
}

void agent_watch_stop(void)
{
	const uint64_t one = 1;

	if (!w.running)
		return;
	if (write(w.wake, &one, sizeof(one)) != sizeof(one))
		error("storm: eventfd: %m");
	pthread_join(w.thread, NULL);
	w.running = false;
	agent_watch_close_all();
}
