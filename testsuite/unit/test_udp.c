/*
 * test_udp.c - the transport over UDP and TCP, on the loopback interface of a
 * network namespace of its own.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "namespace.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/transport/udp/udp_port.h"
#include "src/libstorm/transport/udp/udp_private.h"
#include "unit.h"

#define SEG 1424
#define PATIENCE (8 * STORM_SEC) /* less than UDP_STREAM_IN_TIME */
#define SKIP(why)                                                 \
	do {                                                      \
		fprintf(stderr, "SKIP: %s: %s\n", __func__, why); \
		return;                                           \
	} while (0)

static bool own_namespace; /* ours to shape and to add interfaces to */

/* ------------------------------------------------------ a pair of endpoints */

struct end {
	struct storm_udp *u;
	struct storm_transport *t;
	struct storm_addr self;
	uint8_t *bytes; /* all datagrams, one after the other */
	size_t len, room, count, in_group;
	size_t *sizes;
	size_t streams, stream_len;
	uint8_t *stream; /* the last one */
	size_t failures;
	uint64_t failed_session;
	uint32_t failed_node;
	enum storm_err failed_why;
	int failed_errno;
	enum storm_err verdict; /* of each stream */
	bool undecided;		/* ... that is still to come */
	uint64_t number;	/* of the last one */
};

static struct end agent, owner;
static struct storm_settings set;
static struct storm_addr group;
static char last_log[1024];
static size_t logs;

static void keep_log(enum storm_log_level level, const char *msg)
{
	if (level > STORM_LOG_WARN)
		return;
	snprintf(last_log, sizeof(last_log), "%s", msg);
	logs++;
}

static void on_datagrams(void *arg, struct storm_rx *rx, size_t n)
{
	struct end *e = arg;

	for (size_t i = 0; i < n; i++) {
		if (e->len + rx[i].len > e->room) {
			e->room = 2 * (e->len + rx[i].len);
			e->bytes = realloc(e->bytes, e->room);
		}
		if (!(e->count & (e->count - 1))) /* 0, or a power of 2 */
			e->sizes = realloc(e->sizes,
					   (2 * e->count + 1) * sizeof(size_t));
		memcpy(e->bytes + e->len, rx[i].buf, rx[i].len);
		e->sizes[e->count++] = rx[i].len;
		e->len += rx[i].len;
		e->in_group += rx[i].group;
		memset(rx[i].buf, 0xee, rx[i].len); /* as unsealing does */
	}
}

static void on_stream(void *arg, uint64_t stream, const void *buf, size_t len)
{
	struct end *e = arg;

	free(e->stream);
	e->stream = malloc(len);
	memcpy(e->stream, buf, len);
	e->stream_len = len;
	e->streams++;
	e->number = stream;
	if (!e->undecided)
		e->t->ops->end_stream(e->t, stream, e->verdict);
}

static void on_failed(void *arg, uint64_t session, uint32_t node,
		      enum storm_err why, int sys)
{
	struct end *e = arg;

	e->failures++;
	e->failed_session = session;
	e->failed_node = node;
	e->failed_why = why;
	e->failed_errno = sys;
}

static struct storm_udp *open_end(struct end *e, enum storm_role role, int *err)
{
	struct storm_net_handler h = {
		.datagrams = on_datagrams,
		.stream = on_stream,
		.stream_failed = on_failed,
		.arg = e,
	};

	memset(e, 0, sizeof(*e));
	e->u = storm_udp_create(&set, role, NULL, &h, err);
	if (e->u) {
		e->t = storm_udp_transport(e->u);
		storm_udp_self(e->u, &e->self);
	}
	return e->u;
}

static void close_end(struct end *e)
{
	storm_udp_destroy(e->u);
	free(e->bytes);
	free(e->sizes);
	free(e->stream);
	memset(e, 0, sizeof(*e));
}

static void setup(void)
{
	int err;

	storm_log_set(keep_log);
	storm_settings_default(&set);
	strcpy(set.interface, "lo");
	set.port = 18383;
	set.groups = 3;
	set.socket_buffer = 4 << 20;
	group = set.group;
	group.port = set.port;
	ck_assert_ptr_nonnull(open_end(&agent, STORM_ROLE_NODE, &err));
	ck_assert_ptr_nonnull(open_end(&owner, STORM_ROLE_OWNER, &err));
}

static void teardown(void)
{
	close_end(&agent);
	close_end(&owner);
}

/* Serve both ends until a condition holds; false: out of patience. */
#define until(condition)                                      \
	({                                                    \
		uint64_t give_up = storm_now() + PATIENCE;    \
		while (!(condition) && storm_now() < give_up) \
			serve_both();                         \
		(condition);                                  \
	})

static void serve_both(void)
{
	struct pollfd p[2] = {
		{ .fd = agent.u ? storm_udp_fd(agent.u) : -1,
		  .events = POLLIN },
		{ .fd = owner.u ? storm_udp_fd(owner.u) : -1,
		  .events = POLLIN },
	};

	poll(p, 2, 100);
	if (agent.u)
		storm_udp_poll(agent.u);
	if (owner.u)
		storm_udp_poll(owner.u);
}

/* Take all that has come to the agent, or its buffers overflow. */
static void drain_agent(void)
{
	struct pollfd p = { storm_udp_fd(agent.u), POLLIN, 0 };

	while (poll(&p, 1, 0) == 1)
		storm_udp_poll(agent.u);
}

static int send_to(struct end *e, enum storm_class c,
		   const struct storm_addr *to, const void *buf, size_t len,
		   size_t seg)
{
	return e->t->ops->send(e->t, c, to, buf, len, seg);
}

static uint8_t *pattern(size_t len)
{
	uint8_t *p = malloc(len);
	uint32_t x = 12345;

	for (size_t i = 0; i < len; i++) {
		x = x * 1664525 + 1013904223;
		p[i] = x >> 24;
	}
	return p;
}

static struct storm_udp_stats stats_of(const struct end *e)
{
	struct storm_udp_stats st;

	storm_udp_stats(e->u, &st);
	return st;
}

/* Whatever was sent before this has been received when this is back. */
static void fence(struct end *from, struct end *to)
{
	size_t before = to->count;

	ck_assert_int_eq(send_to(from, STORM_CONTROL, &to->self, "fence", 5, 5),
			 0);
	ck_assert(until(to->count > before));
}

/* -------------------------------------------------------------- datagrams */

START_TEST(test_unicast_both_ways)
{
	ck_assert_int_eq(agent.self.port, set.port);
	ck_assert_int_ne(owner.self.port, 0);
	ck_assert_int_eq(send_to(&owner, STORM_CONTROL, &agent.self, "hello", 5,
				 100),
			 0);
	ck_assert(until(agent.count == 1));
	ck_assert_mem_eq(agent.bytes, "hello", 5);
	ck_assert_uint_eq(agent.in_group, 0);
	ck_assert_int_eq(
		send_to(&agent, STORM_BULK, &owner.self, "there!", 6, 6), 0);
	ck_assert(until(owner.count == 1));
	ck_assert_mem_eq(owner.bytes, "there!", 6);
}
END_TEST

/* Lengths around one segment, one super-packet and the largest send. */
static const size_t lengths[] = {
	1,	  SEG - 1,	SEG,	      SEG + 1,
	2 * SEG,  45 * SEG,	45 * SEG + 1, 46 * SEG,
	64 * SEG, 64 * SEG + 7, UDP_SEND_MAX,
};

static void send_lengths(const struct storm_addr *to, bool in_group)
{
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		size_t len = lengths[i], n = (len + SEG - 1) / SEG, k;
		uint8_t *p = pattern(len);

		agent.len = agent.count = agent.in_group = 0;
		ck_assert_int_eq(send_to(&owner, STORM_BULK, to, p, len, SEG),
				 0);
		ck_assert_msg(until(agent.count >= n), "%zu bytes: %zu of %zu",
			      len, agent.count, n);
		fence(&owner, &agent);
		ck_assert_uint_eq(agent.count, n + 1);
		ck_assert_uint_eq(agent.in_group, in_group ? n : 0);
		for (k = 0; k + 1 < n; k++)
			ck_assert_uint_eq(agent.sizes[k], SEG);
		ck_assert_uint_eq(agent.sizes[n - 1], len - (n - 1) * SEG);
		ck_assert_mem_eq(agent.bytes, p, len);
		free(p);
	}
}

START_TEST(test_multicast)
{
	send_lengths(&group, true);
	ck_assert_uint_eq(stats_of(&owner).send_errors, 0);
	/* 256 KiB went by super-packets, not one by one. */
	ck_assert(owner.u->gso);
	ck_assert_uint_lt(stats_of(&owner).tx_calls,
			  stats_of(&owner).tx_datagrams / 10);
}
END_TEST

/* The code point that a datagram carries; its class's socket has a priority of its
 * own here, and no bulk data stand in it before strobes. */
static void leaves_as(enum storm_class c, int dscp, int priority)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	char buf[16];
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.bytes,
			      .msg_controllen = sizeof(control) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), one = 1, has = -1;
	socklen_t len = sizeof(sin), intlen = sizeof(has);
	struct storm_addr to;

	must(!bind(fd, (struct sockaddr *) &sin, len));
	must(!getsockname(fd, (struct sockaddr *) &sin, &len));
	must(!setsockopt(fd, IPPROTO_IP, IP_RECVTOS, &one, sizeof(one)));
	storm_udp_addr(&to, sin.sin_addr, ntohs(sin.sin_port));
	ck_assert_int_eq(send_to(&owner, c, &to, "strobe", 6, 6), 0);
	ck_assert_int_eq(recvmsg(fd, &msg, 0), 6);
	must(CMSG_FIRSTHDR(&msg) && CMSG_FIRSTHDR(&msg)->cmsg_type == IP_TOS);
	ck_assert_int_eq(*CMSG_DATA(CMSG_FIRSTHDR(&msg)), dscp << 2);
	must(!getsockopt(owner.u->tx[c].src.fd, SOL_SOCKET, SO_PRIORITY, &has,
			 &intlen));
	ck_assert_int_eq(has, priority);
	close(fd);
}

