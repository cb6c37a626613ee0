/*
 * agent_strobe.c - the thread that takes strobes, with a real-time priority
 * while jobs share this node.
 *
 * It reads a socket of its own, to which the kernel passes strobes alone
 * (src/libstorm/transport/udp/udp_strobe.c), and it obeys them itself.  All
 * else is the main loop's, which has no real-time priority: whatever is sent to
 * this node, and whatever keeps the main loop busy, a strobe does not wait for
 * it, and the jobs lose no more than their share of a CPU.
 *
 * The thread has a copy of a part of the main loop's state, the gate
 * (strobe.h): the owner whose strobes count, and the tree children.  The main
 * loop brings it up to date each time before it reads datagrams
 * (agent_gang_exchange()).  A strobe that the kernel does not know as one comes
 * to the main loop, as the first one of an owner does.  If its seal is good and
 * its number new, the main loop obeys it, and has the kernel pass the next ones
 * from there to the thread.
 *
 * Some networks have no such socket (verbs).  Then the main loop takes all
 * strobes, and has the priority.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/log.h"
#include "src/common/xmalloc.h"

#include "agent_gang.h"
#include "agent_gang_private.h"
#include "agent_poll.h"
#include "agent_strobe.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/protocol/nm/nm.h"
#include "src/libstorm/protocol/strobe.h"
#include "src/libstorm/transport/driver.h"
#include "src/storm_agent/agent_session.h"
#include "src/storm_common/no_gang.h"

#define OLD_MAX 65536 /* strobes that are read after a stop, at most */

/*
 * What passes the kernel's filter and is no strobe comes from somebody who
 * forges the address of a host that strobes.  If that is too much in a time,
 * the strobes share the fate of all datagrams for a while, in the main loop.
 */
#define REFUSED_TIME (100 * STORM_MS)
#define REFUSED_MAX 50

static void agent_strobe_clear(int fd)
{
	uint64_t n;

	if (read(fd, &n, sizeof(n)) < 0)
		return; /* it was not signalled */
}

/* ------------------------------------------------------------ in the thread --- */

/* For the signal handler. */
static _Atomic uint32_t *agent_strobe_returns;

static void agent_strobe_continued(int sig)
{
	(void) sig;
	++*agent_strobe_returns;
}

/* Only this thread takes SIGCONT.  So after a stop the handler runs before
 * anything else in it. */
