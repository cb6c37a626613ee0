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
 * Of the main loop's state the thread has a copy, the gate (strobe.h): the
 * owner whose strobes count, and the tree children.  The main loop brings it up
 * to date each time before it reads datagrams (agent_gang_exchange()).  A
 * strobe that the kernel does not know as one comes to the main loop, as the
 * first one of an owner does.  If its seal is good and its number new, the main
 * loop obeys it, and has the kernel pass the next ones from there to the thread.
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
#include "src/plugins/switch/storm/agent/agent_session.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/transport/driver.h"
#include "src/libstorm/protocol/nm/nm.h"
#include "src/libstorm/protocol/strobe.h"

/* SCHED_FIFO priority.  Below the strober's, which may share a CPU with an
 * agent and must send to the other nodes first.  Above the guards'. */
#define PRIORITY 15

#define OLD_MAX 65536 /* strobes that are read after a stop, at most */

/*
 * What passes the kernel's filter and is no strobe comes from somebody who
 * forges the address of a host that strobes.  If that is too much in a time,
 * the strobes share the fate of all datagrams for a while, in the main loop.
 */
#define REFUSED_TIME (100 * STORM_MS)
#define REFUSED_MAX 50
#define DISTRUST_TIME (10 * STORM_SEC)

struct agent_strobe {
	struct agent *a;
	const struct storm_strobe_ops *ops; /* NULL: no socket of its own */
	int fd;				    /* that socket, or -1 */
	pthread_t thread;
	int epoll, wake; /* the thread's */
	bool stop;	 /* with the lock */
	struct agent_io *news;
	struct storm_strobes taker; /* with the lock */
	/* the thread's */
	uint32_t returned; /* as agent_away's */
	uint8_t buf[STORM_DATAGRAM_MAX];
	struct storm_strobe strobe;
	uint64_t refused_since;
	uint32_t refused;
	/* with the lock: what the main loop has not heard yet */
	uint64_t taken, number, at;
	bool muted; /* the main loop must steer anew */
	/* the main loop's */
	struct storm_strobe_match match;
	bool steered;
	uint64_t trust_at;
	uint64_t told_missed;
};

static void strobe_signal(int fd)
{
	uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) < 0)
		return; /* it is full, so it is readable */
}

static void strobe_clear(int fd)
{
	uint64_t n;

	if (read(fd, &n, sizeof(n)) < 0)
		return; /* it was not signalled */
}

void agent_strobe_news(struct agent_gang *g)
{
	strobe_signal(g->strobe->news->fd);
}

/* ------------------------------------------------------------ in the thread --- */

/* For the signal handler. */
static _Atomic uint32_t *strobe_returns;

static void strobe_continued(int sig)
{
	(void) sig;
	++*strobe_returns;
}

/* Only this thread takes SIGCONT.  So after a stop the handler runs before
 * anything else in it. */
static void strobe_hear_stops(struct agent *a)
{
	struct sigaction act = { .sa_handler = strobe_continued,
				 .sa_flags = SA_RESTART };
	sigset_t set;

	strobe_returns = &a->away.returns;
	sigaction(SIGCONT, &act, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCONT);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static bool strobe_is_back(const struct agent_strobe *s)
{
	return s->returned != s->a->away.returns;
}

/* Locked.  Somebody sends what passes the filter. */
static void strobe_refuse(struct agent_strobe *s)
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
	strobe_signal(s->news->fd);
}