START_TEST(test_priorities)
{
	int err;

	leaves_as(STORM_CONTROL, 48, 6);
	leaves_as(STORM_BULK, 8, 2);
	close_end(&owner);
	set.dscp_control = 46;
	set.dscp = 0;
	ck_assert_ptr_nonnull(open_end(&owner, STORM_ROLE_OWNER, &err));
	leaves_as(STORM_CONTROL, 46, 6);
	leaves_as(STORM_BULK, 0, 2);
}
END_TEST

START_TEST(test_bulk_unicast)
{
	send_lengths(&agent.self, false);
}
END_TEST

START_TEST(test_without_gso)
{
	owner.u->gso = false;
	send_lengths(&group, true);
	send_lengths(&agent.self, false);
}
END_TEST

/* The kernel takes no super-packets from a socket without checksums. */
START_TEST(test_gso_refused)
{
	int one = 1;

	ck_assert(owner.u->gso);
	ck_assert_int_eq(setsockopt(owner.u->tx[STORM_BULK].src.fd, SOL_SOCKET,
				    SO_NO_CHECK, &one, sizeof(one)),
			 0);
	send_lengths(&group, true);
	ck_assert(!owner.u->gso);
	ck_assert_uint_eq(stats_of(&owner).send_errors, 0);
}
END_TEST

/* A group's datagrams come once, whichever group; others' do not come. */
START_TEST(test_groups_apart)
{
	struct storm_addr g = group;

	for (uint32_t i = 0; i < set.groups; i++, g.ip[15]++)
		ck_assert_int_eq(send_to(&owner, STORM_CONTROL, &g, "x", 1, 1),
				 0);
	ck_assert_int_eq(send_to(&owner, STORM_CONTROL, &g, "y", 1, 1), 0);
	ck_assert(until(agent.count >= set.groups));
	fence(&owner, &agent);
	ck_assert_uint_eq(agent.in_group, set.groups);
	ck_assert_uint_eq(agent.count, set.groups + 1);
	ck_assert_ptr_null(memchr(agent.bytes, 'y', agent.len));
	/* The owner has joined nothing. */
	ck_assert_uint_eq(owner.count, 0);
}
END_TEST

START_TEST(test_no_multicast)
{
	int err;

	close_end(&agent);
	set.multicast = false;
	ck_assert_ptr_nonnull(open_end(&agent, STORM_ROLE_NODE, &err));
	send_to(&owner, STORM_CONTROL, &group, "x", 1, 1);
	fence(&owner, &agent);
	ck_assert_uint_eq(agent.count, 1);
}
END_TEST

START_TEST(test_send_arguments)
{
	static uint8_t big[UDP_SEND_MAX + 1];
	struct storm_addr a = agent.self;

	ck_assert_int_eq(send_to(&owner, STORM_BULK, &a, big, 0, 1), -EINVAL);
	ck_assert_int_eq(send_to(&owner, STORM_BULK, &a, big, 1, 0), -EINVAL);
	ck_assert_int_eq(send_to(&owner, STORM_BULK, &a, big, sizeof(big), SEG),
			 -EMSGSIZE);
	a.port = 0;
	ck_assert_int_eq(send_to(&owner, STORM_BULK, &a, big, 1, 1), -EINVAL);
	memset(a.ip, 0x20, sizeof(a.ip));
	a.port = 1;
	logs = 0;
	ck_assert_int_eq(send_to(&owner, STORM_BULK, &a, big, 1, 1),
			 -EAFNOSUPPORT);
	ck_assert_int_eq(send_to(&owner, STORM_BULK, &a, big, 1, 1),
			 -EAFNOSUPPORT);
	ck_assert_uint_eq(logs, 1);
	ck_assert_ptr_nonnull(strstr(last_log, "2020:2020"));
}
END_TEST

START_TEST(test_mtu)
{
	size_t mtu = owner.t->ops->mtu(owner.t);
	uint8_t *p = pattern(mtu + 1);
	int err;

	if (own_namespace)
		ck_assert_uint_eq(mtu, 1500 - 28);
	else
		ck_assert_uint_eq(mtu, 65507);
	ck_assert_int_eq(send_to(&owner, STORM_BULK, &agent.self, p, mtu, mtu),
			 0);
	ck_assert(until(agent.count == 1));
	ck_assert_uint_eq(agent.len, mtu);
	/* DF is set: nothing larger is sent, and the log has it once. */
	logs = 0;
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(send_to(&owner, STORM_BULK, &agent.self, p,
					 mtu + 1, mtu + 1),
				 -EMSGSIZE);
	if (own_namespace) {
		ck_assert_uint_eq(logs, 1);
		ck_assert_uint_eq(stats_of(&owner).send_errors, 3);
		/* Segments that are too large are no reason to do without
		 * GSO. */
		free(p);
		p = pattern(3 * mtu + 3);
		ck_assert_int_eq(send_to(&owner, STORM_BULK, &agent.self, p,
					 3 * mtu + 3, mtu + 1),
				 -EMSGSIZE);
		ck_assert(owner.u->gso);
	}
	close_end(&owner);
	set.mtu = 1000;
	ck_assert_ptr_nonnull(open_end(&owner, STORM_ROLE_OWNER, &err));
	ck_assert_uint_eq(owner.t->ops->mtu(owner.t), 972);
	free(p);
}
END_TEST

/* Test-only loss: a seed gives the same losses, about as many as asked. */
START_TEST(test_drop)
{
	uint16_t n = 10000, i, first[10000] = { 0 };
	size_t kept[2] = { 0, 0 }, turn;

	for (turn = 0; turn < 2; turn++) {
		size_t dropped = stats_of(&agent).dropped_by_test;

		agent.len = agent.count = 0;
		storm_udp_drop(agent.u, 100000, 42);
		for (i = 0; i < n; i++) {
			ck_assert_int_eq(send_to(&owner, STORM_BULK, &group, &i,
						 2, 2),
					 0);
			if (i % 100 == 99)
				drain_agent();
		}
		ck_assert(until(agent.count + stats_of(&agent).dropped_by_test -
					dropped ==
				n));
		kept[turn] = agent.count;
		if (!turn)
			memcpy(first, agent.bytes, agent.len);
	}
	ck_assert_uint_eq(kept[0], kept[1]);
	ck_assert_mem_eq(first, agent.bytes, agent.len);
	ck_assert_uint_gt(kept[0], 8700);
	ck_assert_uint_lt(kept[0], 9300);
}
END_TEST

/* The loss is of datagrams, not of super-packets. */
START_TEST(test_drop_segments)
{
	uint8_t *p = pattern(40 * SEG);

	storm_udp_drop(agent.u, 500000, 7);
	ck_assert_int_eq(send_to(&owner, STORM_BULK, &group, p, 40 * SEG, SEG),
			 0);
	ck_assert(until(agent.count + stats_of(&agent).dropped_by_test == 40));
	ck_assert_uint_gt(agent.count, 5);
	ck_assert_uint_lt(agent.count, 35);
	free(p);
}
END_TEST

START_TEST(test_overflow_is_counted)
{
	uint8_t *p = pattern(40 * SEG);
	int err;

	close_end(&agent);
	set.socket_buffer = 64 * 1024;
	ck_assert_ptr_nonnull(open_end(&agent, STORM_ROLE_NODE, &err));
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(send_to(&owner, STORM_BULK, &group, p,
					 40 * SEG, SEG),
				 0);
	fence(&owner, &agent);
	ck_assert_uint_gt(stats_of(&agent).socket_drops, 0);
	ck_assert_uint_lt(agent.count, 4000);
	free(p);
}
END_TEST

START_TEST(test_stats)
{
	uint8_t *p = pattern(10 * SEG);
	struct storm_udp_stats o, a;

	ck_assert_int_eq(send_to(&owner, STORM_BULK, &group, p, 10 * SEG, SEG),
			 0);
	ck_assert(until(agent.count == 10));
	o = stats_of(&owner);
	a = stats_of(&agent);
	ck_assert_uint_eq(o.tx_datagrams, 10);
	ck_assert_uint_eq(o.tx_bytes, 10 * SEG);
	ck_assert_uint_eq(a.rx_datagrams, 10);
	ck_assert_uint_eq(a.rx_bytes, 10 * SEG);
	ck_assert_uint_eq(a.socket_drops, 0);
	free(p);
}
END_TEST

static bool run(const char *command)
{
	return !system(command);
}

/* Each segment of p came exactly once; CPUs may overtake each other. */
static void check_all_once(const uint8_t *p, size_t total)
{
	size_t n = (total + SEG - 1) / SEG, off = 0, i;
	bool *seen = calloc(n, sizeof(*seen));
	uint32_t k;

	ck_assert_uint_eq(agent.count, n);
	for (i = 0; i < n; off += agent.sizes[i++]) {
		memcpy(&k, agent.bytes + off, sizeof(k));
		ck_assert_uint_lt(k, n);
		ck_assert(!seen[k]);
		seen[k] = true;
		ck_assert_uint_eq(agent.sizes[i],
				  k + 1 < n ? SEG : total - (n - 1) * SEG);
		ck_assert_mem_eq(agent.bytes + off, p + k * SEG,
				 agent.sizes[i]);
	}
	free(seen);
}

/*
 * A slow interface: every accepted datagram arrives, and a refused one was not
 * sent. The descriptor wakes the sender.
 */
