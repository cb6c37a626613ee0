/*
 * agent_watch.c - a thread in slurmd that runs the node agent, by the contract of
 * child_watch.h.  It asks by pings whether the agent answers.  After a restart of
 * slurmd it adopts a living agent of the same build, so the restart loses no session
 * (doc/architecture.md, Processes and threads).  agent_port.c keeps the port of an
 * agent that is left behind for the next one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/slurmd/slurmd/slurmd.h"

#include "agent_port.h"
#include "agent_program.h"
#include "agent_turn.h"
#include "agent_watch.h"
#include "src/gang/gang_guard.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/storm_common/agent_contract.h"
#include "src/storm_common/child_spawn.h"
#include "src/storm_common/child_watch.h"
#include "src/storm_common/local/local.h"
#include "src/storm_common/storm_conf.h"

/* slurmd's variable; other programs that load this plugin have none */
#pragma weak conf

#define START_LIMIT (10 * STORM_SEC)
#define RETRY 1000	/* ms: the port, or a turn, is another's */
#define STOP_LIMIT 5000 /* ms */
#define PING_EVERY STORM_SEC
#define PING_LIMIT (5 * STORM_SEC) /* without an answer */

static struct {
	pthread_t thread;
	bool running;
	int wake; /* eventfd: end the thread */
	int sock;
	uint64_t ping_at;    /* the next one is due */
	time_t read_at;	     /* slurmd's last reading of slurm.conf */
	uint64_t look_until; /* ns; after that */
	char stamp[STORM_CONF_STAMP_MAX];  /* what the agent has read */
	char judged[STORM_CONF_STAMP_MAX]; /* what was looked at since */
} watcher = { .wake = -1, .sock = -1 };

static struct child_watch agent = {
	.name = "storm: the agent (pid",
	.program = "storm_agent",
	.patience = PING_LIMIT,
	.pidfd = -1,
	.log_read = -1,
	.log_write = -1,
};

static struct local_frame frame; /* large; one thread */

/* Read the answers to pings.  False: the agent has closed the socket. */
static bool agent_watch_read(void)
{
	enum local_type type;
	int rc;

	while ((rc = local_recv(watcher.sock, &frame, &type)) == 1) {
		if (frame.fd >= 0)
			close(frame.fd);
		if (type == LOCAL_PING_IS)
			child_watch_heard(&agent, storm_now());
	}
	return rc < 0 && errno == EAGAIN;
}

/* Wait at most ms for a descriptor.  True: this slurmd must no longer watch. */
static bool agent_watch_wait(int ms, bool *agent_gone)
{
	struct pollfd p[4] = {
		{ .fd = watcher.wake, .events = POLLIN },
		{ .fd = agent.log_read, .events = POLLIN },
		{ .fd = agent.pidfd, .events = POLLIN },
		{ .fd = watcher.sock, .events = POLLIN },
	};

	if (poll(p, 4, ms) < 0 && errno != EINTR) {
		error("storm: poll: %m");
		return true;
	}
	if (p[1].revents)
		child_watch_drain(&agent);
	if (agent_gone)
		*agent_gone = p[2].revents ||
			      (p[3].revents && !agent_watch_read());
	return p[0].revents || !agent_turn_keep();
}

/* ------------------------------------------------------------ start and end --- */

static void agent_watch_forget(void)
{
	child_watch_forget(&agent);
	if (watcher.sock >= 0)
		close(watcher.sock);
	watcher.sock = -1;
}

static bool agent_watch_spawn(void)
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
				 .log = agent.log_write,
				 .more = sockets };
	char port[8];
	pid_t pid;

	snprintf(port, sizeof(port), "%u", conf->port);
	argv[5] = port;
	agent_port_sockets(sockets);
	if (sockets[0] >= 0) {
		argv[6] = "--sockets";
		fds.nmore = 2;
	}
	if (child_spawn(agent_program, argv, conf->conffile, &fds, &pid)) {
		child_watch_failed(&agent);
		return false;
	}
	return !child_watch_began(&agent, pid, true);
}