/* Locked.  Unseal what came, and pass it on: others are waiting, too. */
static bool strobe_take(struct agent_strobe *s, size_t len)
{
	const struct storm_gate *gate = &s->taker.gate;

	if (!storm_strobes_take(&s->taker, s->buf, len, &s->strobe)) {
		strobe_refuse(s);
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
static bool strobe_next(struct agent_strobe *s, bool obey)
{
	ssize_t n = s->fd < 0 ? -1 :
				s->ops->receive(s->a->net.net, s->buf,
						sizeof(s->buf));
	struct agent_gang *g = s->a->gang;

	if (n < 0)
		return false;
	agent_gang_lock(g);
	if (strobe_take(s, n) && obey && !strobe_is_back(s))
		agent_gang_obey(g, s->strobe.number, s->strobe.body,
				s->strobe.len);
	agent_gang_unlock(g);
	return true;
}

static void strobe_receive(void *arg)
{
	struct agent_strobe *s = arg;

	while (!strobe_is_back(s) && strobe_next(s, true))
		;
}

/* What is in the socket after a stop of this process is old. */
static void strobe_read_old(struct agent_strobe *s)
{
	struct agent_gang *g = s->a->gang;
	uint32_t returns = s->a->away.returns;

	agent_gang_lock(g);
	agent_gang_return(g);
	agent_gang_unlock(g);
	for (int i = 0; i < OLD_MAX && strobe_next(s, false); i++)
		;
	s->returned = returns;
}

/* Do what time demands.  Returns when to do so again; 0: end. */
static uint64_t strobe_tick(struct agent_strobe *s, uint64_t now)
{
	struct agent_gang *g = s->a->gang;
	uint64_t next = 0;

	agent_gang_lock(g);
	if (!s->stop) {
		agent_gang_maps_bind(g);
		next = agent_gang_until(g, now);
		if (next != STORM_NEVER && g->page->stopped)
			next = storm_min(next, agent_gang_slurmd_due(g));
		next = storm_max(next, 1);
	}
	agent_gang_unlock(g);
	return next;
}

/* Wait until then.  False: interrupted. */
static bool strobe_wait(struct agent_strobe *s, uint64_t now, uint64_t next)
{
	struct epoll_event ev[3];
	int ms = -1, n;

	if (next <= now)
		ms = 0;
	else if (next - now < 3600 * STORM_SEC)
		ms = (int) ((next - now + STORM_MS - 1) / STORM_MS);
	n = epoll_wait(s->epoll, ev, 3, ms);
	if (n < 0)
		return false;
	for (int i = 0; i < n; i++) {
		if (ev[i].data.fd == s->wake)
			strobe_clear(s->wake);
		else if (ev[i].data.fd == s->fd)
			strobe_receive(s);
		else
			agent_poll_wait(s->a, strobe_receive, s);
	}
	return true;
}

static void *strobe_thread(void *arg)
{
	struct agent_strobe *s = arg;
	struct agent *a = s->a;
	uint64_t due = STORM_NEVER, now, next;
	uint32_t returns;

	strobe_hear_stops(a);
	for (;;) {
		now = storm_now();
		/* late: this process was stopped, or the whole host */
		if (due != STORM_NEVER && now > due + GANG_AWAY)
			a->away.returns++;
		if (strobe_is_back(s))
			strobe_read_old(s);
		next = strobe_tick(s, now);
		if (!next)
			return NULL;
		now = storm_now();
		due = next == STORM_NEVER ? next : storm_max(next, now);
		returns = a->away.returns;
		/* interrupted without SIGCONT: a frozen group was thawed */
		if (!strobe_wait(s, now, next) && a->away.returns == returns)
			a->away.returns++;
	}
}

/* ------------------------------------------------------------ start and stop --- */

static void strobe_heard_news(struct agent *a, struct agent_io *io,
			      uint32_t events)
{
	(void) a;
	(void) events;
	strobe_clear(io->fd); /* agent_gang_exchange() reads them */
}

static void strobe_release(struct agent_io *io)
{
	xfree(io);
}

static int strobe_watch(struct agent_strobe *s, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	return fd < 0 ? 0 : epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ev);
}

static int strobe_open(struct agent_strobe *s)
{
	struct agent *a = s->a;

	s->news = xmalloc(sizeof(*s->news)); /* it outlives s */
	s->news->ready = strobe_heard_news;
	s->news->release = strobe_release;
	s->news->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->news->fd < 0 || s->wake < 0 || s->epoll < 0 ||
	    agent_io_add(&a->ios, s->news, EPOLLIN) ||
	    strobe_watch(s, s->wake) || strobe_watch(s, s->fd))
		return errno;
	if (s->fd < 0)
		return agent_poll_by_main_loop(a) ? errno : 0;
	return strobe_watch(s, agent_poll_fd(a)) ? errno : 0;
}

static void strobe_free(struct agent_strobe *s)
{
	if (s->wake >= 0)
		close(s->wake);
	if (s->epoll >= 0)
		close(s->epoll);
	agent_io_close(&s->a->ios, s->news);
	storm_strobes_close(&s->taker);
	xfree(s);
}

/* The socket is the network's: it is opened once in the agent's life. */
static int strobe_socket(struct agent *a)
{
	static int fd = -1;
	static bool opened;

	if (!opened && a->net.driver->strobe)
		fd = a->net.driver->strobe->open(a->net.net);
	opened = true;
	return fd;
}

int agent_strobe_start(struct agent_gang *g)
{
	struct agent_strobe *s = xmalloc(sizeof(*s));
	int err;

	s->a = g->a;
	s->ops = g->a->net.driver->strobe;
	s->returned = g->a->away.returns;
	s->fd = strobe_socket(g->a);
	g->strobe = s;
	g->a->gang = g; /* the thread finds it there */
	err = strobe_open(s);
	if (!err)
		err = pthread_create(&s->thread, NULL, strobe_thread, s);
	if (!err) {
		pthread_setname_np(s->thread, "storm_strobe");
		return 0;
	}
	strobe_free(s);
	g->a->gang = NULL;
	return err;
}

void agent_strobe_stop(struct agent_gang *g)
{
	struct agent_strobe *s = g->strobe;

	agent_gang_lock(g);
	agent_strobe_close(g);
	s->stop = true;
	agent_gang_unlock(g);
	strobe_signal(s->wake);
	pthread_join(s->thread, NULL);
	strobe_free(s);
}