START_TEST(test_back_pressure)
{
	size_t total = 4 << 20, sent = 0, eagain = 0, chunk, woken = 0;
	uint8_t *p;
	uint32_t k;
	int rc;

	if (!own_namespace)
		SKIP("needs a network namespace of its own");
	if (unit_by_valgrind())
		SKIP("valgrind is slower than the interface");
	if (!run("tc qdisc replace dev lo root tbf rate 200mbit burst 128kb "
		 "latency 50ms 2>/dev/null"))
		SKIP("no tc, or no tbf in the kernel");
	p = pattern(total);
	for (k = 0; k * SEG < total; k++)
		memcpy(p + k * SEG, &k, sizeof(k));
	owner.u->gso = _i & 1;
	chunk = _i & 2 ? 180 * SEG : 45 * SEG;
	while (sent < total) {
		size_t n = total - sent < chunk ? total - sent : chunk;

		rc = send_to(&owner, STORM_BULK, &group, p + sent, n, SEG);
		if (!rc) {
			sent += n;
			drain_agent();
			continue;
		}
		ck_assert_int_eq(rc, -EAGAIN);
		eagain++;
		/* Bulk does not stop control. */
		ck_assert_int_eq(send_to(&owner, STORM_CONTROL, &owner.self,
					 "c", 1, 1),
				 0);
		do {
			struct pollfd w = { storm_udp_fd(owner.u), POLLIN, 0 };

			ck_assert_int_eq(poll(&w, 1, 10000), 1);
			storm_udp_poll(owner.u);
			drain_agent();
		} while (owner.u->tx[STORM_BULK].armed && ++woken < 1000000);
	}
	ck_assert(until(agent.len >= total));
	check_all_once(p, total);
	ck_assert_uint_gt(eagain, 0);
	ck_assert_uint_eq(stats_of(&owner).send_errors, 0);
	run("tc qdisc del dev lo root");
	free(p);
}
END_TEST

/* An agent that relays faster than its link keeps a window's worth. */
START_TEST(test_agent_keeps)
{
	size_t n = 45 * SEG, sent = 0;
	uint8_t *p = pattern(n);
	int rc;

	if (!own_namespace)
		SKIP("needs a network namespace of its own");
	if (!run("tc qdisc replace dev lo root tbf rate 200mbit burst 128kb "
		 "latency 50ms 2>/dev/null"))
		SKIP("no tc, or no tbf in the kernel");
	agent.u->tx[STORM_BULK].room = 4 << 20;
	while (!(rc = send_to(&agent, STORM_BULK, &owner.self, p, n, SEG)))
		sent += n;
	ck_assert_int_eq(rc, -EAGAIN);
	ck_assert_uint_gt(agent.u->tx[STORM_BULK].kept, (4 << 20) - n);
	ck_assert_uint_le(agent.u->tx[STORM_BULK].kept, 4 << 20);
	ck_assert(until(owner.len >= sent));
	ck_assert_uint_eq(owner.len, sent);
	ck_assert_uint_eq(agent.u->tx[STORM_BULK].kept, 0);
	ck_assert(!agent.u->tx[STORM_BULK].armed);
	/* What is left when it ends is freed. */
	while (!send_to(&agent, STORM_BULK, &owner.self, p, n, SEG))
		;
	run("tc qdisc del dev lo root");
	free(p);
}
END_TEST

/* ---------------------------------------------------------------- streams */

static int stream_to(const struct storm_addr *to, uint64_t session,
		     uint32_t node, const void *buf, size_t len)
{
	return owner.t->ops->send_stream(owner.t, to, session, node, buf, len);
}

/* A peer with arbitrary behaviour, from 127.0.0.HOST. */
static int connect_from(uint8_t host)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(set.port) };
	struct sockaddr_in own = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	own.sin_addr.s_addr = htonl(0x7f000000 + host);
	ck_assert_int_eq(bind(fd, (struct sockaddr *) &own, sizeof(own)), 0);
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(connect(fd, (struct sockaddr *) &sin, sizeof(sin)), 0);
	return fd;
}

static int raw_connect(void)
{
	return connect_from(1);
}

/* At 127.0.0.HOST. */
static int listen_at(uint8_t host, struct storm_addr *at)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	sin.sin_addr.s_addr = htonl(0x7f000000 + host);
	ck_assert_int_eq(bind(fd, (struct sockaddr *) &sin, sizeof(sin)), 0);
	ck_assert_int_eq(listen(fd, 5), 0);
	getsockname(fd, (struct sockaddr *) &sin, &len);
	storm_udp_addr(at, sin.sin_addr, ntohs(sin.sin_port));
	return fd;
}

static int raw_listen(struct storm_addr *at)
{
	return listen_at(1, at);
}

START_TEST(test_stream)
{
	static const size_t sizes[] = { 1,     65535,	65536,
					65537, 3000000, UDP_STREAM_MAX };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		uint8_t *p = pattern(sizes[i]);

		ck_assert_int_eq(stream_to(&agent.self, 1, 2, p, sizes[i]), 0);
		ck_assert(until(agent.streams == i + 1));
		ck_assert_uint_eq(agent.stream_len, sizes[i]);
		ck_assert_mem_eq(agent.stream, p, sizes[i]);
		free(p);
	}
	ck_assert(until(TAILQ_EMPTY(&owner.u->out)));
	ck_assert_uint_eq(owner.failures, 0);
	ck_assert_int_eq(stream_to(&agent.self, 1, 2, "", UDP_STREAM_MAX + 1),
			 -EMSGSIZE);
	ck_assert_int_eq(stream_to(&agent.self, 1, 2, "", 0), -EINVAL);
	/* No stream, no timer. */
	ck_assert(until(!owner.u->timer_on && !agent.u->timer_on));
}
END_TEST

/* More than may be in flight: they wait for their turn. */
START_TEST(test_many_streams)
{
	size_t n = UDP_STREAMS_OUT + UDP_STREAMS_WAITING, i;
	int rc;

	for (i = 0; i < n; i++)
		ck_assert_int_eq(stream_to(&agent.self, i, i, "open", 4), 0);
	rc = stream_to(&agent.self, i, i, "open", 4);
	ck_assert_int_eq(rc, -EAGAIN);
	ck_assert(until(agent.streams == n));
	ck_assert(until(TAILQ_EMPTY(&owner.u->out)));
	ck_assert_uint_eq(owner.failures, 0);
	ck_assert_uint_eq(owner.u->out_active, 0);
	ck_assert_uint_eq(owner.u->out_waiting, 0);
	ck_assert_uint_eq(agent.u->in_count, 0);
	ck_assert_uint_eq(stats_of(&agent).streams_in, n);
}
END_TEST

START_TEST(test_stream_nobody_listens)
{
	struct storm_addr a = agent.self;

	a.port = 1;
	ck_assert_int_eq(stream_to(&a, 77, 5, "open", 4), 0);
	ck_assert_uint_eq(owner.failures, 0); /* never from inside the call */
	ck_assert(until(owner.failures == 1));
	ck_assert_uint_eq(owner.failed_session, 77);
	ck_assert_uint_eq(owner.failed_node, 5);
	ck_assert_int_eq(owner.failed_why, STORM_ENOAGENT);
	ck_assert_int_eq(owner.failed_errno, ECONNREFUSED);
	ck_assert_uint_eq(owner.u->out_active, 0);
}
END_TEST

START_TEST(test_stream_no_descriptor)
{
	struct rlimit old, none;

	getrlimit(RLIMIT_NOFILE, &old);
	none = old;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &none);
	ck_assert_int_eq(stream_to(&agent.self, 8, 9, "open", 4), 0);
	setrlimit(RLIMIT_NOFILE, &old);
	ck_assert(until(owner.failures == 1));
	ck_assert_int_eq(owner.failed_errno, EMFILE);
	ck_assert_uint_eq(owner.u->out_active, 0);
}
END_TEST

/* The agent has no descriptor left: it does not spin, and accepts the stream
 * when a descriptor is free. */
START_TEST(test_accept_no_descriptor)
{
	struct rlimit old, none;

	if (unit_by_valgrind())
		SKIP("valgrind has limits of its own");
	getrlimit(RLIMIT_NOFILE, &old);
	none = old;
	none.rlim_cur = 0;
	ck_assert_int_eq(stream_to(&agent.self, 8, 9, "open", 4), 0);
	setrlimit(RLIMIT_NOFILE, &none);
	ck_assert(until(agent.u->listener_paused));
	setrlimit(RLIMIT_NOFILE, &old);
	ck_assert(until(agent.streams == 1));
}
END_TEST

/* A peer that listens but never reads. */
START_TEST(test_stream_timeout)
{
	struct storm_addr a;
	uint8_t *p = pattern(UDP_STREAM_MAX);
	uint64_t began;
	int fd = raw_listen(&a), err;

	close_end(&owner);
	set.open_timeout = 300 * STORM_MS;
	ck_assert_ptr_nonnull(open_end(&owner, STORM_ROLE_OWNER, &err));
	began = storm_now();
	ck_assert_int_eq(stream_to(&a, 3, 4, p, UDP_STREAM_MAX), 0);
	ck_assert(until(owner.failures == 1));
	ck_assert_int_eq(owner.failed_why, STORM_ETIME);
	ck_assert_int_eq(owner.failed_errno, 0);
	ck_assert_uint_ge(storm_now() - began, 300 * STORM_MS);
	close(fd);
	free(p);
}
END_TEST

/* The peer's queue stays full, as if a firewall drops what comes: all SYNs are in
 * vain, and this is known long before the time-out. */
START_TEST(test_stream_no_connection)
{
	struct storm_addr a;
	int fd = raw_listen(&a);
	uint64_t began;

	ck_assert_int_eq(listen(fd, 0), 0);
	ck_assert_int_eq(stream_to(&a, 1, 2, "first", 5), 0);
	ck_assert(until(TAILQ_FIRST(&owner.u->out)->connected));
	began = storm_now();
	ck_assert_int_eq(stream_to(&a, 3, 4, "second", 6), 0);
	ck_assert_int_eq(owner.t->ops->stream_state(owner.t, 1, 2),
			 STORM_STREAM_WAITS);
	ck_assert_int_eq(owner.t->ops->stream_state(owner.t, 3, 4),
			 STORM_STREAM_CONNECTING);
	ck_assert(!owner.t->ops->stream_state(owner.t, 3, 5));
	ck_assert(until(owner.failures == 1));
	ck_assert_uint_eq(owner.failed_session, 3);
	ck_assert_int_eq(owner.failed_why, STORM_ELOST);
	ck_assert_int_eq(owner.failed_errno, ETIMEDOUT);
	ck_assert_uint_ge(storm_now() - began, 500 * STORM_MS);
	ck_assert_uint_lt(storm_now() - began, set.open_timeout);
	ck_assert(!owner.t->ops->stream_state(owner.t, 3, 4));
	close(fd);
}
END_TEST

