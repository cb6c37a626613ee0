/*
 * udp_stream_out.c - OPENs over TCP, as they go out; see udp_stream.c.  An agent has
 * many sessions, and none of them can take the places of all others.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "udp_private.h"

#define HEAD 4
#define TIMER_PERIOD (20 * STORM_MS)
/* The kernel repeats a lost SYN after a second, and no option of a socket makes it
 * hurry.  A new socket sends one at once. */
#define CONNECT_AGAIN (20 * STORM_MS) /* the second time; then twice as long */
#define CONNECT_TRIES 5 /* 0.62 s in all: then something is in between */
/* Where packets get lost, so may each of these be: it goes on as far as this, in
 * steps of the last one.  An agent must tell of its child before the owner gives up
 * waiting, or that takes all below the agent for lost.  Some owners wait 3 s. */
#define GOES_ON_OWNER(timeout) ((timeout) *3 / 4)
#define GOES_ON_NODE(timeout) storm_min((timeout) / 4, 1250 * STORM_MS)
/* Packets that a connection repeats.  One alone may have come: the kernel sends it also
 * when an answer is late (the tail loss probe, below). */
#define REPEATED_MANY 2
/* An agent that is silent for so long is asked whether it runs; it is busy, or waits for
 * MUNGE, as long as it answers that. */
#define ALIVE_AFTER (300 * STORM_MS)
#define ALIVE_ANSWER (500 * STORM_MS) /* within which one that runs does */
#define ALIVE_AGAIN STORM_SEC
#define ALIVE_TRIES \
	4 /* where packets get lost: the question or the answer was */
/* It counts as silent so long after the last of the other agents has taken its OPEN, at
 * the earliest. */
#define ALIVE_OTHERS (300 * STORM_MS)
/* rcmd(3) uses the same: few daemons have them */
#define PORT_OF_ROOT_MIN 600
#define PORTS_OF_ROOT (1024 - PORT_OF_ROOT_MIN)

static void stream_head_pack(uint8_t *p, uint32_t v)
{
	p[0] = v >> 24;
	p[1] = v >> 16;
	p[2] = v >> 8;
	p[3] = v;
}

void storm_udp_stream_timer_start(struct storm_udp *u, bool at_once)
{
	struct itimerspec when = {
		.it_value.tv_nsec = at_once ? 1 : TIMER_PERIOD,
		.it_interval.tv_nsec = TIMER_PERIOD,
	};

	if (u->timer_on && !at_once)
		return;
	u->timer_on = !timerfd_settime(u->timer.fd, 0, &when, NULL);
}

/* An agent sends from a port that only root may have.  So the next node knows that
 * this one vouches for the owner, and not one of its users.  A node of another
 * program may not have such a port, and does without. */
static void stream_out_bind(struct storm_udp *u, int fd)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	int one = 1;

	if (u->role != STORM_ROLE_NODE)
		return;
	/* connections to different nodes may share a port */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	for (int i = 0; i < PORTS_OF_ROOT; i++) {
		u->out_port = (u->out_port + 1) % PORTS_OF_ROOT;
		sin.sin_port = htons(PORT_OF_ROOT_MIN + u->out_port);
		if (!bind(fd, (struct sockaddr *) &sin, sizeof(sin)) ||
		    errno == EACCES)
			return;
	}
}

/* Connect.  The timer reports failures: send_stream() must not. */
static void stream_out_start(struct storm_udp *u, struct udp_stream_out *s)
{
	int one = 1, tos = u->set.dscp_control << 2;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	u->out_active++;
	s->src.fd = fd;
	s->again_at = storm_now() +
		      (CONNECT_AGAIN << storm_min(s->tries, CONNECT_TRIES - 1));
	s->tries++;
	if (fd < 0)
		goto fail;
	stream_out_bind(u, fd);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos));
	if (connect(fd, (struct sockaddr *) &s->to, sizeof(s->to)) &&
	    errno != EINPROGRESS)
		goto fail;
	if (storm_udp_watch(u, EPOLL_CTL_ADD, &s->src, EPOLLOUT))
		goto fail;
	storm_udp_stream_timer_start(u, false);
	return;
fail:
	s->err = errno;
	storm_udp_stream_timer_start(u, true);
}

