/*
 * fuzz_stream.c - OPENs over TCP: which hosts connect, in which pieces data arrive,
 * which peers hang up, what a node answers.  The harness plays the kernel without
 * system calls: sockets are entries of a table, and the script sets the time.
 *
 *   u8 bytes that a connection's first read gives at most, less one (255: all),
 *   each of the next twice as many; u8 flags; commands
 *
 * What is handed over must be what one connection brought, whole.  The node
 * writes only to a sender whose OPEN was refused for a reason.  A closed
 * descriptor is never used.  What peers make us hold keeps its bounds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "fuzz.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/transport/udp/udp_private.h"

#include "src/libstorm/wire/open.h"

#define read(fd, buf, len) k_read(fd, buf, len)
#define recv(fd, buf, len, flags) k_recv(fd, buf, len, flags)
#define send(fd, buf, len, flags) k_send(fd, buf, len, flags)
#define close(fd) k_close(fd)
#define socket(family, type, proto) k_socket(family, type, proto)
#define accept4(fd, addr, len, flags) k_accept(fd, addr, len, flags)
#define connect(fd, addr, len) k_connect(fd, addr, len)
#define bind(fd, addr, len) k_bind(fd, addr, len)
#define poll(p, n, ms) k_poll(p, n, ms)
#define setsockopt(fd, level, name, value, len) \
	k_setsockopt(fd, level, name, value, len)
#define getsockopt(fd, level, name, value, len) \
	k_getsockopt(fd, level, name, value, len)
#define epoll_ctl(ep, op, fd, event) k_epoll_ctl(ep, op, fd, event)
#define timerfd_settime(fd, flags, when, old) k_settime(fd, flags, when, old)
#define storm_now() k_now()

/* ---------------------------------------------------------- what stands there --- */

#define COMMANDS 150
#define LISTENER 1
#define TIMER 2
#define FIRST 3
#define SOCKETS (FIRST + 350)
#define QUEUE 128	       /* not accepted yet */
#define MADE_UP 65536	       /* bytes */
#define MORE_MAX (2 * MADE_UP) /* that come at once */

/* What stands in the file uncounted is not to be part of what does not. */
#define APART __attribute__((noinline))

enum flags {
	VERDICT_AT_ONCE = 0x1, /* the handler judges what it is given */
	SENDS_ON = 0x2,	       /* ... and passes it on */
	DROPS = 0x4, /* drops its streams when a failure is reported */
};

enum command {
	CONNECT, /* {u8 host}: a host connects */
	BYTES,	 /* {u8 which, u16 length, bytes}: come in there */
	FRAME,	 /* {u8 which, u24 length, u8}: its head, and so much of
			   it, in 255ths; or more of what is on its way */
	HANG_UP, /* {u8 which, u8 1: by a reset} */
	TIME,	 /* {u16 ms}: passes */
	VERDICT, /* {u8 which, u8 err} */
	WAITS,	 /* {u8 which} */
	SEND,	 /* {u8 host, u16 length}: an OPEN */
	TAKES,	 /* {u8 which, u16}: a node takes so many bytes */
	ANSWERS, /* {u8 which, u8 length, bytes} */
	ENDS,	 /* {u8 which, u8 an errno, 0: it closes} */
	DROP,	 /* {u8 session} */
	TROUBLE, /* {u8}: see enum trouble */
	STREAM_COMMANDS
};

enum trouble { NO_ACCEPT = 0x1, NO_SOCKET = 0x2, NO_WATCH = 0x4 };

struct sock {
	bool open, ours; /* ours: we connected */
	uint8_t host;
	struct udp_src *src; /* watched */
	uint32_t events;
	/* what comes in: these bytes, then fill of them made up */
	uint8_t *bytes;
	size_t count, fill, at, piece;
	bool fin, reset, lingers;
	uint64_t number; /* handed over as */
	bool judged;
	/* what goes out */
	size_t takes, sent;
	uint8_t head[4];
	int err; /* the connection failed */
};

static struct {
	struct storm_udp u;
	struct sock sock[SOCKETS];
	int socks, queue[QUEUE], queued;
	uint64_t now, timer_at, period;
	size_t piece;
	uint8_t flags, trouble;
	struct sock *served; /* the connection at hand */
	enum { NONE, UNDER_WAY, FAILED, DROPPED } sent[COMMANDS * 2];
	uint8_t session[COMMANDS * 2];
	uint32_t sends; /* each has its number for a node */
} w;

static APART struct sock *sock_of(int fd)
{
	must(fd >= FIRST && fd < w.socks && w.sock[fd].open);
	return &w.sock[fd];
}