static in_port_t port_of_first_stream(void)
{
	struct sockaddr_in sin = { 0 };
	socklen_t len = sizeof(sin);

	ck_assert(!TAILQ_EMPTY(&owner.u->out));
	getsockname(TAILQ_FIRST(&owner.u->out)->src.fd,
		    (struct sockaddr *) &sin, &len);
	return sin.sin_port;
}

/* The peer's queue is full, so it drops the SYN, as a network may. */
START_TEST(test_stream_lost_syn)
{
	struct storm_addr a;
	int fd = raw_listen(&a), one;
	in_port_t first;

	ck_assert_int_eq(listen(fd, 0), 0);
	ck_assert_int_eq(stream_to(&a, 1, 2, "first", 5), 0);
	ck_assert(until(TAILQ_FIRST(&owner.u->out)->connected));
	owner.t->ops->drop_streams(owner.t, 1);
	ck_assert(until(TAILQ_EMPTY(&owner.u->out)));

	ck_assert_int_eq(stream_to(&a, 3, 4, "second", 6), 0);
	first = port_of_first_stream();
	ck_assert(until(port_of_first_stream() != first));
	ck_assert(!TAILQ_FIRST(&owner.u->out)->connected);
	one = accept(fd, NULL, NULL);
	ck_assert_int_ge(one, 0);
	ck_assert(until(TAILQ_FIRST(&owner.u->out)->connected));
	ck_assert_uint_eq(owner.u->out_active, 1);
	ck_assert_uint_eq(owner.failures, 0);
	close(one);
	close(fd);
}
END_TEST

/* The peer takes the next connection.  Its queue holds one, so until then it drops all
 * others, as a network may. */
static void takes_one(int fd)
{
	ck_assert_int_ge(accept(fd, NULL, NULL), 0); /* open until the end */
}

/* Do all streams connect, or have connected?  Those that do not have had these tries. */
static bool all_out(uint32_t tries)
{
	const struct udp_stream_out *s;

	TAILQ_FOREACH(s, &owner.u->out, link)
	if (!s->connected && (!tries || s->tries < tries))
		return false;
	return true;
}

#define PEERS UDP_LOST_MANY

/* Connections to these hosts that come about only after many tries.  The queues of the
 * listening sockets are full then. */
static void many_tries(const uint8_t *host, int n, int *fd,
		       struct storm_addr *a)
{
	for (int i = 0; i < n; i++) {
		fd[i] = listen_at(host[i], &a[i]);
		ck_assert_int_eq(listen(fd[i], 0), 0);
		ck_assert_int_eq(stream_to(&a[i], 1, 1, "fills it", 8), 0);
	}
	ck_assert(until(all_out(0)));
	for (int i = 0; i < n; i++)
		ck_assert_int_eq(stream_to(&a[i], 1, 2, "second", 6), 0);
	ck_assert(until(all_out(3)));
	for (int i = 0; i < n; i++)
		takes_one(fd[i]);
	ck_assert(until(all_out(0)));
	owner.t->ops->drop_streams(owner.t, 1);
	ck_assert(until(TAILQ_EMPTY(&owner.u->out)));
	ck_assert_uint_eq(owner.failures, 0);
}

static void many_tries_of(uint8_t one, uint8_t two, uint8_t three)
{
	struct storm_addr a[PEERS];
	int fd[PEERS];

	many_tries((uint8_t[]) { one, two, three }, three ? 3 : 2, fd, a);
	for (int i = 0; i < (three ? 3 : 2); i++)
		close(fd[i]);
}

static bool lossy(void)
{
	return storm_udp_is_lossy(&owner.u->out_lost, storm_now());
}

/* How many connections count as ones that lost packets? */
static int counted(void)
{
	int n = 0;

	for (int i = 0; i < UDP_LOST_MANY; i++)
		n += owner.u->out_lost.last[i].at != 0;
	return n;
}

/* Packets were lost on the way to several peers. */
static int lossy_listen(struct storm_addr *at)
{
	struct storm_addr a[PEERS];
	int fd[PEERS];

	ck_assert(!lossy());
	many_tries((uint8_t[]) { 1, 2, 3 }, PEERS, fd, a);
	ck_assert(lossy());
	close(fd[1]);
	close(fd[2]);
	*at = a[0];
	return fd[0];
}

/* However many the lost packets of a connection are, it counts once. */
START_TEST(test_stream_two_lose)
{
	many_tries_of(2, 3, 0);
	ck_assert_int_eq(counted(), 2);
	ck_assert(!lossy());
	many_tries_of(2, 3, 0);
	ck_assert(lossy());
}
END_TEST

/* One peer may have a fault, or be busy; it says nothing of the others. */
START_TEST(test_stream_one_peer_loses)
{
	many_tries_of(2, 2, 2);
	ck_assert_int_eq(counted(), 3);
	ck_assert(!lossy());
	many_tries_of(2, 2, 3);
	ck_assert(lossy());
	/* that is over when nothing more is lost */
	ck_assert(!storm_udp_is_lossy(&owner.u->out_lost,
				      storm_now() + 11 * STORM_SEC));
}
END_TEST

/* From now on nothing comes to the connections from their peers; or it does again. */
static void deaf(bool on)
{
	struct sock_filter none = { .code = BPF_RET | BPF_K, .k = 0 };
	struct sock_fprog prog = { .len = 1, .filter = &none };
	const struct udp_stream_out *s;

	TAILQ_FOREACH(s, &owner.u->out, link)
	ck_assert_int_eq(setsockopt(s->src.fd, SOL_SOCKET,
				    on ? SO_ATTACH_FILTER : SO_DETACH_FILTER,
				    &prog, sizeof(prog)),
			 0);
}

/* How many packets has each of the connections repeated, at least? */
static uint32_t repeated(void)
{
	const struct udp_stream_out *s;
	uint32_t least = UINT32_MAX;

	TAILQ_FOREACH(s, &owner.u->out, link)
	least = storm_min(least, storm_udp_repeated(s->src.fd));
	return least;
}

/* OPENs to the agent, by the addresses of several hosts.  Their connections are deaf, and
 * have repeated this many packets. */
static void deaf_streams(uint32_t packets)
{
	const struct udp_stream_out *s;

	agent.undecided = true;
	for (uint8_t i = 0; i < PEERS; i++) {
		struct storm_addr a = agent.self;
		struct pollfd p = { .events = POLLOUT };

		a.ip[15] = 2 + i;
		ck_assert_int_eq(stream_to(&a, 1, i, "open", 4), 0);
		p.fd = TAILQ_LAST(&owner.u->out, udp_streams_out)->src.fd;
		ck_assert_int_eq(poll(&p, 1, 1000), 1); /* connected */
	}
	deaf(true);
	ck_assert(until(repeated() >= packets));
	TAILQ_FOREACH(s, &owner.u->out, link)
	ck_assert(s->connected && s->tries == 1);
}

/* They end well. */
static void hear_again(void)
{
	ck_assert(until(agent.streams == PEERS));
	deaf(false);
	for (uint64_t i = 0; i < PEERS; i++)
		agent.t->ops->end_stream(agent.t, agent.number - i, STORM_OK);
	ck_assert(until(TAILQ_EMPTY(&owner.u->out)));
	ck_assert_uint_eq(owner.failures, 0);
}

/* The kernel repeats a packet also when the answer is late. */
START_TEST(test_stream_late_answers)
{
	if (!own_namespace)
		SKIP("needs a network namespace of its own");
	/* it has time to come before the next one */
	if (!run("ip route replace local 127.0.0.0/8 dev lo table local "
		 "rto_min 3s 2>/dev/null"))
		SKIP("no ip");
	deaf_streams(1);
	hear_again();
	ck_assert_int_eq(counted(), 0);
	run("ip route replace local 127.0.0.0/8 dev lo table local");
}
END_TEST

START_TEST(test_stream_data_lost)
{
	deaf_streams(2);
	ck_assert(!lossy());
	hear_again();
	ck_assert_int_eq(counted(), PEERS);
	ck_assert(lossy());
}
END_TEST

/* One that has lost its first SYNs, too, counts once. */
START_TEST(test_stream_counts_once)
{
	struct udp_stream_out *s;

	deaf_streams(2);
	TAILQ_FOREACH(s, &owner.u->out, link)
	s->lost = true;
	hear_again();
	ck_assert_int_eq(counted(), 0);
}
END_TEST

/* Peers that are gone are no loss, though the kernel repeats all that they get. */
START_TEST(test_stream_peers_are_gone)
{
	int err;

	close_end(&owner);
	set.open_timeout = 900 * STORM_MS;
	ck_assert_ptr_nonnull(open_end(&owner, STORM_ROLE_OWNER, &err));
	deaf_streams(2);
	ck_assert(until(owner.failures == PEERS));
	ck_assert_int_eq(owner.failed_why, STORM_ETIME);
	ck_assert_int_eq(counted(), 0);
}
END_TEST

/* The owner becomes an agent, with the streams of one. */
static void owner_is_node(void)
{
	int err;

	close_end(&owner);
	set.port++;
	ck_assert_ptr_nonnull(open_end(&owner, STORM_ROLE_NODE, &err));
}

