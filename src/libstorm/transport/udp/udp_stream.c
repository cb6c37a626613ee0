/*
 * udp_stream.c - OPENs over TCP, as they come in.  udp_stream_out.c sends them.
 *
 * An OPEN carries the session's key, so it arrives before datagrams can be
 * sealed and repaired.  TCP makes it reliable.  OPENs pass down the tree of
 * Node Managers (paper section 2.2), hop by hop.
 *
 *	0        4                          4 + length
 *	+--------+--------------------------+
 *	| length | length bytes             |	length: network order, 1 to 4 MiB
 *	+--------+--------------------------+
 *
 * A connection carries one such frame.  The receiver closes it after accepting
 * the OPEN.  If it refuses an OPEN from an authenticated sender, it sends the
 * reason first, in STORM_REFUSAL_LEN bytes.  It resets all other connections,
 * and sends nothing.
 *
 * Any host that can reach the port may send anything.  So the number of
 * connections, their time and their memory are bounded, and memory is allocated
 * only for bytes that have arrived.  No host can take the share of the others.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "udp_port.h"
#include "udp_private.h"

#define HEAD 4
#define FIRST_ROOM (64 * 1024)
#define BYTES_PER_POLL (1024 * 1024) /* for one stream */
#define ACCEPTS_PER_POLL 32

