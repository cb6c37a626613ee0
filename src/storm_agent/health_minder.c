/*
 * health_minder.c - be storm_minder: see agent_health.h.
 *
 * The agent cannot start storm_health again, because it has dropped the capabilities
 * that the site's program needs.  Nor can it start storm_minder.  So storm_health, which
 * has them, becomes storm_minder if that dies, and starts a storm_health of its own.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "config.h"

#include <poll.h>
#include <signal.h>
#include <strings.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "agent.h"
#include "agent_cred.h"
#include "agent_health.h"
#include "src/libstorm/base/clock.h"
#include "src/storm_agent/health/health_keeper.h"
#include "src/storm_common/child_watch.h"
#include "src/storm_common/local/local.h"
#include "src/storm_common/slurm_conf_kept.h"

#define SOCKET 3

static struct {
	struct storm_conf conf;
	struct health_place at;
	const char *spool, *program;
} minder;

/* It writes no log: the agent says what is wrong. */
static struct child_watch health = {
	.name = "the process that checks this node's health (storm_health, pid",
	.program = "storm_health",
	.pidfd = -1,
	.log_read = -1,
	.log_write = -1,
};

/* The site's program, or Slurm's own, or NULL. */
static const char *health_minder_program(const struct storm_health_conf *c)
{
	if (!strcasecmp(c->program, "none"))
		return NULL;
	return c->program[0] ? c->program : slurm_conf.health_check_program;
}

/* This program once more, as the agent has started it: agent_health.c. */
static _Noreturn void health_minder_succeed(void)
{
	char port[8];
	char *argv[] = { "storm_minder",
			 "--node",
			 (char *) minder.at.node,
			 "--health",
			 "--slurmd-port",
			 port,
			 NULL };

	snprintf(port, sizeof(port), "%u", minder.at.slurmd_port);
	execv("/proc/self/exe", argv);
	_exit(1); /* the agent says that nobody checks */
}

/* Without its parent nobody would start it again.  It takes the parent's place. */
static _Noreturn void health_minder_child(pid_t parent)
{
	log_options_t quiet = LOG_OPTS_STDERR_ONLY;
	int pidfd = pidfd_open(parent, 0);

	if (getppid() != parent)
		health_minder_succeed();
	if (pidfd < 0)
		_exit(1);
	prctl(PR_SET_NAME, "storm_health");
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	quiet.stderr_level = LOG_LEVEL_QUIET;
	log_alter(quiet, 0, NULL);
	/* later releases than 22.05 load no plugin by themselves to ask slurmd */
	agent_cred_start();
	health_keep(SOCKET, pidfd, &minder.conf.health, &minder.at,
		    minder.spool, minder.program);
	health_minder_succeed();
}

static void health_minder_start(void)
{
	pid_t parent = getpid(), pid = fork();

	if (!pid)
		health_minder_child(parent);
	if (pid > 0) {
		child_watch_began(&health, pid, true);
		return;
	}
	error("cannot start storm_health: %m");
	child_watch_failed(&health);
}

/* Ends this process if the agent has closed the socket. */
static void health_minder_told(void)
{
	char byte;
	bool gone = recv(SOCKET, &byte, sizeof(byte), MSG_DONTWAIT) == 0;

	if (health.pid) {
		if (!gone)
			error("%s %d) does not answer: replacing it",
			      health.name, health.pid);
		child_watch_end(&health, SIGKILL, CHILD_KILL_LIMIT);
		child_watch_forget(&health);
	}
	if (gone)
		_exit(0);
}

/* A death that follows soon on a start makes the next one wait, up to a minute. */
static void health_minder_turn(void)
{
	struct pollfd p[] = {
		{ .fd = SOCKET, .events = POLLIN },
		{ .fd = health.pid ? health.pidfd : -1, .events = POLLIN },
	};

	child_watch_bury(&health);
	if (child_watch_due(&health, storm_now())) {
		health_minder_start();
		return;
	}
	poll(p, 2, health.pid ? -1 : CHILD_BACKOFF_MIN);
	if (p[0].revents) {
		health_minder_told();
	} else if (p[1].revents) {
		child_watch_tell(&health, child_watch_end(&health, 0, 0));
		child_watch_forget(&health);
	}
}

_Noreturn void agent_health_run(const char *node, uint16_t slurmd_port)
{
	log_options_t opts = LOG_OPTS_STDERR_ONLY;
	char *dir = xstrdup_printf("%s/%s", STORM_RUNDIR, node);
	char *why;

	opts.stderr_level = LOG_LEVEL_QUIET; /* the agent has said it */
	log_init("storm_agent", opts, 0, NULL);
	free(slurm_conf_kept_init(dir));
	if (storm_conf_load_kept(dir, &minder.conf, NULL, &why) ==
	    STORM_CONF_NONE)
		_exit(1);
	child_log_wanted(minder.conf.log, 0);
	prctl(PR_SET_NAME, "storm_minder");
	/* as with storm_keeper: the agent alone ends it */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	minder.at = (struct health_place) {
		.node = node,
		.slurmd_port = slurmd_port,
		.conf = slurm_conf.slurm_conf,
	};
	minder.spool = slurm_conf_expand_slurmd_path(slurm_conf.slurmd_spooldir,
						     node, NULL);
	minder.program = health_minder_program(&minder.conf.health);
	/* the checks of one that has taken its parent's place */
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	child_watch_at_once(&health);
	for (;;)
		health_minder_turn();
}