/* An agent tells of its child before an owner that waits 3 s has lost patience. */
START_TEST(test_stream_node_is_sooner)
{
	struct storm_addr a;
	uint64_t began;
	int fd;

	owner_is_node();
	fd = lossy_listen(&a);
	began = storm_now();
	ck_assert_int_eq(stream_to(&a, 3, 4, "third", 5), 0);
	ck_assert(until(owner.failures == 1));
	ck_assert_int_eq(owner.failed_why, STORM_ELOST);
	ck_assert_uint_ge(storm_now() - began, 900 * STORM_MS);
	ck_assert_uint_lt(storm_now() - began, 2 * STORM_SEC);
	close(fd);
}
END_TEST

/* However long it may wait itself; and also of one that is stopped. */
START_TEST(test_stream_node_is_sooner_of_a_stopped_one)
{
	struct storm_addr a;
	uint64_t began;
	int fd, live;

	set.open_timeout = 60 * STORM_SEC;
	owner_is_node();
	fd = lossy_listen(&a);
	live = raw_listen(&a);
	began = storm_now();
	ck_assert_int_eq(stream_to(&a, 3, 4, "open", 4), 0);
	ck_assert(until(owner.failures == 1));
	ck_assert_int_eq(owner.failed_errno, ENODATA);
	ck_assert_uint_ge(storm_now() - began, 900 * STORM_MS);
	ck_assert_uint_lt(storm_now() - began, 2 * STORM_SEC);
	close(live);
	close(fd);
}
END_TEST

/* Where packets were lost before, one that is not answered for long may have lost all
 * of them: it goes on. */
START_TEST(test_stream_many_lost)
{
	struct storm_addr a;
	int fd = lossy_listen(&a);
	uint64_t began = storm_now();

	ck_assert_int_eq(stream_to(&a, 3, 4, "third", 5), 0);
	ck_assert(until(owner.failures ||
			TAILQ_FIRST(&owner.u->out)->tries == 7));
	ck_assert_uint_eq(owner.failures, 0);
	ck_assert_uint_ge(storm_now() - began, 900 * STORM_MS);
	takes_one(fd);
	ck_assert(until(TAILQ_FIRST(&owner.u->out)->connected));
	ck_assert_uint_eq(owner.failures, 0);
	close(fd);
}
END_TEST

/* But not for ever, nor for as long as an answer may take. */
START_TEST(test_stream_all_lost)
{
	struct storm_addr a;
	uint64_t began;
	int fd, err;

	close_end(&owner);
	set.open_timeout = 1600 * STORM_MS;
	ck_assert_ptr_nonnull(open_end(&owner, STORM_ROLE_OWNER, &err));
	fd = lossy_listen(&a);
	began = storm_now();
	ck_assert_int_eq(stream_to(&a, 3, 4, "third", 5), 0);
	ck_assert(until(owner.failures == 1));
	ck_assert_int_eq(owner.failed_why, STORM_ELOST);
	ck_assert_int_eq(owner.failed_errno, ETIMEDOUT);
	ck_assert_uint_ge(storm_now() - began, 1200 * STORM_MS);
	ck_assert_uint_lt(storm_now() - began, set.open_timeout);
	close(fd);
}
END_TEST

/* There the question whether an agent runs, or its answer, may be lost, too: it is asked
 * again. */
START_TEST(test_stream_question_is_lost)
{
	struct storm_addr a;
	int fd = lossy_listen(&a);

	ck_assert_int_eq(listen(fd, 8), 0);
	takes_one(fd);
	ck_assert_int_eq(stream_to(&a, 3, 4, "open", 4), 0);
	takes_one(fd);
	for (uint32_t i = 0; i < 2; i++) {
		ck_assert(until(owner.failures ||
				(TAILQ_FIRST(&owner.u->out)->alive_tries == i &&
				 TAILQ_FIRST(&owner.u->out)->alive_fd >= 0 &&
				 TAILQ_FIRST(&owner.u->out)->alive_said)));
		ck_assert_uint_eq(owner.failures, 0);
		if (i)
			close(accept(fd, NULL,
				     NULL)); /* a reset: not all was read */
		else
			takes_one(fd);
	}
	ck_assert(until(TAILQ_FIRST(&owner.u->out)->alive_fd < 0));
	ck_assert_uint_eq(TAILQ_FIRST(&owner.u->out)->alive_tries, 0);
	ck_assert_uint_eq(owner.failures, 0);
	close(fd);
}
END_TEST

/* But not for ever. */
START_TEST(test_stream_stopped_where_packets_are_lost)
{
	struct storm_addr a;
	int fd = lossy_listen(&a);
	uint64_t began = storm_now();

	ck_assert_int_eq(listen(fd, 8), 0);
	ck_assert_int_eq(stream_to(&a, 3, 4, "open", 4), 0);
	ck_assert(until(owner.failures == 1));
	ck_assert_int_eq(owner.failed_why, STORM_ETIME);
	ck_assert_int_eq(owner.failed_errno, ENODATA);
	ck_assert_uint_ge(storm_now() - began, 2 * STORM_SEC);
	close(fd);
}
END_TEST

/* Two segments are on their way, so that the kernel soon repeats a lost one. */
START_TEST(test_stream_segments)
{
	struct storm_addr a;
	int fd = raw_listen(&a), peer;
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);
	uint8_t got[16];

	ck_assert_int_eq(stream_to(&a, 3, 4, "open", 4), 0);
	peer = accept(fd, NULL, NULL);
	ck_assert(until(TAILQ_FIRST(&owner.u->out)->off == 8));
	ck_assert_int_eq(getsockopt(TAILQ_FIRST(&owner.u->out)->src.fd,
				    IPPROTO_TCP, TCP_INFO, &info, &len),
			 0);
	ck_assert_uint_ge(info.tcpi_segs_out, 2 + 2); /* two to connect */
	ck_assert_int_eq(recv(peer, got, 8, MSG_WAITALL), 8);
	ck_assert_mem_eq(got + 4, "open", 4);
	close(peer);
	close(fd);
}
END_TEST

/* A kernel takes connection and bytes of a program that is stopped. */
START_TEST(test_stream_stopped)
{
	uint64_t began = storm_now();
	struct storm_addr a;
	int fd = raw_listen(&a);

	ck_assert_int_eq(stream_to(&a, 3, 4, "open", 4), 0);
	ck_assert(until(owner.failures == 1));
	ck_assert_int_eq(owner.failed_why, STORM_ETIME);
	ck_assert_int_eq(owner.failed_errno, ENODATA);
	ck_assert_uint_lt(storm_now() - began, set.open_timeout / 2);
	close(fd);
}
END_TEST

/* While this process does not run, others on its machine may not either. */
START_TEST(test_stream_stopped_together)
{
	struct storm_addr a;
	int fd = raw_listen(&a);

	ck_assert_int_eq(stream_to(&a, 3, 4, "open", 4), 0);
	ck_assert(until(TAILQ_FIRST(&owner.u->out)->alive_said));
	usleep(700000);
	storm_udp_poll(owner.u);
	ck_assert_uint_eq(owner.failures, 0);
	ck_assert(until(owner.failures == 1));
	close(fd);
}
END_TEST

/* An agent that runs may take its time: it is asked again and again. */
START_TEST(test_stream_waits_for_munge)
{
	agent.undecided = true;
	ck_assert_int_eq(stream_to(&agent.self, 3, 4, "open", 4), 0);
	ck_assert(until(stats_of(&agent).streams_refused == 2));
	ck_assert_uint_eq(owner.failures, 0);
	agent.t->ops->end_stream(agent.t, agent.number, STORM_OK);
	ck_assert(until(TAILQ_EMPTY(&owner.u->out)));
	ck_assert_uint_eq(owner.failures, 0);
}
END_TEST

