/*
 * agent_loop.c - see agent_loop.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/log.h"

#include "agent_flood.h"
#include "agent_local.h"
#include "agent_loop.h"
#include "agent_neighbours.h"
#include "agent_place.h"
#include "agent_pulse.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/protocol/nm/nm.h"
#include "src/libstorm/transport/driver.h"
#include "src/storm_agent/agent.h"
#include "src/storm_agent/agent_file.h"
#include "src/storm_agent/agent_health.h"
#include "src/storm_agent/agent_launch.h"
#include "src/storm_agent/agent_libdir.h"
#include "src/storm_agent/turns/agent_gang.h"
#include "src/storm_common/gang_map.h"

#define OLD_AFTER STORM_SEC /* see agent_loop_read_old() */
#define WAIT_MAX (3600 * STORM_SEC)

/* ----------------------------------------------------------------- signals --- */

static void agent_loop_signal(struct agent *a, struct agent_io *io,
			      uint32_t events)
{
	struct signalfd_siginfo si;

	(void) events;
	while (read(io->fd, &si, sizeof(si)) == sizeof(si)) {
		info("signal %u from process %u, ending", si.ssi_signo,
		     si.ssi_pid);
		a->stop = true;
	}
}

int agent_loop_signals(struct agent *a)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGCONT); /* for the thread that takes strobes */
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (pthread_sigmask(SIG_BLOCK, &set, NULL))
		return -1;
	a->signal_io.ready = agent_loop_signal;
	a->signal_io.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (a->signal_io.fd < 0)
		return -1;
	return agent_io_add(&a->ios, &a->signal_io, EPOLLIN);
}

/* -------------------------------------------------------------- main loop --- */

/* End the agent after AgentLinger without a slurmd.  Returns when. */
static uint64_t agent_loop_orphan_tick(struct agent *a, uint64_t now)
{
	if (a->slurmd.lifelines)
		return STORM_NEVER;
	if (!a->slurmd.orphan_until)
		a->slurmd.orphan_until = now + a->conf.agent_linger;
	if (now >= a->slurmd.orphan_until) {
		info("no slurmd for %.1f s, ending",
		     a->conf.agent_linger / 1e9);
		a->stop = true;
	}
	return a->slurmd.orphan_until;
}

/* Run the timers of all parts.  Returns when the next one is due. */
static uint64_t agent_loop_tick(struct agent *a, uint64_t now)
{
	uint64_t next = storm_nm_tick(a->nm, now);
	/* in this order */
	uint64_t (*const parts[])(struct agent * a, uint64_t now) = {
		agent_launch_tick,     agent_libdir_tick,
		agent_file_tick,       agent_gang_tick,
		agent_flood_tick,      agent_loop_orphan_tick,
		agent_neighbours_tick, agent_local_tick,
		agent_place_tick,      agent_health_tick,
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		uint64_t due = parts[i](a, now);

		if (due < next)
			next = due;
	}
	return a->answers.first ? 0 : next;
}

/*
 * What is in the sockets after a stop of this process is old.  Read all of it,
 * and obey no strobe in it.  The thread that takes strobes does so itself.
 * Data may come too fast to empty the sockets: what is read OLD_AFTER later
 * counts as new.
 */
static void agent_loop_read_old(struct agent *a, uint64_t now)
{
	struct pollfd p = { .fd = a->net.io.fd, .events = POLLIN };
	uint32_t returns = a->away.returns;

	if (!a->away.since)
		a->away.since = now;
	a->net.driver->poll(a->net.net);
	if (poll(&p, 1, 0) > 0 && now < a->away.since + OLD_AFTER)
		return;
	a->away.returned = returns;
	a->away.since = 0;
}

/* The ms from now to next, rounded up. */
static int agent_loop_wait(uint64_t now, uint64_t next)
{
	if (next <= now)
		return 0;
	if (next - now > WAIT_MAX)
		return WAIT_MAX / STORM_MS;
	return (next - now + STORM_MS - 1) / STORM_MS;
}

void agent_loop_run(struct agent *a)
{
	uint64_t due = STORM_NEVER - GANG_AWAY;

	while (!a->stop) {
		uint64_t now = storm_now(), next;
		uint32_t returns;
		int ms;

		/* late: this process was stopped, or the whole host, or a
		 * part of this loop took long, which does not concern turns */
		if (now > due + GANG_AWAY)
			a->away.returned = a->away.returns - 1;
		if (agent_is_back(a))
			agent_loop_read_old(a, now);
		agent_gang_exchange(a);
		agent_pulse_exchange(a);
		next = agent_loop_tick(a, now);
		returns = a->away.returns;
		now = storm_now();
		ms = agent_loop_wait(now, next);
		due = now + ms * STORM_MS;
		if (agent_io_serve(&a->ios, a, ms)) {
			if (errno != EINTR) {
				error("epoll_wait: %m");
				return;
			}
			/* stopped, or a frozen group was thawed; the other
			 * thread may have counted it */
			if (a->away.returns == returns)
				a->away.returns++;
			agent_gang_returned(a);
		}
		agent_answer_give(&a->answers, a->nm);
		agent_io_bury(&a->ios);
	}
}
