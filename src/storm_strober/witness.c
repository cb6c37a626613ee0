/*
 * witness.c - see witness.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "node_table.h"
#include "src/libstorm/base/addr.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/base/thread.h"
#include "witness.h"

/* Rounds at a time, with two sockets each. */
#define ROUNDS 64
#define PORTS 2
#define SLURMD 0
/* This process did not run in time: a round of then proves no silence. */
#define LATE (100 * STORM_MS)

struct witness_round {
	bool on;
	uint32_t node;
	int fd[PORTS]; /* -1: it has answered, or could not be asked */
	bool heard[PORTS];
	bool asked; /* both, at first */
	uint64_t until;
};

static struct {
	pthread_mutex_t lock;
	struct suspects s;
	pthread_t thread;
	bool running, stop;
	int wake; /* eventfd */
	void (*news)(void);
	struct witness_round round[ROUNDS]; /* the thread's own */
} witness = { .wake = -1 };

/* A thread with a real-time priority may wait for the lock. */
void witness_init(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&witness.lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

static void witness_poke(void)
{
	const uint64_t one = 1;

	/* a full counter wakes, too */
	if (write(witness.wake, &one, sizeof(one)) < 0)
		return;
}

/* ------------------------------------------------------------- one round --- */

static socklen_t witness_address(const struct storm_addr *a,
				 struct sockaddr_storage *to)
{
	struct sockaddr_in *v4 = (void *) to;
	struct sockaddr_in6 *v6 = (void *) to;

	memset(to, 0, sizeof(*to));
	if (!storm_addr_is_v4(a)) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(a->port);
		memcpy(&v6->sin6_addr, a->ip, sizeof(v6->sin6_addr));
		return sizeof(*v6);
	}
	v4->sin_family = AF_INET;
	v4->sin_port = htons(a->port);
	memcpy(&v4->sin_addr, a->ip + STORM_ADDR_LEN - sizeof(v4->sin_addr),
	       sizeof(v4->sin_addr));
	return sizeof(*v4);
}

/* A socket that connects; -1: there is none.  An error that is there already is read as
 * any other. */
static int witness_connect(const struct storm_addr *a)
{
	const struct linger reset = { .l_onoff = 1 };
	struct sockaddr_storage to;
	socklen_t len = witness_address(a, &to);
	int fd = socket(to.ss_family,
			SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	/* nothing is left of it, here or there */
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	if (connect(fd, (struct sockaddr *) &to, len) && errno != EINPROGRESS &&
	    errno != ECONNREFUSED) {
		close(fd);
		return -1;
	}
	return fd;
}

static void witness_close(struct witness_round *r, int port)
{
	if (r->fd[port] >= 0)
		close(r->fd[port]);
	r->fd[port] = -1;
}

/* Without a socket, or a way there, the round tells nothing when its time is over. */
static void witness_begin(struct witness_round *r, uint32_t node, uint64_t now)
{
	const struct table_node *n = node_table_get(node);
	const struct storm_addr *to[PORTS] = { &n->slurmd, &n->agent };

	*r = (struct witness_round) { .on = true, .node = node };
	r->until = now + VERDICT_PATIENCE;
	for (int i = 0; i < PORTS; i++)
		r->fd[i] = to[i]->port && !n->lost ? witness_connect(to[i]) :
						     -1;
	r->asked = r->fd[SLURMD] >= 0 && r->fd[!SLURMD] >= 0;
}

/* Locked. */
static void witness_say(const struct witness_round *r, int port,
			enum verdict_answer answer, uint64_t now)
{
	suspects_answer(&witness.s, r->node, port == SLURMD, answer, now);
}

/* Locked.  The round is over when both have answered, or slurmd by a connection: that
 * tells all. */
static void witness_end(struct witness_round *r, bool late, uint64_t now)
{
	for (int i = 0; i < PORTS; i++)
		witness_close(r, i);
	suspects_round(&witness.s, r->node, late, now);
	r->on = false;
}

/* Locked.  The port has answered; or not, with ETIMEDOUT and its like. */
static void witness_hear(struct witness_round *r, int port, uint64_t now)
{
	socklen_t len = sizeof(int);
	int err = 0;

	if (getsockopt(r->fd[port], SOL_SOCKET, SO_ERROR, &err, &len))
		err = errno;
	witness_close(r, port);
	if (err && err != ECONNREFUSED)
		return;
	witness_say(r, port, err ? ANSWER_REFUSED : ANSWER_CONNECTED, now);
	r->heard[port] = true;
	if ((port == SLURMD && !err) || (r->heard[0] && r->heard[1]))
		witness_end(r, false, now);
}

/* Locked. */
static void witness_expire(struct witness_round *r, bool late, uint64_t now)
{
	late |= !r->asked;
	for (int i = 0; i < PORTS && !late; i++)
		if (!r->heard[i])
			witness_say(r, i, ANSWER_SILENT, now);
	witness_end(r, late, now);
}

/* ------------------------------------------------------------ the thread --- */

/* Locked.  Returns when the next round ends, or a node is to be asked. */
static uint64_t witness_ask(uint64_t now)
{
	uint64_t next = STORM_NEVER;
	bool room = false;

	suspects_look(&witness.s, now);
	for (int i = 0; i < ROUNDS; i++) {
		struct witness_round *r = &witness.round[i];
		uint32_t node = witness.s.nodes;

		if (!r->on)
			node = suspects_ask(&witness.s, now);
		if (node < witness.s.nodes)
			witness_begin(r, node, now);
		if (r->on)
			next = storm_min(next, r->until);
		room |= !r->on;
	}
	return room ? storm_min(next, suspects_next(&witness.s)) : next;
}

/* The descriptors to poll, the first one to be woken by.  Returns how many. */
static nfds_t witness_polls(struct pollfd *p)
{
	nfds_t n = 0;

	p[n++] = (struct pollfd) { .fd = witness.wake, .events = POLLIN };
	for (int i = 0; i < ROUNDS; i++)
		for (int k = 0; k < PORTS && witness.round[i].on; k++)
			if (witness.round[i].fd[k] >= 0)
				p[n++] = (struct pollfd) {
					.fd = witness.round[i].fd[k],
					.events = POLLOUT,
				};
	return n;
}

static void witness_take(const struct pollfd *p, nfds_t n, uint64_t now,
			 bool late)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct witness_round *r = &witness.round[i];

		for (int k = 0; k < PORTS; k++)
			for (nfds_t at = 1; at < n && r->on; at++)
				if (p[at].revents && p[at].fd == r->fd[k]) {
					witness_hear(r, k, now);
					break;
				}
		if (r->on && now >= r->until)
			witness_expire(r, late, now);
	}
}