/* Read in part and reset: a failure, although all bytes were written. */
START_TEST(test_stream_reset)
{
	struct linger reset = { 1, 0 };
	struct storm_addr a;
	int fd = raw_listen(&a), peer;
	char c;

	ck_assert_int_eq(stream_to(&a, 3, 4, "open", 4), 0);
	peer = accept(fd, NULL, NULL);
	ck_assert(until(TAILQ_FIRST(&owner.u->out)->off == 8));
	ck_assert_int_eq(recv(peer, &c, 1, 0), 1);
	setsockopt(peer, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(peer);
	ck_assert(until(owner.failures == 1));
	ck_assert_int_eq(owner.failed_errno, ECONNRESET);
	close(fd);
}
END_TEST

/* The sender waits for the reply; only authenticated senders get a reason. */
START_TEST(test_stream_verdict)
{
	agent.undecided = true;
	ck_assert_int_eq(stream_to(&agent.self, 1, 1, "open", 4), 0);
	ck_assert(until(agent.streams == 1));
	ck_assert(!TAILQ_EMPTY(&owner.u->out) && agent.u->held_count == 1);
	ck_assert(agent.t->ops->stream_waits(agent.t, agent.number));
	agent.t->ops->end_stream(agent.t, agent.number, STORM_OK);
	ck_assert(until(TAILQ_EMPTY(&owner.u->out)));
	ck_assert_uint_eq(owner.failures, 0);
	ck_assert(!agent.t->ops->stream_waits(agent.t, agent.number));
	/* once is enough, and unknown ids are harmless */
	agent.t->ops->end_stream(agent.t, agent.number, STORM_EBUSY);
	agent.t->ops->end_stream(agent.t, 12345, STORM_EBUSY);

	agent.undecided = false;
	agent.verdict = STORM_EVERSION;
	ck_assert_int_eq(stream_to(&agent.self, 7, 2, "open", 4), 0);
	ck_assert(until(owner.failures == 1));
	ck_assert_uint_eq(owner.failed_session, 7);
	ck_assert_uint_eq(owner.failed_node, 2);
	ck_assert_int_eq(owner.failed_why, STORM_EVERSION);
	ck_assert_int_eq(owner.failed_errno, STORM_WIRE_VERSION);

	agent.verdict = STORM_EBUSY;
	ck_assert_int_eq(stream_to(&agent.self, 7, 3, "open", 4), 0);
	ck_assert(until(owner.failures == 2));
	ck_assert_int_eq(owner.failed_why, STORM_EBUSY);
	ck_assert_int_eq(owner.failed_errno, 0);

	/* with the errno of what it cannot have */
	agent.verdict = STORM_REFUSAL(STORM_EBUSY, ENOSPC);
	ck_assert_int_eq(stream_to(&agent.self, 7, 3, "open", 4), 0);
	ck_assert(until(owner.failures == 3));
	ck_assert_int_eq(owner.failed_why, STORM_EBUSY);
	ck_assert_int_eq(owner.failed_errno, ENOSPC);

	agent.verdict = STORM_EAUTH;
	ck_assert_int_eq(stream_to(&agent.self, 7, 4, "open", 4), 0);
	ck_assert(until(owner.failures == 4));
	ck_assert_int_eq(owner.failed_why, STORM_ELOST);
	ck_assert_int_eq(owner.failed_errno, ECONNRESET);
	ck_assert_uint_eq(stats_of(&agent).streams_refused, 4);
	ck_assert_uint_eq(agent.u->in_count, 0);
}
END_TEST

/* The sender gives up the streams of one session, those under way and those
 * that still wait; no callback reports them. */
START_TEST(test_stream_dropped)
{
	size_t n = UDP_STREAMS_OUT + 10;

	agent.undecided = true;
	ck_assert_int_eq(stream_to(&agent.self, 5, 1, "open", 4), 0);
	ck_assert(until(agent.streams == 1));
	owner.t->ops->drop_streams(owner.t, 6);
	ck_assert(agent.t->ops->stream_waits(agent.t, agent.number));
	owner.t->ops->drop_streams(owner.t, 5);
	ck_assert(until(TAILQ_EMPTY(&owner.u->out)));
	ck_assert(until(!agent.t->ops->stream_waits(agent.t, agent.number)));
	agent.t->ops->end_stream(agent.t, agent.number, STORM_OK);

	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(stream_to(&agent.self, 7 + (i == n - 1), 1,
					   "open", 4),
				 0);
	owner.t->ops->drop_streams(owner.t, 7);
	owner.t->ops->drop_streams(owner.t, 7);
	agent.undecided = false;
	/* the last one has its turn; the others may have been in time, too */
	ck_assert(until(TAILQ_EMPTY(&owner.u->out)));
	ck_assert(until(agent.streams > 1));
	ck_assert_uint_eq(owner.u->out_active, 0);
	ck_assert_uint_eq(owner.u->out_waiting, 0);
	ck_assert_uint_eq(owner.failures, 0);
}
END_TEST

/* srun forks while its domain opens; the child holds the connections, too. */
START_TEST(test_stream_held_by_child)
{
	pid_t pid;

	agent.undecided = true;
	ck_assert_int_eq(stream_to(&agent.self, 5, 1, "open", 4), 0);
	ck_assert(until(agent.streams == 1));
	if (!(pid = fork())) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	ck_assert_int_gt(pid, 0);
	owner.t->ops->drop_streams(owner.t, 5);
	ck_assert(until(TAILQ_EMPTY(&owner.u->out)));
	ck_assert(until(!agent.t->ops->stream_waits(agent.t, agent.number)));
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

/* Nor of a stream that has failed, but was not yet reported. */
START_TEST(test_stream_dropped_after_failure)
{
	struct rlimit all, few;

	getrlimit(RLIMIT_NOFILE, &all);
	few = all;
	few.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &few);
	ck_assert_int_eq(stream_to(&agent.self, 7, 1, "open", 4), 0);
	setrlimit(RLIMIT_NOFILE, &all);
	ck_assert_int_eq(stream_to(&agent.self, 8, 1, "open", 4), 0);
	owner.t->ops->drop_streams(owner.t, 7);
	ck_assert(until(TAILQ_EMPTY(&owner.u->out)));
	ck_assert_uint_eq(owner.failures, 0);
	ck_assert_uint_eq(owner.u->out_active, 0);
}
END_TEST

/* An unknown peer receives no byte. A peer that closes is not read again. */
START_TEST(test_stream_silence)
{
	int fd = raw_connect();
	char c;

	agent.verdict = STORM_EAUTH;
	ck_assert_int_eq(write(fd, "\0\0\0\4open", 8), 8);
	ck_assert(until(agent.streams == 1));
	ck_assert_int_eq(recv(fd, &c, 1, 0), -1);
	ck_assert_int_eq(errno, ECONNRESET);
	close(fd);

	agent.undecided = true;
	fd = raw_connect();
	ck_assert_int_eq(write(fd, "\0\0\0\4open", 8), 8);
	ck_assert(until(agent.streams == 2));
	close(fd);
	for (int i = 0; i < 20; i++) {
		struct pollfd p = { storm_udp_fd(agent.u), POLLIN, 0 };

		storm_udp_poll(agent.u);
		ck_assert_int_eq(poll(&p, 1, 0), 0);
	}
	agent.t->ops->end_stream(agent.t, agent.number, STORM_EVERSION);
	ck_assert_uint_eq(agent.u->in_count, 0);
}
END_TEST

/* What an agent of another version answers, and what is no answer. */
START_TEST(test_stream_answers)
{
	static const struct {
		const char *bytes;
		size_t len;
		enum storm_err why;
		int sys;
	} answer[] = {
		{ "STRM\0\3\0\6", 8, STORM_EVERSION, 3 },
		{ "STRM\1\3\0\6", 8, STORM_EVERSION, 0x103 },
		{ "STRM\0\3\0\11", 8, STORM_EVERSION, 3 },
		{ "STRM\0\3\377\377", 8, STORM_EVERSION, 3 },
		{ "STRM\0\2\0\11", 8, STORM_EBUSY, 0 },
		{ "STRM\0\2\377\377", 8, STORM_EINVAL, 0 },
		{ "STRM\0\3\0\0", 8, STORM_ENOAGENT, EPROTO },
		{ "STRM\0\3\0", 7, STORM_ENOAGENT, EPROTO },
		{ "STRM\0\3\0\6\0", 9, STORM_ENOAGENT, EPROTO },
		{ "220 mail ready\r\n", 16, STORM_ENOAGENT, EPROTO },
	};
	struct storm_addr a;
	int fd = raw_listen(&a), peer;
	char open[8];

	for (size_t i = 0; i < sizeof(answer) / sizeof(*answer); i++) {
		ck_assert_int_eq(stream_to(&a, 3, 4, "open", 4), 0);
		peer = accept(fd, NULL, NULL);
		ck_assert(until(TAILQ_FIRST(&owner.u->out)->off == 8));
		ck_assert_int_eq(recv(peer, open, 8, MSG_WAITALL), 8);
		/* in two pieces */
		ck_assert_int_eq(write(peer, answer[i].bytes, 3), 3);
		serve_both();
		ck_assert_int_eq(write(peer, answer[i].bytes + 3,
				       answer[i].len - 3),
				 answer[i].len - 3);
		close(peer);
		ck_assert(until(owner.failures == i + 1));
		ck_assert_int_eq(owner.failed_why, answer[i].why);
		ck_assert_int_eq(owner.failed_errno, answer[i].sys);
	}
	close(fd);
}
END_TEST

/* Lengths out of range and frames cut short: refused by a reset. */
START_TEST(test_bad_streams)
{
	static const struct {
		const char *bytes;
		size_t len;
		bool end; /* nothing more will come */
	} bad[] = {
		{ "\0\0\0\0", 4, false },
		{ "\1\0\0\1", 4, false },
		{ "\377\377\377\377", 4, false },
		{ "\0\0\0\5abcd", 8, true },
		{ "\0\0", 2, true },
	};
	size_t n = sizeof(bad) / sizeof(*bad), i;
	char c;

	for (i = 0; i < n; i++) {
		int fd = raw_connect();

		ck_assert_int_eq(write(fd, bad[i].bytes, bad[i].len),
				 bad[i].len);
		if (bad[i].end)
			shutdown(fd, SHUT_WR);
		ck_assert(until(stats_of(&agent).streams_refused == i + 1));
		ck_assert_int_eq(recv(fd, &c, 1, 0), -1);
		ck_assert_int_eq(errno, ECONNRESET);
		close(fd);
	}
	ck_assert_uint_eq(agent.streams, 0);
	ck_assert_uint_eq(agent.u->in_count, 0);
}
END_TEST

/* A length alone takes no memory, and its place only for a while. */
START_TEST(test_half_streams)
{
	int fd[UDP_STREAMS_IN];
	struct udp_stream_in *s;

	for (int i = 0; i < UDP_STREAMS_IN; i++) {
		fd[i] = raw_connect();
		ck_assert_int_eq(write(fd[i], "\0\20\0\0abc", 7), 7);
	}
	ck_assert(until(agent.u->in_count == UDP_STREAMS_IN));
	TAILQ_FOREACH(s, &agent.u->in, link)
	{
		ck_assert(until(s->got == 7));
		ck_assert_uint_le(s->room, 64 * 1024);
	}
	/* One more gets the place of the oldest. */
	ck_assert_int_eq(stream_to(&agent.self, 1, 1, "open", 4), 0);
	ck_assert(until(agent.streams == 1));
	ck_assert_uint_eq(stats_of(&agent).streams_refused, 1);
	/* Their time is over. */
	TAILQ_FOREACH(s, &agent.u->in, link)
	s->since = storm_now() - UDP_STREAM_IN_TIME(agent.u);
	ck_assert(until(agent.u->in_count == 0));
	ck_assert_uint_eq(stats_of(&agent).streams_refused, UDP_STREAMS_IN);
	for (int i = 0; i < UDP_STREAMS_IN; i++)
		close(fd[i]);
}
END_TEST

/* A connection is reset if the peer sent too slowly. */
static bool is_reset(int fd)
{
	struct pollfd p = { fd, 0, 0 };

	return poll(&p, 1, 0) == 1 && p.revents & POLLERR;
}

/* A host that holds places holds its own, not those of others. */
START_TEST(test_slow_senders)
{
	int theirs[UDP_STREAMS_IN], ours[8], i;
	struct udp_stream_in *s;

	for (i = 0; i < 8; i++) {
		ours[i] = connect_from((uint8_t) (3 + i));
		ck_assert_int_eq(write(ours[i], "\0\0\0\4op", 6), 6);
	}
	ck_assert(until(agent.u->in_count == 8));
	for (i = 8; i < UDP_STREAMS_IN; i++) {
		theirs[i] = connect_from(2);
		ck_assert_int_eq(write(theirs[i], "\1", 1), 1);
	}
	ck_assert(until(agent.u->in_count == UDP_STREAMS_IN));
	/* again and again: they only take from each other */
	for (i = 8; i < 16; i++) {
		int fd = connect_from(2);

		ck_assert_int_eq(write(fd, "\1", 1), 1);
		ck_assert(until(is_reset(theirs[i])));
		close(theirs[i]);
		theirs[i] = fd;
	}
	ck_assert_int_eq(stream_to(&agent.self, 1, 1, "open", 4), 0);
	ck_assert(until(agent.streams == 1));
	for (i = 0; i < 8; i++) {
		ck_assert_int_eq(write(ours[i], "en", 2), 2);
		ck_assert(until(agent.streams == (size_t) i + 2));
		close(ours[i]);
	}
	for (i = 8; i < UDP_STREAMS_IN; i++)
		close(theirs[i]);
	ck_assert(until(agent.u->in_count == 0));
	/* many hosts with one each have their time, then the oldest goes */
	for (i = 0; i < UDP_STREAMS_IN; i++)
		theirs[i] = connect_from((uint8_t) (10 + i));
	ck_assert(until(agent.u->in_count == UDP_STREAMS_IN));
	ck_assert_int_eq(stream_to(&agent.self, 1, 1, "open", 4), 0);
	ck_assert(until(agent.u->listener_paused));
	TAILQ_FOREACH(s, &agent.u->in, link)
	s->since -= UDP_STREAM_IN_GRACE;
	ck_assert(until(agent.streams == 10));
	ck_assert(is_reset(theirs[0]) && !is_reset(theirs[1]));
	for (i = 0; i < UDP_STREAMS_IN; i++)
		close(theirs[i]);
}
END_TEST

/* Nor does one that makes us look at OPEN after OPEN. */
START_TEST(test_held_streams)
{
	size_t half = UDP_STREAMS_HELD / 2;
	int fd[UDP_STREAMS_HELD], last;

	agent.undecided = true;
	for (size_t i = 0; i < half; i++) {
		fd[i] = connect_from(2);
		ck_assert_int_eq(write(fd[i], "\0\0\0\4open", 8), 8);
		ck_assert(until(agent.streams == i + 1));
	}
	ck_assert_uint_eq(agent.u->held_count, half);
	ck_assert_uint_eq(agent.u->in_count, 0);
	last = connect_from(2);
	ck_assert_int_eq(write(last, "\0\0\0\4open", 8), 8);
	ck_assert(until(is_reset(last)));
	close(last);
	ck_assert_int_eq(stream_to(&agent.self, 1, 1, "open", 4), 0);
	ck_assert(until(agent.streams == half + 1));
	for (uint64_t n = agent.number - half; n <= agent.number; n++)
		agent.t->ops->end_stream(agent.t, n, STORM_OK);
	ck_assert_uint_eq(agent.u->held_count, 0);
	ck_assert_uint_eq(agent.u->held_bytes, 0);
	ck_assert(until(TAILQ_EMPTY(&owner.u->out)));
	ck_assert_uint_eq(owner.failures, 0);
	for (size_t i = 0; i < half; i++)
		close(fd[i]);
}
END_TEST

/* ----------------------------------------------- set-up and what it refuses */

START_TEST(test_port_is_ours)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(set.port) };
	struct end second;
	int err = 0, one = 1, fd;

	ck_assert_ptr_null(open_end(&second, STORM_ROLE_NODE, &err));
	ck_assert_int_eq(err, STORM_ESYS);
	ck_assert_int_eq(errno, EADDRINUSE);
	ck_assert_ptr_nonnull(strstr(last_log, "18383"));
	/* Nor can anyone slip in beside the agent and take its datagrams. */
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	ck_assert_int_eq(bind(fd, (struct sockaddr *) &sin, sizeof(sin)), -1);
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(fd, (struct sockaddr *) &sin, sizeof(sin)), -1);
	memcpy(&sin.sin_addr, group.ip + 12, 4);
	ck_assert_int_eq(bind(fd, (struct sockaddr *) &sin, sizeof(sin)), -1);
	close(fd);
	/* And when it is gone the port is free at once. */
	ck_assert_int_eq(stream_to(&agent.self, 1, 1, "open", 4), 0);
	ck_assert(until(agent.streams == 1));
	close_end(&agent);
	ck_assert_ptr_nonnull(open_end(&agent, STORM_ROLE_NODE, &err));
}
END_TEST