/* The kernel may know already what this program has not been told. */
static bool stream_out_is_connected(const struct udp_stream_out *s)
{
	struct sockaddr_in peer;
	socklen_t len = sizeof(peer);

	return s->connected ||
	       !getpeername(s->src.fd, (struct sockaddr *) &peer, &len);
}

/* This connection lost packets.  It counts once, however many they were. */
static void stream_out_lost(struct storm_udp *u, struct udp_stream_out *s)
{
	if (!s->lost)
		storm_udp_lost(&u->out_lost, s->to.sin_addr, storm_now());
	s->lost = true;
}

/* Packets get lost here, and there is time to try again. */
static bool stream_out_goes_on(const struct storm_udp *u,
			       const struct udp_stream_out *s, uint64_t now)
{
	uint64_t timeout = u->set.open_timeout;
	uint64_t until = u->role == STORM_ROLE_NODE ? GOES_ON_NODE(timeout) :
						      GOES_ON_OWNER(timeout);

	return now + timeout <= s->deadline + until &&
	       storm_udp_is_lossy(&u->out_lost, now);
}

static void stream_out_free(struct storm_udp *u, struct udp_stream_out *s)
{
	if (s->src.fd >= 0)
		storm_udp_unwatch_close(u, s->src.fd);
	if (s->alive_fd >= 0)
		close(s->alive_fd);
	TAILQ_REMOVE(&u->out, s, link);
	if (TAILQ_EMPTY(&u->out))
		u->out_due_at = 0;
	u->out_bytes -= s->len;
	free(s);
}

/* Streams of a session: waiting, or active. */
static uint32_t stream_out_count(const struct storm_udp *u, uint64_t session,
				 bool waiting)
{
	const struct udp_stream_out *s;
	uint32_t n = 0;

	TAILQ_FOREACH(s, &u->out, link)
	n += s->session == session && waiting == (s->src.fd < 0 && !s->err);
	return n;
}

/* The one to start next, of those that wait: the oldest of the session that has
 * the fewest active.  So the streams are shared out over the sessions. */
static struct udp_stream_out *stream_out_next(struct storm_udp *u)
{
	struct udp_stream_out *s, *best = NULL;
	uint32_t fewest = UINT32_MAX;

	TAILQ_FOREACH(s, &u->out, link)
	{
		uint32_t n;

		if (s->src.fd >= 0 || s->err)
			continue;
		if (best && s->session == best->session)
			continue;
		n = stream_out_count(u, s->session, false);
		if (n < fewest) {
			fewest = n;
			best = s;
		}
		if (!n)
			break;
	}
	return best;
}

/* May the session have one more?  A session has at most half of an agent's
 * places, and of its bytes; an owner has but one session. */
static bool stream_out_has_room(const struct storm_udp *u, uint64_t session,
				size_t len)
{
	size_t max = u->role == STORM_ROLE_NODE ? UDP_STREAMS_OUT_BYTES_NODE :
						  UDP_STREAMS_OUT_BYTES;
	const struct udp_stream_out *s;
	size_t bytes = len;

	if (u->out_waiting >= UDP_STREAMS_WAITING || u->out_bytes + len > max)
		return false;
	if (u->role != STORM_ROLE_NODE)
		return true;
	TAILQ_FOREACH(s, &u->out, link)
	if (s->session == session)
		bytes += s->len;
	return bytes <= max / 2 &&
	       stream_out_count(u, session, true) < UDP_STREAMS_WAITING / 2;
}

/* A stream has ended: report a failure, and start the next one. */
static void stream_out_end(struct storm_udp *u, struct udp_stream_out *s,
			   enum storm_err why, int sys)
{
	uint64_t session = s->session;
	uint32_t node = s->node;
	struct udp_stream_out *next;

	/* towards a peer that is gone the kernel repeats all */
	if (!why && storm_udp_repeated(s->src.fd) >= REPEATED_MANY)
		stream_out_lost(u, s);
	if (s->src.fd >= 0 || s->err)
		u->out_active--;
	else
		u->out_waiting--;
	stream_out_free(u, s);
	if (!why)
		u->out_closed_at = storm_now();
	if (u->out_waiting && u->out_active < UDP_STREAMS_OUT) {
		next = stream_out_next(u);
		u->out_waiting--;
		stream_out_start(u, next);
	}
	if (why && sys != ECANCELED)
		u->h.stream_failed(u->h.arg, session, node, why, sys);
}