static uint32_t stream_head_unpack(const uint8_t *p)
{
	return (uint32_t) p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

/* ----------------------------------------------------------------- timer */

/* Nothing waits for it: it shall not wake this process. */
static void stream_timer_rest(struct storm_udp *u)
{
	struct itimerspec never = { .it_value.tv_nsec = 0 };

	if (!u->timer_on || u->listener_paused || !TAILQ_EMPTY(&u->in) ||
	    !TAILQ_EMPTY(&u->out))
		return;
	timerfd_settime(u->timer.fd, 0, &never, NULL);
	u->timer_on = false;
}

/* -------------------------------------------------------------- incoming */

static void stream_listener_pause(struct storm_udp *u, bool pause)
{
	if (u->listener_paused == pause)
		return;
	if (!storm_udp_watch(u, EPOLL_CTL_MOD, &u->listener,
			     pause ? 0 : EPOLLIN))
		u->listener_paused = pause;
}

static void stream_in_free(struct storm_udp *u, struct udp_stream_in *s)
{
	close(s->src.fd);
	TAILQ_REMOVE(&u->in, s, link);
	if (s->number) {
		u->held_count--;
		u->held_bytes -= s->len;
	} else {
		u->in_count--;
		stream_listener_pause(u, false);
	}
	free(s->buf);
	free(s);
	stream_timer_rest(u);
}

/* Close so that the sender sees an error, not a success. */
static void stream_in_refuse(struct storm_udp *u, struct udp_stream_in *s)
{
	struct linger reset = { .l_onoff = 1, .l_linger = 0 };

	setsockopt(s->src.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	u->stats.streams_refused++;
	stream_in_free(u, s);
}

/* May s wait for its verdict?  One host may have half of the places. */
static bool stream_in_can_hold(const struct storm_udp *u,
			       const struct udp_stream_in *s)
{
	const struct udp_stream_in *other;
	uint32_t count = 1;
	size_t bytes = s->len;

	if (u->held_count >= UDP_STREAMS_HELD ||
	    u->held_bytes + s->len > UDP_STREAMS_HELD_BYTES)
		return false;
	TAILQ_FOREACH(other, &u->in, link)
	{
		if (!other->number || other->from.s_addr != s->from.s_addr)
			continue;
		count++;
		bytes += other->len;
	}
	return count <= UDP_STREAMS_HELD / 2 &&
	       bytes <= UDP_STREAMS_HELD_BYTES / 2;
}

/* The OPEN is complete.  Its sender waits for the verdict. */
static void stream_in_whole(struct storm_udp *u, struct udp_stream_in *s)
{
	uint8_t *buf = s->buf;

	if (!stream_in_can_hold(u, s)) {
		stream_in_refuse(u, s);
		return;
	}
	/* or epoll would report the end of the connection forever */
	epoll_ctl(u->epfd, EPOLL_CTL_DEL, s->src.fd, NULL);
	s->number = ++u->in_numbers;
	s->buf = NULL;
	u->in_count--;
	u->held_count++;
	u->held_bytes += s->len;
	u->stats.streams_in++;
	stream_listener_pause(u, false);
	u->h.stream(u->h.arg, s->number, buf, s->len);
	free(buf); /* s may be gone */
}

/* Half-read streams of a host. */
static uint32_t stream_in_count_from(const struct storm_udp *u,
				     struct in_addr from)
{
	const struct udp_stream_in *s;
	uint32_t n = 0;

	TAILQ_FOREACH(s, &u->in, link)
	n += !s->number && s->from.s_addr == from.s_addr;
	return n;
}

/* All places are taken: free one.  False: none may be freed yet, or no
 * connection waits. */
static bool stream_in_evict(struct storm_udp *u)
{
	struct pollfd p = { .fd = u->listener.fd, .events = POLLIN };
	struct udp_stream_in *s, *victim = NULL;
	uint32_t most = 0, n;

	if (poll(&p, 1, 0) != 1)
		return false; /* no connection waits for it */
	/* the list is oldest first: keep the first of the maximum */
	TAILQ_FOREACH(s, &u->in, link)
	{
		n = s->number ? 0 : stream_in_count_from(u, s->from);
		if (n <= most)
			continue;
		most = n;
		victim = s;
	}
	if (!victim ||
	    storm_now() < victim->since + (most >= UDP_STREAMS_MANY ?
						   UDP_STREAM_IN_GRACE_MANY :
						   UDP_STREAM_IN_GRACE))
		return false;
	stream_in_refuse(u, victim);
	return true;
}

static void stream_in_add(struct storm_udp *u, int fd,
			  const struct sockaddr_in *from)
{
	struct udp_stream_in *s = calloc(1, sizeof(*s));

	if (!s) {
		u->stats.streams_refused++;
		close(fd);
		return;
	}
	s->src.kind = UDP_STREAM_IN;
	s->src.fd = fd;
	s->since = storm_now();
	s->from = from->sin_addr;
	s->from_port = ntohs(from->sin_port);
	TAILQ_INSERT_TAIL(&u->in, s, link);
	u->in_count++;
	storm_udp_stream_timer_start(u, false);
	if (storm_udp_watch(u, EPOLL_CTL_ADD, &s->src, EPOLLIN))
		stream_in_refuse(u, s);
	else
		storm_udp_stream_in(u, s); /* often it is all there */
}

void storm_udp_accept(struct storm_udp *u)
{
	struct sockaddr_in from;
	int fd, i;

	for (i = 0; i < ACCEPTS_PER_POLL; i++) {
		socklen_t len = sizeof(from);

		/* The others wait in the kernel's queue.  A stream that is
		 * evicted has no event left: listeners are served last. */
		if (u->in_count >= UDP_STREAMS_IN && !stream_in_evict(u)) {
			stream_listener_pause(u, true);
			return;
		}
		fd = accept4(u->listener.fd, (struct sockaddr *) &from, &len,
			     SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			stream_in_add(u, fd, &from);
			continue;
		}
		if (errno == EAGAIN)
			return;
		/* Without descriptors or memory epoll would report it forever:
		 * pause until the timer ticks. */
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
		    errno == ENOMEM) {
			stream_listener_pause(u, true);
			storm_udp_stream_timer_start(u, false);
			return;
		}
		/* other errors belong to a connection that is gone */
	}
}

/* Allocate room for the next bytes.  False: no memory. */
static bool stream_in_room(struct udp_stream_in *s)
{
	uint32_t room = s->room ? s->room * 2 : FIRST_ROOM;
	uint32_t have = s->got - HEAD;
	uint8_t *p;

	if (have < s->room)
		return true;
	if (room > s->len)
		room = s->len;
	p = realloc(s->buf, room);
	if (!p)
		return false;
	s->buf = p;
	s->room = room;
	return true;
}

/* One read(), with its result. */
static ssize_t stream_in_read(struct udp_stream_in *s)
{
	ssize_t r;

	if (s->got < HEAD)
		r = read(s->src.fd, s->head + s->got, sizeof(s->head) - s->got);
	else
		r = read(s->src.fd, s->buf + s->got - HEAD,
			 s->room - (s->got - HEAD));
	if (r > 0)
		s->got += r;
	return r;
}

void storm_udp_stream_in(struct storm_udp *u, struct udp_stream_in *s)
{
	size_t budget = BYTES_PER_POLL;
	ssize_t r;

	while (budget) {
		if (s->got >= HEAD && !stream_in_room(s))
			goto refuse;
		r = stream_in_read(s);
		if (r < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (r <= 0)
			goto refuse;
		budget -= storm_min((size_t) r, budget);
		if (s->got == HEAD) {
			s->len = stream_head_unpack(s->head);
			if (!s->len || s->len > UDP_STREAM_MAX)
				goto refuse;
		}
		if (s->got > HEAD && s->got - HEAD == s->len) {
			stream_in_whole(u, s);
			return;
		}
	}
	return;
refuse:
	stream_in_refuse(u, s);
}

static struct udp_stream_in *stream_in_find(struct storm_udp *u,
					    uint64_t number)
{
	struct udp_stream_in *s;

	TAILQ_FOREACH(s, &u->in, link)
	if (s->number == number)
		break;
	return s;
}

bool storm_udp_stream_waits(struct storm_transport *t, uint64_t stream)
{
	struct storm_udp *u = (struct storm_udp *) t;
	struct udp_stream_in *s = stream_in_find(u, stream);
	ssize_t r;
	char c;

	if (!s)
		return false;
	r = recv(s->src.fd, &c, sizeof(c), MSG_PEEK);
	return r > 0 || (r < 0 && errno == EAGAIN);
}

struct storm_addr storm_udp_stream_from(struct storm_transport *t,
					uint64_t stream)
{
	const struct udp_stream_in *s =
		stream_in_find((struct storm_udp *) t, stream);
	struct storm_addr from = { 0 };

	if (s)
		storm_udp_addr(&from, s->from, s->from_port);
	return from;
}

void storm_udp_end_stream(struct storm_transport *t, uint64_t stream,
			  enum storm_err err)
{
	struct storm_udp *u = (struct storm_udp *) t;
	struct udp_stream_in *s = stream_in_find(u, stream);
	uint8_t why[STORM_REFUSAL_LEN];

	if (!s) /* it timed out */
		return;
	if (err == STORM_EAUTH) {
		stream_in_refuse(u, s);
		return;
	}
	if (err) {
		u->stats.streams_refused++;
		storm_refusal_pack(err, why);
		/* the send buffer is empty, so only a dead peer fails this */
		if (send(s->src.fd, why, sizeof(why), MSG_NOSIGNAL) < 0)
			u->stats.send_errors++;
	}
	stream_in_free(u, s);
}

/* False: errno.  A kept socket begins without SO_REUSEADDR, with which another user could
 * take the port before listen().  SO_REUSEPORT serves as well (udp_port.c), but for
 * connections that are left of an agent of a former version.  Connections get both. */
static bool udp_stream_listen(int fd, bool inherited, uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(port) };

	if (inherited && !listen(fd, SOMAXCONN))
		return !storm_udp_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	return !storm_udp_option(fd, SOL_SOCKET, SO_REUSEADDR, 1) &&
	       (inherited ||
		!bind(fd, (struct sockaddr *) &sin, sizeof(sin))) &&
	       !listen(fd, SOMAXCONN) &&
	       !storm_udp_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
}

int storm_udp_listen(struct storm_udp *u)
{
	int tos = u->set.dscp_control << 2;
	int fd = storm_udp_port_inherited(SOCK_STREAM, u->port);
	bool inherited = fd >= 0;
	char holder[128];

	if (!inherited)
		fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			    0);
	u->listener.kind = UDP_LISTENER;
	u->listener.fd = fd;
	if (fd >= 0 && !setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos)) &&
	    udp_stream_listen(fd, inherited, u->port) &&
	    !storm_udp_watch(u, EPOLL_CTL_ADD, &u->listener, EPOLLIN))
		return STORM_OK;
	if (errno == EADDRINUSE) {
		storm_udp_port_holder(u->port, holder, sizeof(holder));
		errno = EADDRINUSE;
		storm_log(STORM_LOG_ERROR,
			  "TCP port %u is in use by %s: end "
			  "it, or set another Port in storm.conf",
			  u->port, holder);
	} else {
		storm_log(STORM_LOG_ERROR, "cannot listen on TCP port %u: %m",
			  u->port);
	}
	return STORM_ESYS;
}

/* ------------------------------------------------------------------ both */

void storm_udp_stream_timer(struct storm_udp *u)
{
	struct udp_stream_in *in;
	uint64_t ticks, now = storm_now();

	if (read(u->timer.fd, &ticks, sizeof(ticks)) < 0)
		return;
	/* oldest first, and the time-out is the same for all */
	while ((in = TAILQ_FIRST(&u->in)) &&
	       in->since + UDP_STREAM_IN_TIME(u) <= now)
		stream_in_refuse(u, in);
	/* it pauses again if nothing has changed */
	stream_listener_pause(u, false);
	storm_udp_streams_out_due(u, now);
	stream_timer_rest(u);
}

void storm_udp_streams_fini(struct storm_udp *u)
{
	struct udp_stream_in *in;

	while ((in = TAILQ_FIRST(&u->in))) {
		TAILQ_REMOVE(&u->in, in, link);
		close(in->src.fd);
		free(in->buf);
		free(in);
	}
	storm_udp_streams_out_fini(u);
}
