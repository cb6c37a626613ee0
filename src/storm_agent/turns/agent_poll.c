/*
 * agent_poll.c - an agent that has CPUs of its own (AgentCPUs) polls for
 * strobes.
 *
 * An idle CPU needs 10 to 100 us to wake up.  Its node would switch late by
 * that much, and all nodes of a gang wait for the last one.  So the agent wakes
 * up shortly before the next strobe is due, and polls its sockets until it
 * comes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "config.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/log.h"
#include "src/common/xmalloc.h"

#include "agent_poll.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/transport/driver.h"
#include "src/storm_agent/agent.h"

/*
 * Poll from POLL_BEFORE before a strobe is due to POLL_AFTER after.
 * POLL_BEFORE covers the wake-up and the drift of clocks.  But begin at most
 * half a quantum before: the kernel throttles a real-time process that never
 * sleeps, for 50 ms in each second (sched_rt_runtime_us).
 */
#define POLL_BEFORE (500 * STORM_US)
#define POLL_AFTER (200 * STORM_US)

struct agent_poll {
	struct agent_io io; /* the timer */
	_Atomic uint64_t due;
};

int agent_poll_fd(const struct agent *a)
{
	return a->poll ? a->poll->io.fd : -1;
}

void agent_poll_wait(struct agent *a, void (*serve)(void *arg), void *arg)
{
	struct agent_poll *p = a->poll;
	uint64_t strobes = a->count.gang_strobes, expired;

	if (read(p->io.fd, &expired, sizeof(expired)) != sizeof(expired))
		return;
	while (a->count.gang_strobes == strobes &&
	       storm_now() < p->due + POLL_AFTER)
		serve(arg);
	a->count.gang_awake += a->count.gang_strobes != strobes;
}

static void agent_poll_network(void *arg)
{
	struct agent *a = arg;

	a->net.driver->poll(a->net.net);
}

static void agent_poll_ready(struct agent *a, struct agent_io *io,
			     uint32_t events)
{
	(void) io;
	(void) events;
	agent_poll_wait(a, agent_poll_network, a);
}

int agent_poll_by_main_loop(struct agent *a)
{
	if (!a->poll)
		return 0;
	a->poll->io.ready = agent_poll_ready;
	return agent_io_add(&a->ios, &a->poll->io, EPOLLIN);
}

static void agent_poll_release(struct agent_io *io)
{
	xfree(io);
}

void agent_poll_start(struct agent *a)
{
	struct agent_poll *p;

	if (!CPU_COUNT(&a->conf.agent_cpus))
		return;
	if (sched_setaffinity(0, sizeof(cpu_set_t), &a->conf.agent_cpus)) {
		error("AgentCPUs in storm.conf: this node has none of them (%m), so the agent shares those of slurmd: name CPUs that every node has");
		return;
	}
	p = xmalloc(sizeof(*p));
	p->io.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	p->io.release = agent_poll_release;
	if (p->io.fd < 0) {
		error("cannot create a timer, so the agent does not poll for strobes: %m");
		xfree(p);
		return;
	}
	a->poll = p;
}

void agent_poll_stop(struct agent *a)
{
	if (!a->poll)
		return;
	agent_io_close(&a->ios, &a->poll->io);
	a->poll = NULL;
}

void agent_poll_expect(struct agent *a, uint64_t heard, uint64_t quantum)
{
	uint64_t due = heard + quantum, from;
	struct itimerspec t = { 0 };

	if (!a->poll)
		return;
	from = due - (quantum / 2 < POLL_BEFORE ? quantum / 2 : POLL_BEFORE);
	t.it_value.tv_sec = from / STORM_SEC;
	t.it_value.tv_nsec = from % STORM_SEC;
	a->poll->due = due;
	timerfd_settime(a->poll->io.fd, TFD_TIMER_ABSTIME, &t, NULL);
}