int agent_strobe_realtime(struct agent_gang *g, bool on)
{
	struct sched_param p = { .sched_priority = on ? PRIORITY : 0 };
	int policy = on ? SCHED_FIFO | SCHED_RESET_ON_FORK : SCHED_OTHER;
	int err = pthread_setschedparam(g->strobe->thread, policy, &p);

	/* getpid(): the main loop's thread */
	if (g->strobe->fd < 0 && sched_setscheduler(getpid(), policy, &p))
		err = errno;
	return err;
}

/* -------------------------------------------------------- in the main loop --- */

static void strobe_steer(struct agent_strobe *s, bool on)
{
	if (s->fd < 0 || (!on && !s->steered))
		return;
	s->steered = on;
	s->ops->steer(s->a->net.net, on ? &s->match : NULL);
}

/* Strobes come from there, as the seal shows. */
static void strobe_learn(struct agent_strobe *s, const struct storm_rx *rx)
{
	struct storm_strobe_match *m = &s->match;
	bool known = m->len == rx->len;

	if (s->fd < 0 || !rx->from.port || storm_now() < s->trust_at)
		return;
	m->len = rx->len;
	for (uint32_t i = 0; i < m->sources; i++)
		if (!memcmp(&m->source[i], &rx->from, sizeof(rx->from))) {
			if (!known || !s->steered)
				strobe_steer(s, s->taker.seal);
			return;
		}
	if (m->sources == STORM_STROBE_SOURCES) /* the oldest one */
		memmove(&m->source[0], &m->source[1],
			--m->sources * sizeof(m->source[0]));
	m->source[m->sources++] = rx->from;
	strobe_steer(s, s->taker.seal);
}

void agent_gang_strobe(struct agent *a, struct agent_session *session,
		       uint64_t number, const struct storm_rx *rx,
		       const void *buf, size_t len)
{
	struct agent_gang *g = a->gang;
	bool is_new;

	if (!g || session != g->session)
		return;
	agent_gang_lock(g);
	is_new = storm_strobes_number(&g->strobe->taker, number);
	if (is_new && !agent_is_back(a))
		agent_gang_obey(g, number, buf, len);
	agent_gang_unlock(g);
	if (!is_new)
		return;
	strobe_signal(g->strobe->wake); /* the silence ends later */
	strobe_learn(g->strobe, rx);
}

/* Tell the thread whose strobes count. */
static void strobe_set_gate(struct agent_gang *g)
{
	struct agent_strobe *s = g->strobe;
	struct storm_strobe_match *m = &s->match;
	struct storm_gate gate;
	bool on = g->session && storm_nm_gate(g->a->nm, g->session->id, &gate);

	if (on ? storm_strobes_same(&s->taker, &gate) : !s->taker.seal)
		return;
	/* Another owner sends from elsewhere. */
	if (!on || gate.session != m->session)
		m->sources = 0;
	agent_gang_lock(g);
	if (!on)
		storm_strobes_close(&s->taker);
	else if (storm_strobes_open(&s->taker, &gate))
		on = false;
	agent_gang_unlock(g);
	if (on) {
		m->session = gate.session;
		m->group = gate.group;
		memcpy(m->incarnation, gate.incarnation,
		       sizeof(m->incarnation));
	}
	strobe_steer(s, on && m->sources);
}

void agent_strobe_close(struct agent_gang *g)
{
	storm_strobes_close(&g->strobe->taker);
	g->strobe->match.sources = 0;
	strobe_steer(g->strobe, false);
}

void agent_strobe_report_missed(struct agent_gang *g)
{
	g->strobe->told_missed = g->a->count.gang_missed;
	if (g->session)
		storm_nm_own_set(g->a->nm, g->session->id, GANG_VAR_MISSED,
				 g->strobe->told_missed);
}

/* For a while no strobe is the thread's. */
static void strobe_distrust(struct agent_strobe *s)
{
	info("gang: somebody sends strobes that are not from the cluster domain, from an address that strobes come from: they may be late for the next %llu s",
	     DISTRUST_TIME / STORM_SEC);
	s->match.sources = 0;
	s->trust_at = storm_now() + DISTRUST_TIME;
	strobe_steer(s, false);
}

void agent_gang_exchange(struct agent *a)
{
	struct agent_gang *g = a->gang;
	struct agent_strobe *s;
	uint64_t taken, number, at;
	bool muted;

	if (!g)
		return;
	s = g->strobe;
	agent_gang_lock(g);
	taken = s->taken;
	number = s->number;
	at = s->at;
	muted = s->muted;
	s->taken = 0;
	s->muted = false;
	agent_gang_unlock(g);
	if (taken && g->session)
		storm_nm_strobed(a->nm, g->session->id, taken, number, at);
	if (a->count.gang_missed != s->told_missed)
		agent_strobe_report_missed(g);
	if (muted)
		strobe_distrust(s);
	strobe_set_gate(g);
}

void agent_gang_returned(struct agent *a)
{
	if (a->gang)
		strobe_signal(a->gang->strobe->wake);
}

struct agent_count agent_gang_count(struct agent *a)
{
	struct agent_count c;

	if (!a->gang)
		return a->count;
	agent_gang_lock(a->gang);
	c = a->count;
	agent_gang_unlock(a->gang);
	return c;
}
