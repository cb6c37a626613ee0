/*
 * agent_watch.c - a thread in slurmd that runs the node agent.  It watches the
 * agent by pidfd and by pings, starts another one when it dies or does not
 * answer, and copies its messages to slurmd's log.  After a restart of slurmd it
 * adopts a living agent of the same build, so the restart loses no session
 * (doc/architecture.md, Processes and threads).
 *
 * An agent that hangs in the kernel does not die by SIGKILL.  It is left behind,
 * and the next one starts beside it.  It never returns to user mode, so it does
 * nothing any more; agent_port.c keeps its port for the next one.
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

#include "agent_left.h"
#include "agent_port.h"
#include "agent_program.h"
#include "agent_turn.h"
#include "agent_watch.h"
#include "src/gang/gang_guard.h"
#include "src/storm_common/agent_contract.h"
#include "src/storm_common/child_backoff.h"
#include "src/storm_common/child_log.h"
#include "src/storm_common/child_spawn.h"
#include "src/storm_common/local/local.h"
#include "src/storm_common/storm_conf.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"

/* slurmd's variable; other programs that load this plugin have none */
#pragma weak conf

/* after an agent that lived this long the back-off starts over */
#define LIVED_WELL (5 * STORM_SEC)
#define START_LIMIT (10 * STORM_SEC)
#define RETRY 1000	/* ms: nothing was started */
#define STOP_LIMIT 5000 /* ms */
#define KILL_LIMIT 2000 /* ms from SIGKILL to the end */
#define PING_EVERY STORM_SEC
#define PING_LIMIT (5 * STORM_SEC) /* without an answer */
/* longer between two looks: this process itself was stopped */
#define LATE (2 * STORM_SEC)
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
	uint64_t ping_at, heard, looked; /* a ping is due; its last answer */
} w = { .wake = -1, .log_read = -1, .log_write = -1, .pidfd = -1, .sock = -1 };

static struct local_frame frame; /* large; one thread */

/* Read the answers to pings.  False: the agent has closed the socket. */
static bool agent_watch_read(void)
{
	enum local_type type;
	int rc;

	while ((rc = local_recv(w.sock, &frame, &type)) == 1) {
		if (frame.fd >= 0)
			close(frame.fd);
		if (type == LOCAL_PING_IS)
			w.heard = storm_now();
	}
	return rc < 0 && errno == EAGAIN;
}