static struct sock *sock_new(bool ours, uint8_t host)
{
	struct sock *s;

	if (w.socks == SOCKETS)
		return NULL;
	s = &w.sock[w.socks++];
	*s = (struct sock) { .ours = ours, .host = host, .piece = w.piece };
	return s;
}

static int fd_of(const struct sock *s)
{
	return (int) (s - w.sock);
}

/* Made-up bytes, so many from this place on: repeated, so there is no end. */
static const uint8_t *made_up(size_t at)
{
	static uint8_t bytes[2 * MADE_UP];

	if (!bytes[1])
		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] =
				(uint8_t) (i % MADE_UP * 7 + i % MADE_UP / 251);
	return bytes + at % MADE_UP;
}

static size_t left(const struct sock *s)
{
	return s->count + s->fill - s->at;
}

/* ------------------------------------------------------- in place of the kernel --- */

static int fails(int err)
{
	errno = err;
	return -1;
}

static uint64_t k_now(void)
{
	return w.now;
}

static APART ssize_t k_recv(int fd, void *buf, size_t len, int flags)
{
	struct sock *s = sock_of(fd);
	size_t n = left(s);

	must(len);
	if (s->reset)
		return fails(ECONNRESET);
	if (!n)
		return s->fin ? 0 : fails(EAGAIN);
	n = n < len ? n : len;
	n = n < s->piece ? n : s->piece;
	s->piece = s->piece < MADE_UP ? 2 * s->piece : s->piece;
	if (s->at < s->count) {
		n = n < s->count - s->at ? n : s->count - s->at;
		memcpy(buf, s->bytes + s->at, n);
	} else {
		n = n < MADE_UP ? n : MADE_UP;
		memcpy(buf, made_up(s->at), n);
	}
	if (!(flags & MSG_PEEK))
		s->at += n;
	return (ssize_t) n;
}

static ssize_t k_read(int fd, void *buf, size_t len)
{
	if (fd != TIMER)
		return k_recv(fd, buf, len, 0);
	if (w.now < w.timer_at)
		return fails(EAGAIN);
	w.timer_at = w.now + w.period;
	memset(buf, 0, len);
	return (ssize_t) len;
}

/* To a sender: a reason, once judged.  To a node: what storm_udp_send_stream()
 * was given, its length first. */
static ssize_t k_send(int fd, const void *buf, size_t len, int flags)
{
	struct sock *s = sock_of(fd);
	const uint8_t *p = buf;

	must(len && flags == MSG_NOSIGNAL);
	if (!s->ours) {
		must(s->judged && len == STORM_REFUSAL_LEN && !s->sent);
		s->sent = len;
		return s->reset ? fails(EPIPE) : (ssize_t) len;
	}
	if (s->err || s->reset)
		return fails(s->err ? s->err : ECONNRESET);
	len = len < s->takes ? len : s->takes;
	if (!len)
		return fails(EAGAIN);
	for (size_t i = 0; i < len && s->sent + i < sizeof(s->head); i++)
		s->head[s->sent + i] = p[i];
	s->sent += len;
	s->takes -= len;
	must(s->sent <= sizeof(s->head) || p[len - 1] == s->host);
	return (ssize_t) len;
}

static int k_close(int fd)
{
	struct sock *s = sock_of(fd);

	s->open = false;
	s->src = NULL;
	free(s->bytes);
	s->bytes = NULL;
	return 0;
}

static int k_socket(int family, int type, int proto)
{
	struct sock *s = sock_new(true, 0);

	(void) family;
	(void) type;
	(void) proto;
	if (!s || w.trouble & NO_SOCKET) {
		w.socks -= s != NULL;
		return fails(EMFILE);
	}
	s->open = true;
	return fd_of(s);
}

static int k_accept(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	struct sock *s;

	must(fd == LISTENER && *len == sizeof(sin) && flags & SOCK_NONBLOCK);
	if (!w.queued)
		return fails(EAGAIN);
	if (w.trouble & NO_ACCEPT)
		return fails(EMFILE);
	s = &w.sock[w.queue[0]];
	memmove(w.queue, w.queue + 1, (size_t) --w.queued * sizeof(int));
	s->open = true;
	sin.sin_addr.s_addr = s->host;
	memcpy(addr, &sin, sizeof(sin));
	return fd_of(s);
}

static int k_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct sockaddr_in sin;

	must(len == sizeof(sin));
	memcpy(&sin, addr, sizeof(sin));
	sock_of(fd)->host = (uint8_t) (ntohs(sin.sin_port) - 1);
	return fails(EINPROGRESS);
}