static void witness_turn(void)
{
	struct pollfd p[1 + ROUNDS * PORTS];
	uint64_t now = storm_now(), next, n;
	struct timespec wait;
	nfds_t count;
	bool news;

	pthread_mutex_lock(&witness.lock);
	next = witness_ask(now);
	news = witness.s.changed;
	pthread_mutex_unlock(&witness.lock);
	if (news)
		witness.news();
	count = witness_polls(p);
	now = storm_now();
	next = storm_max(next, now);
	wait.tv_sec = (time_t) ((next - now) / STORM_SEC);
	wait.tv_nsec = (long) ((next - now) % STORM_SEC);
	if (ppoll(p, count, next == STORM_NEVER ? NULL : &wait, NULL) < 0)
		return; /* a signal */
	if (p[0].revents && read(witness.wake, &n, sizeof(n)) < 0)
		return;
	now = storm_now();
	pthread_mutex_lock(&witness.lock);
	witness_take(p, count, now, next != STORM_NEVER && now > next + LATE);
	news = witness.s.changed;
	pthread_mutex_unlock(&witness.lock);
	if (news)
		witness.news();
}

static void *witness_thread(void *arg)
{
	(void) arg;
	while (!__atomic_load_n(&witness.stop, __ATOMIC_ACQUIRE))
		witness_turn();
	for (int i = 0; i < ROUNDS; i++)
		for (int k = 0; k < PORTS && witness.round[i].on; k++)
			witness_close(&witness.round[i], k);
	return NULL;
}

/* ------------------------------------------------------------ start and stop --- */

int witness_start(void (*wake)(void))
{
	int err;

	witness_stop();
	memset(witness.round, 0, sizeof(witness.round));
	witness.news = wake;
	witness.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (witness.wake < 0)
		return errno;
	pthread_mutex_lock(&witness.lock);
	err = suspects_begin(&witness.s, node_table_count());
	pthread_mutex_unlock(&witness.lock);
	witness.stop = false;
	if (!err)
		err = storm_thread_start(&witness.thread, witness_thread, NULL);
	witness.running = !err;
	if (err) {
		close(witness.wake);
		witness.wake = -1;
	}
	return err;
}

void witness_stop(void)
{
	if (!witness.running)
		return;
	__atomic_store_n(&witness.stop, true, __ATOMIC_RELEASE);
	witness_poke();
	pthread_join(witness.thread, NULL);
	pthread_mutex_lock(&witness.lock);
	suspects_clear(&witness.s);
	close(witness.wake);
	witness.wake = -1;
	witness.running = false;
	pthread_mutex_unlock(&witness.lock);
}

void witness_find(uint32_t node, enum suspects_kind kind, uint64_t heard,
		  uint64_t now)
{
	pthread_mutex_lock(&witness.lock);
	suspects_find(&witness.s, node, kind, heard, now);
	if (witness.running)
		witness_poke();
	pthread_mutex_unlock(&witness.lock);
}

bool witness_changed(void)
{
	bool changed;

	pthread_mutex_lock(&witness.lock);
	changed = suspects_changed(&witness.s);
	pthread_mutex_unlock(&witness.lock);
	return changed;
}

uint32_t witness_get(struct strober_failed *out)
{
	uint32_t n;

	pthread_mutex_lock(&witness.lock);
	n = suspects_get(&witness.s, out);
	pthread_mutex_unlock(&witness.lock);
	return n;
}