/* Bind the port in every way that the kernel offers, as another user if root
 * tests. */
static bool user_gets_port(int type)
{
	static const int flags[] = { SO_REUSEADDR, SO_REUSEPORT };
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(set.port) };
	bool got = false;
	int status;
	pid_t pid = fork();

	for (int way = 0; !pid && way < 4; way++) {
		int fd = socket(AF_INET, type, 0), one = 1;

		if (!way && !geteuid() && setresuid(54321, 54321, 54321))
			_exit(2);
		for (int i = 0; i < 2; i++)
			if (way & 1 << i)
				setsockopt(fd, SOL_SOCKET, flags[i], &one,
					   sizeof(one));
		got |= !bind(fd, (struct sockaddr *) &sin, sizeof(sin));
	}
	if (!pid)
		_exit(got);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return WEXITSTATUS(status);
}

static bool watch_listen; /* nobody gets the port in the moment before */
static int listens;

/* libc's, for all that is linked here. */
__attribute__((visibility("default"))) int listen(int fd, int backlog)
{
	if (watch_listen) {
		ck_assert(!user_gets_port(SOCK_DGRAM));
		ck_assert(!user_gets_port(SOCK_STREAM));
		listens++;
	}
	return (int) syscall(SYS_listen, fd, backlog);
}

/* The port that a parent keeps: free for nobody, and as new for each agent. */
START_TEST(test_port_is_kept)
{
	struct storm_udp_port kept, copy;
	const struct storm_addr self = agent.self;
	int err = 0;

	close_end(&agent);
	ck_assert_int_eq(storm_udp_port_open(&kept, set.port), 0);
	for (int life = 0; life < 3; life++) {
		ck_assert(!user_gets_port(SOCK_DGRAM));
		ck_assert(!user_gets_port(SOCK_STREAM));
		/* nobody listens: as without the socket */
		owner.failures = 0;
		ck_assert_int_eq(stream_to(&self, 1, 1, "open", 4), 0);
		ck_assert(until(owner.failures == 1));
		ck_assert_int_eq(owner.failed_errno, ECONNREFUSED);
		ck_assert_int_eq(
			send_to(&owner, STORM_CONTROL, &self, "old", 3, 3), 0);
		copy = (struct storm_udp_port) {
			.udp = storm_udp_port_dup(kept.udp),
			.tcp = storm_udp_port_dup(kept.tcp),
		};
		storm_udp_port_inherit(&copy);
		watch_listen = true;
		ck_assert_ptr_nonnull(open_end(&agent, STORM_ROLE_NODE, &err));
		watch_listen = false;
		ck_assert_int_eq(listens, life + 1);
		ck_assert(!user_gets_port(SOCK_DGRAM));
		ck_assert(!user_gets_port(SOCK_STREAM));
		ck_assert_int_eq(
			send_to(&owner, STORM_CONTROL, &self, "new", 3, 3), 0);
		agent.undecided = true;
		ck_assert_int_eq(stream_to(&self, 1, 1, "open", 4), 0);
		ck_assert(until(agent.streams == 1 && agent.count == 1));
		ck_assert(!memcmp(agent.bytes, "new", 3));
		ck_assert(agent.t->ops->stream_waits(agent.t, agent.number));
		close_end(&agent);
		storm_udp_port_rest(&kept);
		/* and of an agent that ended before it listened */
		storm_udp_port_rest(&kept);
	}
	storm_udp_port_close(&kept);
	ck_assert_ptr_nonnull(open_end(&agent, STORM_ROLE_NODE, &err));
}
END_TEST

/* A process that has the port is named. */
START_TEST(test_port_holder)
{
	char text[128], mine[128];

	storm_udp_port_holder(set.port, text, sizeof(text));
	snprintf(mine, sizeof(mine), "process %d (test_udp", getpid());
	/* under libtool the name has lt- in front */
	ck_assert_msg(strstr(text, mine) || strstr(text, "(lt-test_udp"), "%s",
		      text);
	ck_assert_ptr_nonnull(strstr(text, ") of uid "));
	storm_udp_port_holder(1, text, sizeof(text));
	ck_assert_str_eq(text, "another process");
}
END_TEST

static void refused(const char *word)
{
	struct end e;
	int err = 0;

	last_log[0] = '\0';
	errno = 0;
	ck_assert_ptr_null(open_end(&e, STORM_ROLE_NODE, &err));
	ck_assert_int_ne(err, 0);
	ck_assert_int_ne(errno, 0);
	ck_assert_msg(strstr(last_log, word), "\"%s\" lacks \"%s\"", last_log,
		      word);
}

START_TEST(test_bad_settings)
{
	const struct storm_settings good = set;

	close_end(&agent);
	set.groups = 65;
	refused("GroupCount 65");
	set = good;
	set.group.ip[12] = 10;
	refused("GroupBase");
	set = good;
	set.dscp = 64;
	refused("DSCP 64");
	set = good;
	set.mtu = 100;
	refused("MTU 100");
	set = good;
	strcpy(set.interface, "nosuch0");
	refused("no interface nosuch0");
}
END_TEST