/* End the agent.  Returns as child_watch_end(). */
static int agent_watch_end(int signal, int ms)
{
	int status = child_watch_end(&agent, signal, ms);
	char path[PATH_MAX];

	/* the next one can make its own */
	if (child_watch_was_left(&agent) &&
	    !local_path(NULL, conf->node_name, path, sizeof(path)))
		unlink(path);
	return status;
}

static void agent_watch_replace(void)
{
	agent_watch_end(SIGTERM, STOP_LIMIT);
	child_watch_at_once(&agent);
	agent_port_rest();
	agent_watch_forget();
}

/* ---------------------------------------------------------------- adoption --- */

/* What was there when the agent was greeted, and now.  Large. */
static struct storm_conf agent_conf, agent_conf_now;

/* False: the present storm.conf is wrong, and the living agent goes on with what
 * it has read. */
static bool agent_watch_conf_is_good(void)
{
	char *why = NULL;

	if (!storm_conf_load(&agent_conf_now, &why))
		return true;
	error("storm: %s; the agent (pid %d) keeps its settings: correct the line, then \"scontrol reconfigure\"",
	      why, agent.pid);
	xfree(why);
	return false;
}

/* Has the agent read what is there now?  slurmd itself may have an older
 * SchedulerType: it reads slurm.conf at its own start and at a reconfigure alone.  An
 * agent that it starts reads the file then, and the next one would read the same. */
static bool agent_watch_conf_is_same(void)
{
	char now[STORM_CONF_STAMP_MAX];

	storm_conf_stamp(&now);
	if (agent.child)
		return !strncmp(watcher.stamp, now,
				strrchr(now, ' ') - now + 1);
	return !strcmp(watcher.stamp, now);
}

static void agent_watch_say_old(void)
{
	info("storm: replacing the agent (pid %d): storm.conf or SchedulerType has changed",
	     agent.pid);
}

/* Send HELLO.  False: no answer, another build, or another storm.conf. */
static bool agent_watch_hello(void)
{
	char build[128];
	enum local_type type;

	local_begin(&frame, LOCAL_HELLO);
	local_put32(&frame, conf->port);
	if (local_send(watcher.sock, &frame, agent.log_write) ||
	    local_recv(watcher.sock, &frame, &type) != 1 ||
	    type != LOCAL_HELLO_IS) {
		info("storm: replacing the agent (pid %d): it does not answer HELLO",
		     agent.pid);
		return false;
	}
	local_get_str(&frame, build, sizeof(build));
	local_get_str(&frame, watcher.stamp, sizeof(watcher.stamp));
	/* also of one that is replaced: the port is never free */
	agent_port_adopt(watcher.sock);
	if (!local_end(&frame) || strcmp(build, AGENT_BUILD)) {
		info("storm: replacing the agent (pid %d): its version is %s, not %s",
		     agent.pid, build, AGENT_BUILD);
		return false;
	}
	if (!agent_program_is_run_by(agent.pid)) {
		info("storm: replacing the agent (pid %d): it does not run %s as it is now",
		     agent.pid, agent_program);
		return false;
	}
	if (!agent_watch_conf_is_same() && agent_watch_conf_is_good()) {
		agent_watch_say_old();
		return false;
	}
	return true;
}

/* True: adopted a living agent.  False: there is none. */
static bool agent_watch_adopt(void)
{
	pid_t pid;

	watcher.sock = local_connect(NULL, conf->node_name, &pid);
	if (watcher.sock < 0) {
		if (errno == EPERM)
			error("storm: another user's process listens on %s/%s/agent.sock: stop it",
			      STORM_RUNDIR, conf->node_name);
		return false;
	}
	if (child_watch_began(&agent, pid, false)) {
		agent_watch_forget();
		return false;
	}
	if (agent_watch_hello()) {
		child_watch_serves(&agent);
		info("storm: adopted the agent, pid %d", agent.pid);
		return true;
	}
	agent_watch_replace();
	return false;
}

/* Wait until the new child listens.  False: it ended, or failed HELLO, or
 * *end. */
