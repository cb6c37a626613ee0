/*
 * agent_pulse.c - see agent_pulse.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "slurm/slurm.h"
#include "src/common/log.h"
#include "src/common/xmalloc.h"

#include "agent_pulse.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/program/pulse_thread.h"
#include "src/libstorm/protocol/nm/nm.h"
#include "src/libstorm/protocol/pulser.h"
#include "src/libstorm/transport/driver.h"
#include "src/storm_agent/agent.h"

/* SCHED_FIFO priority: below that of strobes, which stop jobs in time, and above
 * the guards'. */
#define PRIORITY 14
/* As a member of the cluster domain the main loop has something to do several
 * times a second.  If it has not run for this long, it hangs: an ordinary thread
 * was seen to wait 0.4 s for a processor. */
#define HUNG_AFTER (3 * STORM_SEC)

struct agent_pulse {
	struct agent *a;
	pthread_mutex_t lock; /* lends its holder the thread's priority */
	struct storm_pulser *pulser;
	struct storm_pulse_thread *thread;
	uint64_t session;	  /* the main loop's: the domain's; 0: none */
	_Atomic uint64_t looped;  /* when the main loop ran last */
	_Atomic uint64_t deaf_at; /* unless it hears the owner until then */
};

static void agent_pulse_send(void *arg, const struct storm_addr *to,
			     const void *buf, size_t len)
{
	struct agent_pulse *p = arg;

	p->a->net.driver->pulse->send(p->a->net.net, to, buf, len);
}

static bool agent_pulse_take(void *arg, const uint8_t *buf, size_t len,
			     uint64_t now)
{
	struct agent_pulse *p = arg;

	return storm_pulser_take(p->pulser, buf, len, now);
}

static uint64_t agent_pulse_tick(void *arg, uint64_t now)
{
	struct agent_pulse *p = arg;
	uint8_t flags = 0;

	if (now > p->looped + HUNG_AFTER)
		flags = STORM_PULSE_HUNG;
	else if (now > p->deaf_at)
		flags = STORM_PULSE_DEAF;
	storm_pulser_flags(p->pulser, flags);
	return storm_pulser_tick(p->pulser, now);
}

static const struct storm_pulse_thread_ops agent_pulse_ops = {
	.take = agent_pulse_take,
	.tick = agent_pulse_tick,
};

static void agent_pulse_free(struct agent_pulse *p)
{
	storm_pulser_destroy(p->pulser);
	pthread_mutex_destroy(&p->lock);
	xfree(p);
}

void agent_pulse_start(struct agent *a)
{
	struct agent_pulse *p;
	pthread_mutexattr_t attr;
	int refused;

	if (!a->conf.set.pulse || !a->net.driver->pulse)
		return;
	p = xmalloc(sizeof(*p));
	p->a = a;
	p->looped = storm_now();
	p->deaf_at = STORM_NEVER;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&p->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	p->pulser = storm_pulser_create(a->conf.set.pulse, agent_pulse_send, p);
	p->thread = p->pulser ?
			    storm_pulse_thread_start(a->net.driver, a->net.net,
						     &p->lock, &agent_pulse_ops,
						     p, PRIORITY, &refused) :
			    NULL;
	if (!p->thread) {
		error("signs of life have no thread of their own: while this host is busy, it may seem lost");
		agent_pulse_free(p);
		return;
	}
	if (refused)
		info("no real-time priority for signs of life (%s): while this host is busy, it may seem lost",
		     strerror(refused));
	storm_nm_pulse_elsewhere(a->nm);
	a->pulse = p;
}

void agent_pulse_stop(struct agent *a)
{
	if (!a->pulse)
		return;
	storm_pulse_thread_stop(a->pulse->thread);
	agent_pulse_free(a->pulse);
	a->pulse = NULL;
}

void agent_pulse_session(struct agent *a, uint64_t session)
{
	if (a->pulse)
		a->pulse->session = session;
}

void agent_pulse_exchange(struct agent *a)
{
	struct agent_pulse *p = a->pulse;
	struct storm_pulse_gate gate;
	bool on, same;

	if (!p)
		return;
	p->looped = storm_now();
	p->deaf_at = storm_nm_pulse_deaf_at(a->nm, p->session);
	on = p->session && storm_nm_pulse_gate(a->nm, p->session, &gate);
	pthread_mutex_lock(&p->lock);
	same = storm_pulser_same(p->pulser, on ? &gate : NULL);
	if (!same && storm_pulser_gate(p->pulser, on ? &gate : NULL, p->looped))
		on = false;
	pthread_mutex_unlock(&p->lock);
	if (same)
		return;
	a->net.driver->pulse->steer(a->net.net, on ? gate.session : 0);
	storm_pulse_thread_wake(p->thread);
}