static struct storm_udp *owner_towards(const char *peer)
{
	struct storm_net_handler h = { .datagrams = on_datagrams,
				       .arg = &owner };
	struct storm_addr a;
	struct in_addr ip;
	int err;

	inet_pton(AF_INET, peer, &ip);
	storm_udp_addr(&a, ip, 1);
	close_end(&owner);
	owner.u = storm_udp_create(&set, STORM_ROLE_OWNER, peer[0] ? &a : NULL,
				   &h, &err);
	return owner.u;
}

#define ck_assert_iface(peer, name_, addr_)                              \
	do {                                                             \
		ck_assert_ptr_nonnull(owner_towards(peer));              \
		ck_assert_str_eq(owner.u->iface.name, name_);            \
		ck_assert_str_eq(inet_ntoa(owner.u->iface.addr), addr_); \
	} while (0)

/* srun on a node of its own job: the owner's multicast reaches the agent on
 * the same host, by an interface that does not loop by itself. */
START_TEST(test_owner_beside_agent)
{
	int err;

	if (!own_namespace)
		SKIP("needs a network namespace of its own");
	if (!run("ip link add sa type veth peer name sb 2>/dev/null && "
		 "ip addr add 10.7.0.1/24 dev sa && "
		 "ip link set sa up && ip link set sb up"))
		SKIP("no ip, or no veth in the kernel");
	teardown();
	strcpy(set.interface, "sa");
	ck_assert_ptr_nonnull(open_end(&agent, STORM_ROLE_NODE, &err));
	ck_assert_ptr_nonnull(open_end(&owner, STORM_ROLE_OWNER, &err));
	send_lengths(&group, true);
	ck_assert_uint_eq(owner.count, 0);
	run("ip link del sa");
}
END_TEST

START_TEST(test_interface)
{
	if (!own_namespace)
		SKIP("needs a network namespace of its own");
	if (!run("ip link add sa type veth peer name sb 2>/dev/null && "
		 "ip addr add 10.7.0.1/24 dev sa && "
		 "ip addr add 10.7.9.1/24 dev sa && "
		 "ip link set sa up && ip link set sb up"))
		SKIP("no ip, or no veth in the kernel");
	set.interface[0] = '\0';
	/* No default route, and one interface: that one. */
	ck_assert_iface("", "sa", "10.7.0.1");
	/* By the route to a peer, which may be this host itself. */
	ck_assert_iface("10.7.9.77", "sa", "10.7.9.1");
	ck_assert_iface("10.7.0.1", "sa", "10.7.0.1");
	ck_assert_iface("127.0.0.1", "lo", "127.0.0.1");
	ck_assert_ptr_null(owner_towards("192.0.2.1"));
	ck_assert_ptr_nonnull(strstr(last_log, "no route to 192.0.2.1"));
	/* two, and nothing to choose by */
	run("ip addr add 10.8.0.1/24 dev sb");
	ck_assert_ptr_null(owner_towards(""));
	ck_assert_ptr_nonnull(strstr(last_log, "set Interface"));
	/* The default route decides, that with the lower metric. */
	run("ip route add default via 10.7.0.2 metric 20");
	run("ip route add default via 10.8.0.2 metric 10");
	ck_assert_iface("", "sb", "10.8.0.1");
	/* A name overrides routes; the address in the peer's net is taken. */
	strcpy(set.interface, "sa");
	ck_assert_iface("", "sa", "10.7.0.1");
	ck_assert_iface("10.7.9.9", "sa", "10.7.9.1");
	run("ip link set sa mtu 9000");
	ck_assert_iface("", "sa", "10.7.0.1");
	ck_assert_uint_eq(storm_udp_transport(owner.u)->ops->mtu(
				  storm_udp_transport(owner.u)),
			  8972);
	run("ip link set sa down");
	ck_assert_ptr_null(owner_towards(""));
	ck_assert_ptr_nonnull(strstr(last_log, "sa is down"));
	run("ip addr flush dev sa");
	ck_assert_ptr_null(owner_towards(""));
	ck_assert_ptr_nonnull(strstr(last_log, "sa has no IPv4 address"));
	run("ip link del sa");
}
END_TEST

/* An owner multicasts over the strobe rail to the nodes on it. Datagrams to one
 * node do not use it. */
START_TEST(test_strobe_rail)
{
	uint64_t by_rail;
	int err;

	if (!own_namespace)
		SKIP("needs a network namespace of its own");
	if (!run("ip link add sa type veth peer name sb 2>/dev/null && "
		 "ip addr add 10.8.0.1/24 dev sb && "
		 "ip link set sa up && ip link set sb up mtu 1480"))
		SKIP("no ip, or no veth in the kernel");
	teardown();
	strcpy(set.strobe_device, "sb");
	ck_assert_ptr_nonnull(open_end(&agent, STORM_ROLE_NODE, &err));
	ck_assert_ptr_nonnull(open_end(&owner, STORM_ROLE_OWNER, &err));
	ck_assert_str_eq(owner.u->iface.name, "lo");
	ck_assert_uint_eq(owner.t->ops->mtu(owner.t), 1452);
	ck_assert_uint_gt(agent.t->ops->mtu(agent.t), 1452);
	send_lengths(&group, true);
	by_rail = stats_of(&agent).rx_rail;
	ck_assert_uint_gt(by_rail, 0);
	/* ... but for the fences */
	ck_assert_uint_eq(stats_of(&agent).rx_datagrams - by_rail,
			  sizeof(lengths) / sizeof(*lengths));
	send_lengths(&agent.self, false);
	ck_assert_uint_eq(stats_of(&agent).rx_rail, by_rail);

	/* a node that is not on it receives none of these, but all others */
	close_end(&agent);
	strcpy(set.strobe_device, "nosuch0");
	ck_assert_ptr_nonnull(open_end(&agent, STORM_ROLE_NODE, &err));
	ck_assert_ptr_nonnull(strstr(last_log, "nosuch0"));
	send_to(&owner, STORM_CONTROL, &group, "x", 1, 1);
	fence(&owner, &agent);
	ck_assert_uint_eq(agent.count, 1);

	/* a node without one uses the interface, as others do */
	close_end(&owner);
	strcpy(set.strobe_device, "lo");
	ck_assert_ptr_nonnull(open_end(&owner, STORM_ROLE_OWNER, &err));
	send_lengths(&group, true);
	ck_assert_uint_eq(stats_of(&agent).rx_rail, 0);
	run("ip link del sa");
}
END_TEST

/* ------------------------------------------------------------------- main */

static Suite *udp_suite(void)
{
	Suite *s = suite_create("udp");
	TCase *t = tcase_create("datagrams");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_unicast_both_ways);
	tcase_add_test(t, test_multicast);
	tcase_add_test(t, test_priorities);
	tcase_add_test(t, test_bulk_unicast);
	tcase_add_test(t, test_without_gso);
	tcase_add_test(t, test_gso_refused);
	tcase_add_test(t, test_groups_apart);
	tcase_add_test(t, test_no_multicast);
	tcase_add_test(t, test_send_arguments);
	tcase_add_test(t, test_mtu);
	tcase_add_test(t, test_drop);
	tcase_add_test(t, test_drop_segments);
	tcase_add_test(t, test_overflow_is_counted);
	tcase_add_test(t, test_stats);
	tcase_add_loop_test(t, test_back_pressure, 0, 4);
	tcase_add_test(t, test_agent_keeps);
	suite_add_tcase(s, t);

	t = tcase_create("streams");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_stream);
	tcase_add_test(t, test_many_streams);
	tcase_add_test(t, test_stream_nobody_listens);
	tcase_add_test(t, test_stream_no_descriptor);
	tcase_add_test(t, test_accept_no_descriptor);
	tcase_add_test(t, test_stream_timeout);
	tcase_add_test(t, test_stream_no_connection);
	tcase_add_test(t, test_stream_lost_syn);
	tcase_add_test(t, test_stream_two_lose);
	tcase_add_test(t, test_stream_one_peer_loses);
	tcase_add_test(t, test_stream_late_answers);
	tcase_add_test(t, test_stream_data_lost);
	tcase_add_test(t, test_stream_counts_once);
	tcase_add_test(t, test_stream_peers_are_gone);
	tcase_add_test(t, test_stream_node_is_sooner);
	tcase_add_test(t, test_stream_node_is_sooner_of_a_stopped_one);
	tcase_add_test(t, test_stream_many_lost);
	tcase_add_test(t, test_stream_all_lost);
	tcase_add_test(t, test_stream_stopped_where_packets_are_lost);
	tcase_add_test(t, test_stream_question_is_lost);
	tcase_add_test(t, test_stream_segments);
	tcase_add_test(t, test_stream_stopped);
	tcase_add_test(t, test_stream_stopped_together);
	tcase_add_test(t, test_stream_waits_for_munge);
	tcase_add_test(t, test_stream_reset);
	tcase_add_test(t, test_stream_verdict);
	tcase_add_test(t, test_stream_dropped);
	tcase_add_test(t, test_stream_held_by_child);
	tcase_add_test(t, test_stream_dropped_after_failure);
	tcase_add_test(t, test_stream_silence);
	tcase_add_test(t, test_stream_answers);
	tcase_add_test(t, test_bad_streams);
	tcase_add_test(t, test_half_streams);
	tcase_add_test(t, test_slow_senders);
	tcase_add_test(t, test_held_streams);
	suite_add_tcase(s, t);

	t = tcase_create("set-up");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_port_is_ours);
	tcase_add_test(t, test_port_is_kept);
	tcase_add_test(t, test_port_holder);
	tcase_add_test(t, test_bad_settings);
	tcase_add_test(t, test_owner_beside_agent);
	tcase_add_test(t, test_interface);
	tcase_add_test(t, test_strobe_rail);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	SRunner *r;
	int failed;

	own_namespace = enter_namespace();
	if (!own_namespace)
		fprintf(stderr, "SKIP: no network namespace: using the host's "
				"loopback interface\n");
	r = srunner_create(udp_suite());
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