/* A port of root's is taken now and then. */
static int k_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	must(addr && len == sizeof(struct sockaddr_in) && sock_of(fd)->open);
	return w.u.out_port % 3 ? 0 : fails(EADDRINUSE);
}

static int k_poll(struct pollfd *p, nfds_t n, int ms)
{
	must(n == 1 && p->fd == LISTENER && !ms);
	return w.queued > 0;
}

static int k_setsockopt(int fd, int level, int name, const void *value,
			socklen_t len)
{
	must(value && len);
	if (level == SOL_SOCKET && name == SO_LINGER)
		sock_of(fd)->lingers = true;
	return 0;
}

static int k_getsockopt(int fd, int level, int name, void *value,
			socklen_t *len)
{
	if (level == IPPROTO_TCP && name == TCP_INFO) {
		struct tcp_info info = {
			/* of some many, of others none */
			.tcpi_total_retrans = (uint32_t) (w.now / STORM_MS % 3),
		};

		must(*len == sizeof(info) && sock_of(fd));
		memcpy(value, &info, sizeof(info));
		return 0;
	}
	must(level == SOL_SOCKET && name == SO_ERROR && *len == sizeof(int));
	memcpy(value, &sock_of(fd)->err, sizeof(int));
	return 0;
}

static int k_epoll_ctl(int ep, int op, int fd, struct epoll_event *event)
{
	struct sock *s = sock_of(fd);

	must(!ep && op == EPOLL_CTL_DEL && !event && s->src);
	s->src = NULL;
	return 0;
}

static int k_settime(int fd, int flags, const struct itimerspec *when,
		     struct itimerspec *old)
{
	must(fd == TIMER && !flags && !old);
	w.timer_at = when->it_value.tv_nsec ?
			     w.now + (uint64_t) when->it_value.tv_nsec :
			     STORM_NEVER;
	w.period = (uint64_t) when->it_interval.tv_nsec;
	return 0;
}

#include "src/libstorm/transport/udp/udp_alive.c"
#include "src/libstorm/transport/udp/udp_lost.c"
#include "src/libstorm/transport/udp/udp_stream.c"
#include "src/libstorm/transport/udp/udp_stream_out.c"

int storm_udp_watch(struct storm_udp *u, int op, struct udp_src *src,
		    uint32_t events)
{
	must(u == &w.u && src->fd != TIMER);
	if (src->fd == LISTENER)
		return 0; /* listener_paused reports it */
	if (op == EPOLL_CTL_ADD && w.trouble & NO_WATCH)
		return fails(ENOSPC);
	must(op == EPOLL_CTL_ADD || sock_of(src->fd)->src == src);
	sock_of(src->fd)->src = src;
	sock_of(src->fd)->events = events;
	return 0;
}

void storm_udp_unwatch_close(struct storm_udp *u, int fd)
{
	must(u == &w.u);
	sock_of(fd)->src = NULL;
	close(fd);
}

bool storm_udp_sockaddr(struct storm_udp *u, const struct storm_addr *a,
			struct sockaddr_in *sin)
{
	must(u == &w.u);
	*sin = (struct sockaddr_in) { .sin_family = AF_INET,
				      .sin_port = htons(a->port) };
	return true;
}

void storm_udp_addr(struct storm_addr *a, struct in_addr ip, uint16_t port)
{
	memset(a, 0, sizeof(*a));
	memcpy(a->ip + 12, &ip, 4);
	a->port = port;
}