static bool agent_watch_greet(bool *end)
{
	uint64_t limit = storm_now() + START_LIMIT;
	bool gone = false;

	while (!gone && !*end && storm_now() < limit) {
		watcher.sock = local_connect(NULL, conf->node_name, NULL);
		if (watcher.sock >= 0 && agent_watch_hello()) {
			child_watch_serves(&agent);
			return true;
		}
		if (watcher.sock >= 0)
			return false;
		*end = agent_watch_wait(20, &gone);
	}
	if (!gone && !*end)
		error("storm: the agent (pid %d) did not open its socket in %d s: killing it",
		      agent.pid, (int) (START_LIMIT / STORM_SEC));
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
	bool hangs = child_watch_hangs(&agent, now);

	if (hangs || now < watcher.ping_at)
		return !hangs;
	watcher.ping_at = now + PING_EVERY;
	child_watch_bury(&agent);
	local_begin(&frame, LOCAL_PING);
	/* without room for it the agent does not read, and will miss it */
	local_send(watcher.sock, &frame, -1);
	return true;
}

/* Has slurmd read slurm.conf again?  The time is in seconds: so also for a second more. */
static bool agent_watch_was_read(void)
{
	time_t at;

	slurm_conf_lock();
	at = slurm_conf.last_update;
	slurm_conf_unlock();
	if (at != watcher.read_at) {
		watcher.judged[0] = '\0';
		watcher.look_until = storm_now() + 2 * STORM_SEC;
	}
	watcher.read_at = at;
	return storm_now() < watcher.look_until;
}

/* From now on the thread does not wait for the agent. */
static void agent_watch_begin_pings(void)
{
	char *why = NULL;

	/* a file that is wrong, or has changed meanwhile, is not what it has: any
	 * good one differs then */
	if (storm_conf_load(&agent_conf, &why) || !agent_watch_conf_is_same())
		memset(&agent_conf, 0, sizeof(agent_conf));
	xfree(why);
	/* what slurmd read before this agent is no reconfigure */
	agent_watch_was_read();
	watcher.look_until = 0;
	agent.log.all = agent_conf.log == CONF_LOG_DEBUG;
	fcntl(watcher.sock, F_SETFL, O_NONBLOCK);
	child_watch_heard(&agent, storm_now());
	watcher.ping_at = 0;
}

/* The agent has ended, or is to. */
static void agent_watch_over(bool silent)
{
	if (silent) {
		agent_watch_end(0, 0);
	} else if (agent.child) {
		/* if it only closed its socket it is broken: kill it */
		child_watch_tell(&agent, agent_watch_end(0, STOP_LIMIT));
	} else {
		error("storm: the adopted agent (pid %d) is gone", agent.pid);
		/* if it lives it may be adopted again */
		if (child_watch_is_dead(&agent, STOP_LIMIT))
			agent_watch_end(0, 0);
		else
			child_watch_failed(&agent);
	}
}

/* Since slurmd has read slurm.conf again: is what is there now what the agent has?  Keys
 * of slurmctld and of commands change nothing for an agent, which stays. */
static bool agent_watch_is_old(void)
{
	char now[STORM_CONF_STAMP_MAX];

	if (!agent_watch_was_read())
		return false;
	storm_conf_stamp(&now);
	if (!strcmp(watcher.stamp, now) || !strcmp(watcher.judged, now))
		return false;
	strcpy(watcher.judged, now);
	if (!agent_watch_conf_is_good() ||
	    (!strcmp(strrchr(watcher.stamp, ' '), strrchr(now, ' ')) &&
	     !storm_conf_is_agents(&agent_conf, &agent_conf_now)))
		return false;
	agent_watch_say_old();
	return true;
}

/* Watch the agent until it ends, or is to make room for another one. */
static void agent_watch_live(bool *end)
{
	bool gone = false, silent = false, old = false;

	agent_watch_begin_pings();
	while (!*end && !gone && !silent && !old) {
		*end = agent_watch_wait(gang_guard_look(false), &gone);
		silent = !gone && !agent_watch_answers();
		old = !gone && agent_watch_is_old();
	}
	if (*end)
		return;
	gang_guard_look(true);
	if (old) {
		agent_watch_end(SIGTERM, STOP_LIMIT);
		child_watch_at_once(&agent);
	} else {
		agent_watch_over(silent);
	}
	/* one that is left behind does nothing any more, either */
	if (child_watch_was_left(&agent) || child_watch_is_dead(&agent, 0))
		gang_guard_dead();
	agent_port_rest();
	agent_watch_forget();
}