static void agent_strobe_hear_stops(struct agent *a)
{
	struct sigaction act = { .sa_handler = agent_strobe_continued,
				 .sa_flags = SA_RESTART };
	sigset_t set;

	agent_strobe_returns = &a->away.returns;
	sigaction(SIGCONT, &act, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCONT);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static bool agent_strobe_is_back(const struct agent_strobe *s)
{
	return s->returned != s->a->away.returns;
}

/* Locked.  Somebody sends what passes the filter. */
static void agent_strobe_refuse(struct agent_strobe *s)
{
	uint64_t now = storm_now();

	if (now - s->refused_since > REFUSED_TIME) {
		s->refused_since = now;
		s->refused = 0;
	}
	if (++s->refused < REFUSED_MAX || s->muted)
		return;
	s->ops->mute(s->a->net.net);
	s->muted = true;
	agent_gang_news(s->a->gang);
}

/* Locked.  Unseal what came, and pass it on: others are waiting, too. */
static bool agent_strobe_take(struct agent_strobe *s, size_t len)
{
	const struct storm_gate *gate = &s->taker.gate;

	if (!storm_strobes_take(&s->taker, s->buf, len, &s->strobe)) {
		agent_strobe_refuse(s);
		return false;
	}
	for (uint32_t i = 0; s->strobe.relay && i < gate->children; i++)
		s->ops->send(s->a->net.net, &gate->child[i], s->buf, len);
	s->taken++;
	s->a->count.gang_fast++;
	s->number = s->strobe.number;
	s->at = storm_now();
	return true;
}

/* Receive and take one; false: there is none. */
static bool agent_strobe_next(struct agent_strobe *s, bool obey)
{
	uint64_t at;
	ssize_t n = s->fd < 0 ? -1 :
				s->ops->receive(s->a->net.net, s->buf,
						sizeof(s->buf), &at);
	struct agent_gang *g = s->a->gang;

	if (n < 0)
		return false;
	agent_gang_lock(g);
	if (agent_strobe_take(s, n) && obey && !agent_strobe_is_back(s))
		agent_gang_obey(g, s->strobe.number, s->strobe.body,
				s->strobe.len, at);
	agent_gang_unlock(g);
	return true;
}

static void agent_strobe_receive(void *arg)
{
	struct agent_strobe *s = arg;

	while (!agent_strobe_is_back(s) && agent_strobe_next(s, true))
		;
}

/* Act by a strobe whose time has come, or is so near that a thread which sleeps
 * would wake up late. */
static void agent_strobe_act(struct agent_strobe *s)
{
	struct agent_gang *g = s->a->gang;
	uint64_t due, awake;

	agent_gang_lock(g);
	due = gang_agreed_due(turns_agreed_time(g->turns));
	awake = gang_agreed_awake(turns_agreed_time(g->turns));
	agent_gang_unlock(g);
	if (storm_now() < awake)
		return;
	while (storm_now() < due && !agent_strobe_is_back(s))
		;
	agent_gang_lock(g);
	if (!agent_strobe_is_back(s))
		agent_gang_agreed(g);
	agent_gang_unlock(g);
}

static void agent_strobe_poll(void *arg)
{
	agent_strobe_receive(arg);
	agent_strobe_act(arg);
}

/* What is in the socket after a stop of this process is old. */
static void agent_strobe_read_old(struct agent_strobe *s)
{
	struct agent_gang *g = s->a->gang;
	uint32_t returns = s->a->away.returns;

	agent_gang_lock(g);
	agent_gang_return(g);
	agent_gang_unlock(g);
	for (int i = 0; i < OLD_MAX && agent_strobe_next(s, false); i++)
		;
	s->returned = returns;
}

/* Locked.  Not if others wait for what comes, or if the main loop hears it. */
static bool agent_strobe_may_be_deaf(const struct agent_strobe *s, uint64_t now)
{
	return s->steered && !s->muted &&
	       !(s->strobe.relay && s->taker.gate.children) &&
	       gang_agreed_deaf(turns_agreed_time(s->a->gang->turns), now);
}

/* It has slept until its alarm.  Before it does anything: how late is it? */
static void agent_strobe_woke(struct agent_strobe *s)
{
	struct agent_gang *g = s->a->gang;
	uint64_t now = storm_now();

	if (now < s->alarm)
		return;
	agent_gang_lock(g);
	agent_gang_woke(g, now - s->alarm);
	agent_gang_unlock(g);
}

/* Do what time demands.  Returns when to do so again; 0: end. */
static uint64_t agent_strobe_tick(struct agent_strobe *s, uint64_t now)
{
	struct agent_gang *g = s->a->gang;
	uint64_t next = 0;

	agent_gang_lock(g);
	if (!s->stop) {
		agent_gang_maps_bind(g);
		next = agent_gang_until(g);
		if (next != STORM_NEVER && g->page->stopped)
			next = storm_min(next, agent_gang_slurmd_due(g));
		s->alarm = gang_agreed_awake(turns_agreed_time(g->turns));
		next = storm_min(next, s->alarm);
		s->deaf = next == s->alarm && agent_strobe_may_be_deaf(s, now);
		next = storm_max(next, 1);
	}
	agent_gang_unlock(g);
	return next;
}

/* As epoll_wait(), which knows milliseconds only.  Linux before 5.11 has no
 * other: then this wakes up late. */
static int agent_strobe_epoll(int epoll, struct epoll_event *ev, int max,
			      uint64_t ns)
{
	const struct timespec t = { .tv_sec = ns / STORM_SEC,
				    .tv_nsec = ns % STORM_SEC };
	int n = epoll_pwait2(epoll, ev, max, &t, NULL);

	if (n >= 0 || errno != ENOSYS)
		return n;
	return epoll_wait(epoll, ev, max,
			  (int) ((ns + STORM_MS - 1) / STORM_MS));
}

/* Wait until then.  False: interrupted.  Deaf it waits for no descriptor, but by
 * epoll, too: the kernel hides a thaw from those who sleep by clock_nanosleep(). */
static bool agent_strobe_wait(struct agent_strobe *s, uint64_t now,
			      uint64_t next)
{
	struct epoll_event ev[3];
	int n = agent_strobe_epoll(
		s->deaf ? s->nap : s->epoll, ev, 3,
		next > now ? storm_min(next - now, 3600 * STORM_SEC) : 0);

	if (n < 0)
		return false;
	if (n == 0)
		agent_strobe_woke(s);
	for (int i = 0; i < n; i++) {
		if (ev[i].data.fd == s->wake)
			agent_strobe_clear(s->wake);
		else if (ev[i].data.fd == s->fd)
			agent_strobe_receive(s);
		else
			agent_poll_wait(s->a, agent_strobe_poll, s);
	}
	return true;
}

static void *agent_strobe_thread(void *arg)
{
	struct agent_strobe *s = arg;
	struct agent *a = s->a;
	uint64_t due = STORM_NEVER, now, next;
	uint32_t returns;

	agent_strobe_hear_stops(a);
	for (;;) {
		now = storm_now();
		/* late: this process was stopped, or the whole host */
		if (due != STORM_NEVER && now > due + GANG_AWAY)
			a->away.returns++;
		if (agent_strobe_is_back(s))
			agent_strobe_read_old(s);
		if (s->deaf)
			agent_strobe_receive(s);
		agent_strobe_act(s);
		next = agent_strobe_tick(s, now);
		if (!next)
			return NULL;
		now = storm_now();
		due = next == STORM_NEVER ? next : storm_max(next, now);
		returns = a->away.returns;
		/* interrupted without SIGCONT: a frozen group was thawed */
		if (!agent_strobe_wait(s, now, next) &&
		    a->away.returns == returns)
			a->away.returns++;
	}
}

/* ------------------------------------------------------------ start and stop --- */

static void agent_strobe_heard_news(struct agent *a, struct agent_io *io,
				    uint32_t events)
{
	(void) a;
	(void) events;
	agent_strobe_clear(io->fd); /* agent_gang_exchange() reads them */
}

static void agent_strobe_release(struct agent_io *io)
{
	xfree(io);
}

static int agent_strobe_watch(struct agent_strobe *s, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	return fd < 0 ? 0 : epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ev);
}