/* Wait at most ms for a descriptor.  True: this slurmd must no longer watch. */
static bool agent_watch_wait(int ms, bool *agent_gone)
{
	struct pollfd p[4] = {
		{ .fd = w.wake, .events = POLLIN },
		{ .fd = w.log_read, .events = POLLIN },
		{ .fd = w.pidfd, .events = POLLIN },
		{ .fd = w.sock, .events = POLLIN },
	};

	if (poll(p, 4, ms) < 0 && errno != EINTR) {
		error("storm: poll: %m");
		return true;
	}
	if (p[1].revents)
		child_log_drain(&w.log, w.log_read, AGENT);
	if (agent_gone)
		*agent_gone = p[2].revents ||
			      (p[3].revents && !agent_watch_read());
	return p[0].revents || !agent_turn_keep();
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
	char *argv[] = { "storm_agent",
			 "--node",
			 conf->node_name,
			 "--run",
			 "--slurmd-port",
			 NULL,
			 NULL,
			 NULL };
	int sockets[2];
	struct child_fds fds = { .in = -1,
				 .log = w.log_write,
				 .more = sockets };
	char port[8];

	snprintf(port, sizeof(port), "%u", conf->port);
	argv[5] = port;
	agent_port_sockets(sockets);
	if (sockets[0] >= 0) {
		argv[6] = "--sockets";
		fds.nmore = 2;
	}
	child_log_start(&w.log);
	if (child_spawn(agent_program, argv, conf->conffile, &fds, &w.pid))
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

/* Wait at most ms until it is dead. */
static bool agent_watch_is_dead(int pidfd, int ms)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

/* Kill the agent.  Its exit status, or -1 if it was adopted or left behind. */
static int agent_watch_kill(void)
{
	pidfd_send_signal(w.pidfd, SIGKILL, NULL, 0);
	if (agent_watch_is_dead(w.pidfd, KILL_LIMIT))
		return agent_watch_reap();
	agent_left_add(conf->node_name, w.pid, w.pidfd, w.child);
	w.pidfd = -1;
	return -1;
}

static void agent_watch_end_agent(void)
{
	if (w.pidfd < 0)
		return;
	pidfd_send_signal(w.pidfd, SIGTERM, NULL, 0);
	if (agent_watch_is_dead(w.pidfd, STOP_LIMIT))
		agent_watch_reap();
	else
		agent_watch_kill();
	agent_port_rest();
	agent_watch_forget();
}

/* ---------------------------------------------------------------- adoption --- */

/* False: the present storm.conf is wrong, and the living agent goes on with what
 * it has read. */
static bool agent_watch_conf_is_good(void)
{
	static struct storm_conf read; /* large */
	char *why = NULL;

	if (!storm_conf_load(&read, &why))
		return true;
	error("storm: %s; the agent (pid %d) keeps its settings: correct the line, then restart slurmd",
	      why, w.pid);
	xfree(why);
	return false;
}

/* Send HELLO.  False: no answer, another build, or another storm.conf. */
static bool agent_watch_hello(void)
{
	char build[128], stamp[STORM_CONF_STAMP_MAX];
	char now[STORM_CONF_STAMP_MAX];
	enum local_type type;

	local_begin(&frame, LOCAL_HELLO);
	local_put32(&frame, conf->port);
	if (local_send(w.sock, &frame, w.log_write) ||
	    local_recv(w.sock, &frame, &type) != 1 || type != LOCAL_HELLO_IS) {
		info("storm: replacing the agent (pid %d): it does not answer HELLO",
		     w.pid);
		return false;
	}
	local_get_str(&frame, build, sizeof(build));
	local_get_str(&frame, stamp, sizeof(stamp));
	/* also of one that is replaced: the port is never free */
	agent_port_adopt(w.sock);
	if (!local_end(&frame) || strcmp(build, AGENT_BUILD)) {
		info("storm: replacing the agent (pid %d): its version is %s, not %s",
		     w.pid, build, AGENT_BUILD);
		return false;
	}
	if (!agent_program_is_run_by(w.pid)) {
		info("storm: replacing the agent (pid %d): it does not run %s as it is now",
		     w.pid, agent_program);
		return false;
	}
	storm_conf_stamp(&now);
	if (strcmp(stamp, now) && agent_watch_conf_is_good()) {
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
		child_log_serves(&w.log);
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
		if (w.sock >= 0 && agent_watch_hello()) {
			child_log_serves(&w.log);
			return true;
		}
		if (w.sock >= 0)
			return false;
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

/* Send a ping when one is due.  False: the agent does not answer. */
static bool agent_watch_answers(void)
{
	uint64_t now = storm_now();

	/* then the answer waits, or the ping was not sent */
	if (now > w.looked + LATE)
		w.heard = now;
	w.looked = now;
	if (now < w.ping_at)
		return true;
	w.ping_at = now + PING_EVERY;
	agent_left_bury();
	local_begin(&frame, LOCAL_PING);
	/* without room for it the agent does not read, and will miss it */
	local_send(w.sock, &frame, -1);
	return now < w.heard + PING_LIMIT;
}

/* From now on the thread does not wait for the agent. */
static void agent_watch_begin_pings(void)
{
	fcntl(w.sock, F_SETFL, O_NONBLOCK);
	w.heard = w.looked = storm_now();
	w.ping_at = 0;
}

/* Why it could not start it has said itself. */
static void agent_watch_ended(pid_t pid, int status)
{
	bool told = status == AGENT_EXIT_FAILED && w.log.now.count;
	char kind[16];

	snprintf(kind, sizeof(kind), "%d", status);
	if (child_log_again(&w.log, kind) || told)
		verbose("storm: the agent (pid %d) ended with status %d", pid,
			status);
	else
		error("storm: the agent (pid %d) ended with status %d", pid,
		      status);
}

/* Log how the agent has ended, or end it.  Returns its exit status, or -1. */
static int agent_watch_over(bool silent)
{
	int status = -1;
	pid_t pid = w.pid;

	if (silent)
		error("storm: the agent (pid %d) has not answered for %d s: replacing it",
		      pid, (int) (PING_LIMIT / STORM_SEC));
	/* if it only closed its socket it is broken: kill it */
	if (silent || (w.child && !agent_watch_is_dead(w.pidfd, STOP_LIMIT)))
		return agent_watch_kill();
	status = agent_watch_reap();
	if (status >= 0 && status < 128)
		agent_watch_ended(pid, status);
	else if (status < 0)
		error("storm: the adopted agent (pid %d) is gone", pid);
	return status;
}

/* Watch the agent until it ends.  Returns ms to wait before the next start. */
static uint32_t agent_watch_live(bool *end, struct child_backoff *backoff)
{
	bool gone = false, silent = false, well;
	int status;

	agent_watch_begin_pings();
	while (!*end && !gone && !silent) {
		*end = agent_watch_wait(gang_guard_look(false), &gone);
		silent = !gone && !agent_watch_answers();
	}
	if (*end)
		return 0;
	gang_guard_look(true);
	well = storm_now() - w.started > LIVED_WELL;
	status = agent_watch_over(silent);
	/* one that is left behind does nothing any more, either */
	if (w.pidfd < 0 || agent_watch_is_dead(w.pidfd, 0))
		gang_guard_dead();
	agent_port_rest();
	agent_watch_forget();
	return child_backoff(backoff, status == AGENT_EXIT_CONF, well);
}

/* Adopt an agent, or start one.  False: wait and try again. */
static bool agent_watch_get(bool *end)
{
	if (agent_watch_adopt())
		return true;
	if (agent_left_full() || !agent_port_take(conf->node_name) ||
	    agent_watch_spawn() != SLURM_SUCCESS)
		return false;
	if (agent_watch_greet(end) || *end)
		return true;
	/* it failed HELLO; agent_watch_live() reaps it */
	pidfd_send_signal(w.pidfd, SIGKILL, NULL, 0);
	return true;
}

/* Wait before the next start, or until storm.conf changes, which may have been
 * the reason. */
static void agent_watch_pause(bool *end, uint32_t ms)
{
	char was[STORM_CONF_STAMP_MAX], now[STORM_CONF_STAMP_MAX];
	uint64_t until = storm_now() + ms * STORM_MS, t;

	storm_conf_stamp(&was);
	while (!*end && (t = storm_now()) < until) {
		*end = agent_watch_wait(
			storm_min((until - t) / STORM_MS + 1, RETRY), NULL);
		gang_guard_still_dead();
		storm_conf_stamp(&now);
		if (strcmp(was, now))
			return;
	}
}

/* Watch, until the thread ends or another slurmd has the turn. */
static void agent_watch_serve(void)
{
	struct child_backoff backoff = { CHILD_BACKOFF_MIN };
	uint32_t pause;
	bool end = false;

	gang_guard_begin(NULL, conf->node_name, agent_watch_log);
	while (!end) {
		if (agent_watch_get(&end) && !end) {
			pause = agent_watch_live(&end, &backoff);
		} else {
			pause = RETRY;
		}
		agent_left_bury();
		agent_watch_pause(&end, pause);
	}
	/* the agent stays, and notices that the socket is closed */
	agent_port_close();
	gang_guard_end();
	agent_watch_forget();
}

/* False: the thread is to end. */
static bool agent_watch_ask_turn(void)
{
	struct pollfd p = { .fd = w.wake, .events = POLLIN };
	bool told = false;
	int err;

	while ((err = agent_turn_begin(NULL, conf->node_name))) {
		if (!told)
			error("storm: no agent runs here, trying again: %s/%s/watch: %s",
			      STORM_RUNDIR, conf->node_name, strerror(err));
		told = true;
		if (poll(&p, 1, RETRY) == 1)
			return false;
	}
	return true;
}

static void *agent_watch_thread(void *arg)
{
	bool asks = agent_watch_ask_turn();

	(void) arg;
	while (asks && agent_turn_wait(w.wake)) {
		agent_watch_serve();
		agent_turn_give();
	}
	agent_turn_end();
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

	if (!agent_program_is_there()) {
		info("storm: this host has no %s: steps on it get Slurm's standard launch",
		     agent_program);
		return SLURM_SUCCESS;
	}
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