/* Adopt an agent, or start one.  False: try again later. */
static bool agent_watch_get(bool *end)
{
	if (agent_watch_adopt())
		return true;
	if (!child_watch_due(&agent, storm_now()))
		return false;
	if (!agent_port_take(conf->node_name)) {
		agent.start_at = storm_now() + RETRY * STORM_MS;
		return false;
	}
	if (!agent_watch_spawn())
		return false;
	if (agent_watch_greet(end) || *end)
		return true;
	/* it failed HELLO; agent_watch_live() reaps it */
	kill(agent.pid, SIGKILL);
	return true;
}

/* Wait until the next start is due, or storm.conf changes, which may have been the
 * reason. */
static void agent_watch_pause(bool *end)
{
	char was[STORM_CONF_STAMP_MAX], now[STORM_CONF_STAMP_MAX];
	uint64_t t;

	storm_conf_stamp(&was);
	while (!*end && !child_watch_due(&agent, t = storm_now())) {
		uint64_t left = agent.start_at > t ? agent.start_at - t :
						     STORM_SEC;

		*end = agent_watch_wait(storm_min(left / STORM_MS + 1, RETRY),
					NULL);
		gang_guard_still_dead();
		child_watch_bury(&agent);
		storm_conf_stamp(&now);
		if (strcmp(was, now)) {
			child_watch_at_once(&agent);
			return;
		}
	}
}

/* Watch, until the thread ends or another slurmd has the turn. */
static void agent_watch_serve(void)
{
	bool end = false;

	gang_guard_begin(NULL, conf->node_name, agent_watch_log);
	while (!end) {
		if (agent_watch_get(&end) && !end)
			agent_watch_live(&end);
		agent_watch_pause(&end);
	}
	/* the agent stays, and notices that the socket is closed */
	agent_port_close();
	gang_guard_end();
	agent_watch_forget();
}

/* False: the thread is to end. */
static bool agent_watch_ask_turn(void)
{
	struct pollfd p = { .fd = watcher.wake, .events = POLLIN };
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
	while (asks && agent_turn_wait(watcher.wake)) {
		agent_watch_serve();
		agent_turn_give();
	}
	agent_turn_end();
	return NULL;
}

static void agent_watch_close_all(void)
{
	child_watch_close(&agent);
	if (watcher.wake >= 0)
		close(watcher.wake);
	watcher.wake = -1;
}

int agent_watch_start(void)
{
	int rc;

	if (!agent_program_is_there()) {
		info("storm: this host has no %s: steps on it get Slurm's standard launch",
		     agent_program);
		return SLURM_SUCCESS;
	}
	if (!&conf || !conf || !conf->node_name) {
		error("storm: slurmd has not set its node's name: build STORM for this Slurm");
		return SLURM_ERROR;
	}
	if (child_watch_open(&agent)) {
		error("storm: pipe: %m");
		return SLURM_ERROR;
	}
	watcher.wake = eventfd(0, EFD_CLOEXEC);
	if (watcher.wake < 0) {
		error("storm: eventfd: %m");
		agent_watch_close_all();
		return SLURM_ERROR;
	}
	rc = pthread_create(&watcher.thread, NULL, agent_watch_thread, NULL);
	if (rc) {
		error("storm: pthread_create: %s", strerror(rc));
		agent_watch_close_all();
		return SLURM_ERROR;
	}
	watcher.running = true;
	return SLURM_SUCCESS;
}

void agent_watch_stop(void)
{
	const uint64_t one = 1;

	if (!watcher.running)
		return;
	if (write(watcher.wake, &one, sizeof(one)) != sizeof(one))
		error("storm: eventfd: %m");
	pthread_join(watcher.thread, NULL);
	watcher.running = false;
	agent_watch_close_all();
}