static int agent_strobe_open(struct agent_strobe *s)
{
	struct agent *a = s->a;
	struct agent_gang *g = a->gang;

	g->news = xmalloc(sizeof(*g->news)); /* it outlives g */
	g->news->ready = agent_strobe_heard_news;
	g->news->release = agent_strobe_release;
	g->news->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->nap = epoll_create1(EPOLL_CLOEXEC);
	if (g->news->fd < 0 || s->wake < 0 || s->epoll < 0 || s->nap < 0 ||
	    agent_io_add(&a->ios, g->news, EPOLLIN) ||
	    agent_strobe_watch(s, s->wake) || agent_strobe_watch(s, s->fd))
		return errno;
	if (s->fd < 0)
		return agent_poll_by_main_loop(a) ? errno : 0;
	return agent_strobe_watch(s, agent_poll_fd(a)) ? errno : 0;
}

static void agent_strobe_free(struct agent_strobe *s)
{
	if (s->wake >= 0)
		close(s->wake);
	if (s->epoll >= 0)
		close(s->epoll);
	if (s->nap >= 0)
		close(s->nap);
	if (s->a->gang->news)
		agent_io_close(&s->a->ios, s->a->gang->news);
	storm_strobes_close(&s->taker);
	xfree(s);
}

/* The socket is the network's: it is opened once in the agent's life.  -1: this
 * network has none, unless *err is set. */
static int agent_strobe_socket(struct agent *a, int *err)
{
	static int fd = -1;
	static bool opened;

	*err = 0;
	if (opened || !a->net.driver->strobe)
		return fd;
	fd = a->net.driver->strobe->open(a->net.net);
	if (fd < 0 && no_gang_passes(errno))
		*err = errno;
	opened = !*err;
	return fd;
}

int agent_strobe_start(struct agent_gang *g)
{
	struct agent_strobe *s = xmalloc(sizeof(*s));
	int err;

	s->a = g->a;
	s->ops = g->a->net.driver->strobe;
	s->returned = g->a->away.returns;
	s->wake = s->epoll = s->nap = -1;
	s->fd = agent_strobe_socket(g->a, &err);
	g->strobe = s;
	g->thread_takes = s->fd >= 0;
	g->a->gang = g; /* the thread finds it there */
	if (!err)
		err = agent_strobe_open(s);
	if (!err)
		err = pthread_create(&g->thread, NULL, agent_strobe_thread, s);
	if (!err) {
		pthread_setname_np(g->thread, "storm_strobe");
		return 0;
	}
	agent_strobe_free(s);
	g->a->gang = NULL;
	return err;
}

void agent_strobe_stop(struct agent_gang *g)
{
	struct agent_strobe *s = g->strobe;

	agent_gang_lock(g);
	agent_gate_close(g);
	s->stop = true;
	agent_gang_unlock(g);
	agent_gang_signal(s->wake);
	pthread_join(g->thread, NULL);
	agent_strobe_free(s);
}