/* A system call failed with sys. */
static void stream_out_failed(struct storm_udp *u, struct udp_stream_out *s,
			      int sys)
{
	stream_out_end(u, s, sys == ECONNREFUSED ? STORM_ENOAGENT : STORM_ELOST,
		       sys);
}

/* The peer has closed.  No answer means success. */
static void stream_out_closed(struct storm_udp *u, struct udp_stream_out *s)
{
	enum storm_err why = STORM_OK;
	int sys = 0;

	if (s->answered &&
	    !storm_refusal_unpack(s->answer, s->answered, &why, &sys)) {
		why = STORM_ENOAGENT;
		sys = EPROTO;
	}
	stream_out_end(u, s, why, sys);
}

static void stream_out_read(struct storm_udp *u, struct udp_stream_out *s)
{
	while (s->answered < sizeof(s->answer)) {
		ssize_t r = recv(s->src.fd, s->answer + s->answered,
				 sizeof(s->answer) - s->answered, 0);

		if (r < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (r < 0) {
			stream_out_failed(u, s, errno);
			return;
		}
		if (!r)
			break;
		s->answered += (size_t) r;
	}
	stream_out_closed(u, s);
}

int storm_udp_send_stream(struct storm_transport *t,
			  const struct storm_addr *to, uint64_t session,
			  uint32_t node, const void *buf, size_t len)
{
	struct storm_udp *u = (struct storm_udp *) t;
	struct udp_stream_out *s;
	struct sockaddr_in sin;

	if (!len || !to->port)
		return -EINVAL;
	if (len > UDP_STREAM_MAX)
		return -EMSGSIZE;
	if (!storm_udp_sockaddr(u, to, &sin))
		return -EAFNOSUPPORT;
	if (!stream_out_has_room(u, session, len))
		return -EAGAIN;
	s = malloc(sizeof(*s) + HEAD + len);
	if (!s)
		return -ENOMEM;
	memset(s, 0, sizeof(*s));
	s->src.kind = UDP_STREAM_OUT;
	s->src.fd = s->alive_fd = -1;
	s->deadline = storm_now() + u->set.open_timeout;
	s->to = sin;
	s->session = session;
	s->node = node;
	s->len = HEAD + len;
	stream_head_pack(s->buf, len);
	memcpy(s->buf + HEAD, buf, len);
	u->out_bytes += s->len;
	TAILQ_INSERT_TAIL(&u->out, s, link);
	if (u->out_active < UDP_STREAMS_OUT)
		stream_out_start(u, s);
	else
		u->out_waiting++;
	return 0;
}

/*
 * The last byte goes by itself.  If a segment is lost that is the only one on its way,
 * the kernel sends it again after 200 ms.  With two of them it does so after some 10
 * ms: it sends the last one again, and the peer's answer shows what is missing (RFC
 * 8985, the tail loss probe, which allows for a delayed answer to a single segment).
 */
static size_t stream_out_piece(const struct udp_stream_out *s)
{
	size_t left = s->len - s->off;

	return left > 1 ? left - 1 : left;
}

void storm_udp_stream_out(struct storm_udp *u, struct udp_stream_out *s)
{
	socklen_t size = sizeof(int);
	int err = 0;
	ssize_t r;

	if (s->err)
		return;
	if (!s->connected) {
		if (getsockopt(s->src.fd, SOL_SOCKET, SO_ERROR, &err, &size))
			err = errno;
		if (err) {
			stream_out_failed(u, s, err);
			return;
		}
		s->connected = true;
		if (s->tries > 2) /* once may be a busy host */
			stream_out_lost(u, s);
	}
	while (s->off < s->len) {
		r = send(s->src.fd, s->buf + s->off, stream_out_piece(s),
			 MSG_NOSIGNAL);
		if (r < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (r < 0) {
			stream_out_failed(u, s, errno);
			return;
		}
		s->off += r;
		if (s->off < s->len)
			continue;
		/* Written is not received: wait for the peer to close. */
		s->alive_at = storm_now() + ALIVE_AFTER;
		if (storm_udp_watch(u, EPOLL_CTL_MOD, &s->src, EPOLLIN))
			stream_out_failed(u, s, errno);
		return;
	}
	stream_out_read(u, s);
}

void storm_udp_drop_streams(struct storm_transport *t, uint64_t session)
{
	struct storm_udp *u = (struct storm_udp *) t;
	struct udp_stream_out *s;

	/* not freed here: storm_udp_poll() may be serving one */
	TAILQ_FOREACH(s, &u->out, link)
	{
		if (s->session != session)
			continue;
		if (s->src.fd < 0 && !s->err) {
			u->out_waiting--;
			u->out_active++;
		}
		s->err = ECANCELED;
		storm_udp_stream_timer_start(u, true);
	}
}

enum storm_stream storm_udp_stream_state(struct storm_transport *t,
					 uint64_t session, uint32_t node)
{
	struct storm_udp *u = (struct storm_udp *) t;
	const struct udp_stream_out *s;

	TAILQ_FOREACH(s, &u->out, link)
	if (s->session == session && s->node == node)
		return s->src.fd >= 0 && !stream_out_is_connected(s) ?
			       STORM_STREAM_CONNECTING :
			       STORM_STREAM_WAITS;
	return STORM_STREAM_OVER;
}

static void stream_out_again(struct storm_udp *u, struct udp_stream_out *s)
{
	uint64_t now = storm_now();

	if (s->tries >= CONNECT_TRIES && !stream_out_goes_on(u, s, now)) {
		stream_out_failed(u, s, ETIMEDOUT);
		return;
	}
	storm_udp_unwatch_close(u, s->src.fd);
	u->out_active--;
	stream_out_start(u, s);
}

/* An agent that is stopped, or hangs, keeps its sender waiting.  late: ns for which
 * this process did not run; perhaps the agent, on the same machine, did not either. */
static bool stream_out_is_dead(const struct storm_udp *u,
			       struct udp_stream_out *s, uint64_t late,
			       uint64_t now)
{
	bool said = s->alive_said;

	if (s->alive_at)
		s->alive_at += late;
	if (s->alive_fd < 0) {
		if (!s->alive_at || now < s->alive_at)
			return false;
		s->alive_fd = storm_udp_alive_ask(&s->to);
		s->alive_said = false;
		s->alive_at = now + ALIVE_AGAIN;
		return false;
	}
	if (storm_udp_alive_answered(s->alive_fd, &s->alive_said)) {
		close(s->alive_fd);
		s->alive_fd = -1;
		s->alive_tries = 0;
		s->alive_at = now + ALIVE_AGAIN;
	} else if (s->alive_said && !said) {
		s->alive_at = now + ALIVE_ANSWER;
	}
	if (s->alive_fd < 0 || !s->alive_said || now < s->alive_at)
		return false;
	/* hosts that all share a busy machine are slow together */
	s->alive_at = u->out_closed_at + ALIVE_OTHERS;
	if (now < s->alive_at)
		return false;
	if (!stream_out_goes_on(u, s, now) || ++s->alive_tries == ALIVE_TRIES)
		return true;
	close(s->alive_fd);
	s->alive_fd = -1; /* it is asked once more, at once */
	return false;
}

void storm_udp_streams_out_due(struct storm_udp *u, uint64_t now)
{
	uint64_t due = u->out_due_at + 2 * TIMER_PERIOD;
	uint64_t late = u->out_due_at && now > due ? now - due : 0;
	struct udp_stream_out *out, *next;

	u->out_due_at = now;
	/* a handler appends new streams, which are not due yet */
	for (out = TAILQ_FIRST(&u->out); out; out = next) {
		next = TAILQ_NEXT(out, link);
		if (out->err)
			stream_out_failed(u, out, out->err);
		else if (out->deadline <= now)
			stream_out_end(u, out, STORM_ETIME, 0);
		else if (stream_out_is_dead(u, out, late, now))
			stream_out_end(u, out, STORM_ETIME, ENODATA);
		else if (out->src.fd >= 0 && out->again_at <= now &&
			 !stream_out_is_connected(out))
			stream_out_again(u, out);
	}
	if (TAILQ_EMPTY(&u->out)) /* the timer rests */
		u->out_due_at = 0;
}

void storm_udp_streams_out_fini(struct storm_udp *u)
{
	struct udp_stream_out *out;

	while ((out = TAILQ_FIRST(&u->out)))
		stream_out_free(u, out);
}
