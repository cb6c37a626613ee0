/*
 * agent_health.c - see agent_health.h.
 *
 * The process is this program once more, with --health: a fork of the agent would
 * inherit its keys and sockets.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/log.h"

#include "agent.h"
#include "agent_health.h"
#include "agent_session.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/protocol/nm/nm.h"
#include "src/storm_agent/health/health_keeper.h"
#include "src/storm_common/child_spawn.h"
#include "src/storm_common/health_word.h"

#define SOCKET 3
#define FD_MIN 64 /* see child_spawn() */

void agent_health_session(const struct agent_session *s)
{
	uint64_t value = s->a->health.value;

	if (!s->cluster)
		value = (uint64_t) health_cause_of(value);
	storm_nm_own_set(s->a->nm, s->id, HEALTH_VAR, value);
}

/* Say it in the cluster domain. */
static void agent_health_set(struct agent *a, enum health_cause cause,
			     const char *text)
{
	struct agent_health *h = &a->health;
	bool same = cause == health_cause_of(h->value);

	if (!same)
		h->value += HEALTH_CAUSES + (uint64_t) cause -
			    (uint64_t) health_cause_of(h->value);
	if (cause && (!same || strcmp(h->text, text) != 0))
		info("this node is not well (%s): %s", health_word(cause),
		     text);
	else if (!same)
		info("this node is well again");
	snprintf(h->text, sizeof(h->text), "%s", cause ? text : "");
	for (const struct agent_session *s = a->sessions; s && !same;
	     s = s->next)
		if (s->cluster)
			agent_health_session(s);
}

static void agent_health_ended(struct agent *a)
{
	agent_io_close(&a->ios, &a->health.io);
	error("storm_health and the process that starts it (storm_minder) have ended: restart slurmd");
	a->health.due = STORM_NEVER;
	agent_health_set(a, HEALTH_UNCHECKED,
			 "the process that checks is gone");
}

/* storm_health takes its place, if that has not ended, too. */
static void agent_health_minder_ended(struct agent *a, struct agent_io *io,
				      uint32_t events)
{
	siginfo_t si;
	const char *how = agent_io_reap(&a->ios, io, &si);

	(void) events;
	error("the process that starts storm_health (storm_minder, pid %d) %s %d: storm_health takes its place",
	      si.si_pid, how, si.si_status);
}

static void agent_health_hear(struct agent *a, struct agent_io *io,
			      uint32_t events)
{
	struct health_report r;
	ssize_t n;

	(void) events;
	while ((n = recv(io->fd, &r, sizeof(r), MSG_DONTWAIT)) == sizeof(r)) {
		r.text[sizeof(r.text) - 1] = '\0';
		a->health.due = storm_now() + a->health.patience;
		agent_health_set(a,
				 r.cause < HEALTH_CAUSES ?
					 (enum health_cause) r.cause :
					 HEALTH_UNCHECKED,
				 r.text);
	}
	if (!n || (n < 0 && errno != EAGAIN && errno != EINTR))
		agent_health_ended(a);
}

static int agent_health_exec(struct agent *a, int sock, pid_t *pid)
{
	char port[8];
	char *argv[] = { "storm_minder",
			 "--node",
			 (char *) a->node,
			 "--health",
			 "--slurmd-port",
			 port,
			 NULL };
	const struct child_fds fds = {
		.in = -1, .log = STDERR_FILENO, .more = &sock, .nmore = 1
	};

	snprintf(port, sizeof(port), "%u", a->slurmd.port);
	return child_spawn("/proc/self/exe", argv, NULL, &fds, pid);
}

void agent_health_start(struct agent *a)
{
	struct agent_io *io = &a->health.io;
	struct agent_io *minder = &a->health.minder;
	int pair[2], high, rc;
	pid_t pid = -1;

	io->fd = minder->fd = -1;
	a->health.due = STORM_NEVER;
	if (!a->conf.health.period)
		return;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		error("this node's health is not checked: socketpair: %m");
		return;
	}
	high = fcntl(pair[1], F_DUPFD_CLOEXEC, FD_MIN);
	rc = high < 0 ? errno : agent_health_exec(a, high, &pid);
	close(pair[1]);
	if (high >= 0)
		close(high);
	io->fd = pair[0];
	io->ready = agent_health_hear;
	if (rc || agent_io_add(&a->ios, io, EPOLLIN)) {
		error("this node's health is not checked: %s",
		      strerror(rc ? rc : errno));
		close(io->fd);
		io->fd = -1;
		return;
	}
	/* unwatched it is a zombie as it ends, and nothing else */
	minder->ready = agent_health_minder_ended;
	minder->fd = pidfd_open(pid, 0);
	if (minder->fd >= 0 && agent_io_add(&a->ios, minder, EPOLLIN))
		minder->fd = -1;
	/* three rounds, in which each check may hang */
	a->health.patience = 3 * (a->conf.health.period +
				  health_round_limit(&a->conf.health));
	a->health.due = storm_now() + a->health.patience;
}

void agent_health_stop(struct agent *a)
{
	agent_io_close(&a->ios, &a->health.minder);
	agent_io_close(&a->ios, &a->health.io);
}

uint64_t agent_health_tick(struct agent *a, uint64_t now)
{
	if (now >= a->health.due) {
		/* whatever comes there means: start another one */
		send(a->health.io.fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
		a->health.due = now + a->health.patience;
		agent_health_set(a, HEALTH_UNCHECKED,
				 "the process that checks does not answer");
	}
	return a->health.due;
}