int storm_udp_option(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

/* ------------------------------------------------------------------ handlers --- */

static struct storm_transport *transport(void)
{
	return &w.u.transport;
}

static void drop(uint64_t session)
{
	for (uint32_t i = 0; i < w.sends; i++)
		if (w.sent[i] == UNDER_WAY && w.session[i] == session)
			w.sent[i] = DROPPED;
	storm_udp_drop_streams(transport(), session);
}

static void send_open(uint8_t host, size_t len, uint8_t fill)
{
	struct storm_addr to = { .port = host + 1 };
	static uint8_t buf[65536];

	if (w.sends == sizeof(w.sent) / sizeof(w.sent[0]))
		return;
	memset(buf, fill, len);
	w.session[w.sends] = host % 4u;
	if (!storm_udp_send_stream(transport(), &to, host % 4u, w.sends, buf,
				   len))
		w.sent[w.sends] = UNDER_WAY;
	w.sends++;
}

static void verdict(struct sock *s, enum storm_err err)
{
	bool ended = !s->open;
	uint64_t refused = w.u.stats.streams_refused;

	s->judged = err && err != STORM_EAUTH;
	storm_udp_end_stream(transport(), s->number, err);
	must(!s->open);
	if (ended)
		return;
	must(s->lingers == (err == STORM_EAUTH));
	must(!s->sent == !s->judged);
	must(w.u.stats.streams_refused == refused + (err != STORM_OK));
}

static void stream(void *arg, uint64_t number, const void *buf, size_t len)
{
	struct sock *s = w.served;
	const uint8_t *p = buf;
	size_t own = s->count > HEAD ? s->count - HEAD : 0, n;

	must(arg == &w && number && !s->number);
	must(s->at == HEAD + len && len && len <= STORM_OPEN_MAX);
	s->number = number;
	own = own < len ? own : len;
	must(!own || !memcmp(p, s->bytes + HEAD, own));
	for (size_t at = own; at < len; at += n) {
		n = len - at < MADE_UP ? len - at : MADE_UP;
		must(!memcmp(p + at, made_up(HEAD + at), n));
	}
	if (w.flags & SENDS_ON)
		send_open(s->host, len < 1000 ? len : 1000, s->host);
	if (w.flags & VERDICT_AT_ONCE)
		verdict(s, p[0] % STORM_ERROR_END);
}

static void failed(void *arg, uint64_t session, uint32_t node,
		   enum storm_err why, int sys)
{
	must(arg == &w && node < w.sends && w.sent[node] == UNDER_WAY);
	must(why > STORM_OK && why < STORM_ERROR_END && sys >= 0);
	w.sent[node] = FAILED;
	if (w.flags & DROPS)
		drop(session);
}

/* ---------------------------------------------------------------------- rounds --- */

static APART bool ready(const struct sock *s)
{
	if (!s->open || !s->src)
		return false;
	if (s->reset || s->err)
		return true;
	return s->events & EPOLLOUT ? s->takes > 0 : left(s) || s->fin;
}

/* What is ready, then each in udp_transport.c's order.  False: nothing is. */
static APART bool serve(void)
{
	bool listens = w.queued && !w.u.listener_paused;
	bool rings = w.now >= w.timer_at;
	struct udp_src *src[SOCKETS];
	int fd[SOCKETS], n = 0;

	for (int i = FIRST; i < w.socks; i++) {
		if (!ready(&w.sock[i]))
			continue;
		fd[n] = i;
		src[n++] = w.sock[i].src;
	}
	for (int i = 0; i < n; i++)
		if (w.sock[fd[i]].ours)
			storm_udp_stream_out(&w.u, (void *) src[i]);
	for (int i = 0; i < n; i++) {
		w.served = &w.sock[fd[i]];
		if (!w.served->ours)
			storm_udp_stream_in(&w.u, (void *) src[i]);
	}
	if (listens)
		storm_udp_accept(&w.u);
	if (rings)
		storm_udp_stream_timer(&w.u);
	return n || listens || rings;
}

static APART void must_be_bounded(void)
{
	uint32_t half = 0, held = 0, out = 0;
	const struct udp_stream_out *o;
	const struct udp_stream_in *s;
	size_t bytes = 0;

	TAILQ_FOREACH(s, &w.u.in, link)
	{
		must(w.sock[s->src.fd].open);
		half += !s->number;
		held += s->number != 0;
		bytes += s->number ? s->len : 0;
		must(!s->number == (s->buf || s->got <= HEAD));
		/* memory for what has come, not for what was announced */
		must(s->number || s->room <= FIRST_ROOM ||
		     s->room <= 2 * s->got);
	}
	must(half == w.u.in_count && half <= UDP_STREAMS_IN);
	must(held == w.u.held_count && held <= UDP_STREAMS_HELD);
	must(bytes == w.u.held_bytes && bytes <= UDP_STREAMS_HELD_BYTES);
	bytes = 0;
	TAILQ_FOREACH(o, &w.u.out, link)
	{
		must(o->src.fd < 0 || w.sock[o->src.fd].open);
		out++;
		bytes += o->len;
	}
	must(out == w.u.out_active + w.u.out_waiting && bytes == w.u.out_bytes);
}

static void rounds(void)
{
	/* where accept always fails: some rounds are enough */
	for (int i = 0; i < 8 && serve(); i++)
		;
	must_be_bounded();
}

/* -------------------------------------------------------------------- commands --- */

/* One of ours or of theirs, from there on; NULL: there is none. */
static APART struct sock *pick(bool ours, uint8_t which)
{
	int count = w.socks - FIRST;

	for (int i = 0; i < count; i++) {
		struct sock *s = &w.sock[FIRST + (which + i) % count];

		if (s->ours == ours && (s->number || s->open))
			return s;
	}
	return NULL;
}

static void someone_connects(uint8_t host)
{
	struct sock *s = w.queued < QUEUE ? sock_new(false, host) : NULL;

	if (s)
		w.queue[w.queued++] = fd_of(s);
}

static void comes_in(struct sock *s, const uint8_t *buf, size_t len)
{
	if (!s || !s->open || s->fin || s->reset || !len)
		return;
	if (s->fill) {
		s->fill += len;
		return;
	}
	s->bytes = realloc(s->bytes, s->count + len);
	must(s->bytes);
	memcpy(s->bytes + s->count, buf, len);
	s->count += len;
}

static void frame(struct sock *s, uint32_t len, uint8_t part)
{
	uint8_t head[HEAD];

	if (!s || !s->open || s->fin || s->reset)
		return;
	if (!s->count) {
		stream_head_pack(head, len);
		comes_in(s, head, sizeof(head));
	}
	len = len < MORE_MAX ? len : MORE_MAX;
	s->fill += part == 255 ? len : (uint64_t) len * part / 255;
}

static void hang_up(struct sock *s, bool reset)
{
	if (!s)
		return;
	s->fin = true;
	s->reset = s->reset || reset;
}

static void must_wait(const struct sock *s)
{
	bool waits = s->open && !s->reset && (left(s) || !s->fin);

	must(storm_udp_stream_waits(transport(), s->number) == waits);
}

static void step(struct storm_in *i)
{
	enum command c = storm_get8(i) % STREAM_COMMANDS;
	uint8_t a = storm_get8(i);
	struct sock *s = pick(c == TAKES || c == ANSWERS || c == ENDS, a);
	uint8_t *buf;
	uint32_t n;
	size_t len;

	switch (c) {
	case CONNECT:
		someone_connects(a);
		break;
	case BYTES:
		buf = some(i, 4096, &len);
		comes_in(s, buf, len);
		free(buf);
		break;
	case FRAME:
		n = (uint32_t) storm_get8(i) << 16;
		n |= storm_get16(i);
		frame(s, n, storm_get8(i));
		break;
	case HANG_UP:
		hang_up(s, storm_get8(i));
		break;
	case TIME:
		w.now += (a << 8 | storm_get8(i)) * STORM_MS;
		break;
	case VERDICT:
		a = storm_get8(i) % STORM_ERROR_END;
		if (s && s->number && !s->judged)
			verdict(s, a);
		break;
	case WAITS:
		if (s && s->number)
			must_wait(s);
		break;
	case SEND:
		send_open(a, storm_get16(i), a);
		break;
	case TAKES:
		n = storm_get16(i);
		if (s)
			s->takes += n;
		break;
	case ANSWERS:
		len = storm_get8(i);
		buf = some(i, len, &len);
		comes_in(s, buf, len);
		free(buf);
		break;
	case ENDS:
		a = storm_get8(i);
		if (s && a && !s->sent)
			s->err = a;
		hang_up(s, a);
		break;
	case DROP:
		drop(a % 4u);
		break;
	case TROUBLE:
		w.trouble = a;
		break;
	case STREAM_COMMANDS:
		break;
	}
}

static void start(struct storm_in *head)
{
	memset(&w.u, 0, sizeof(w.u));
	memset(w.sent, 0, sizeof(w.sent));
	w.socks = FIRST;
	w.queued = 0;
	w.sends = 0;
	w.now = 1000 * STORM_SEC;
	w.timer_at = STORM_NEVER;
	w.piece = 1u + storm_get8(head);
	if (w.piece == 256)
		w.piece = MADE_UP;
	w.flags = storm_get8(head);
	w.trouble = 0;
	storm_settings_default(&w.u.set);
	TAILQ_INIT(&w.u.in);
	TAILQ_INIT(&w.u.out);
	w.u.h = (struct storm_net_handler) { .stream = stream,
					     .stream_failed = failed,
					     .arg = &w };
	w.u.listener = (struct udp_src) { UDP_LISTENER, LISTENER };
	w.u.timer = (struct udp_src) { UDP_TIMER, TIMER };
}

static void end(void)
{
	storm_udp_streams_fini(&w.u);
	for (int i = FIRST; i < w.socks; i++)
		must(!w.sock[i].open && !w.sock[i].bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct storm_in i = { data, data + size, false };

	start(&i);
	for (int n = 0; n < COMMANDS && i.p < i.end && !i.bad; n++) {
		step(&i);
		rounds();
	}
	end();
	return 0;
}
