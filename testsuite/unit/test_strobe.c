/*
 * test_strobe.c - strobes in a thread and a socket of their own: which
 * datagrams the kernel passes to that socket, on the loopback interface of a
 * network namespace of its own, and which of them count (strobe.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "namespace.h"
#include "no_streams.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/protocol/strobe.h"
#include "src/libstorm/transport/udp/udp.h"
#include "src/libstorm/transport/udp/udp_filter.h"
#include "src/libstorm/wire/wire.h"
#include "unit.h"

#define BODY 32
#define LEN (STORM_HEADER_LEN + BODY + STORM_TAG_LEN)
#define SESSION 0x0123456789abcdefull

static const struct storm_strobe_ops *ops;
static struct storm_net *net;
static struct storm_udp *udp;
static struct storm_settings set;
static struct storm_strobe_match match;
static struct sockaddr_in unicast, group, other_group;
static size_t polled; /* datagrams of poll() */
static struct storm_addr polled_from;
static int sender, stranger;

/* -------------------------------------------------------------------- ends */

static void on_datagrams(void *arg, struct storm_rx *rx, size_t n)
{
	(void) arg;
	polled += n;
	polled_from = rx->from;
}

static struct sockaddr_in address(const char *ip, uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(port) };

	must(inet_pton(AF_INET, ip, &sin.sin_addr) == 1);
	return sin;
}

/* A socket of somebody's, and its address. */
static int open_sender(struct storm_addr *self, const char *ip)
{
	struct sockaddr_in sin = address(ip, 0);
	struct in_addr lo = { .s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	must(!bind(fd, (void *) &sin, sizeof(sin)));
	must(!setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &lo, sizeof(lo)));
	must(!getsockname(fd, (void *) &sin, &len));
	if (self) {
		memset(self, 0, sizeof(*self));
		self->ip[10] = self->ip[11] = 0xff;
		memcpy(self->ip + 12, &sin.sin_addr, 4);
		self->port = ntohs(sin.sin_port);
	}
	return fd;
}

static void setup(void)
{
	const struct storm_net_handler h = { .datagrams = on_datagrams,
					     .stream = no_stream,
					     .stream_failed =
						     no_stream_failed };
	int err;

	storm_settings_default(&set);
	set.port = 8383;
	set.socket_buffer = 4 << 20;
	strcpy(set.interface, "lo");
	udp = storm_udp_create(&set, STORM_ROLE_NODE, NULL, &h, &err);
	ck_assert_ptr_nonnull(udp);
	net = (struct storm_net *) udp;
	ops = storm_driver_udp.strobe;
	ck_assert_int_ge(ops->open(net), 0);

	memset(&match, 0, sizeof(match));
	match.session = SESSION;
	for (int i = 0; i < STORM_INCARNATION_LEN; i++)
		match.incarnation[i] = (uint8_t) (0x10 + i);
	match.len = LEN;
	match.group = set.group;
	match.group.port = set.port;
	sender = open_sender(&match.source[0], "127.0.0.1");
	match.sources = 1;
	stranger = open_sender(NULL, "127.0.0.1");
	unicast = address("127.0.0.1", set.port);
	group = address("239.192.83.0", set.port);
	must(!memcmp(&group.sin_addr, set.group.ip + 12, 4));
	other_group = address("239.192.83.1", set.port);
	polled = 0;
}

static void teardown(void)
{
	close(sender);
	close(stranger);
	storm_udp_destroy(udp);
}

/* The strobe that matches, byte by byte as doc/wire-format.md has it. */
static void strobe(uint8_t out[LEN + 1])
{
	static const uint8_t head[] = {
		STORM_WIRE_VERSION,
		9,
		0,
		0,
		0,
		0,
		0,
		2, /* type, epoch */
		0x01,
		0x23,
		0x45,
		0x67,
		0x89,
		0xab,
		0xcd,
		0xef, /* session */
		0x10,
		0x11,
		0x12,
		0x13,
		0x14,
		0x15,
		0x16,
		0x17, /* ... */
		0x18,
		0x19,
		0x1a,
		0x1b,
		0x1c,
		0x1d,
		0x1e,
		0x1f,
		0xff,
		0xff,
		0xff,
		0xff,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		7, /* sender */
		0,
		0,
		0,
		2,
		0,
		0,
		0,
		1, /* its number */
	};

	memset(out, 0x5a, LEN + 1);
	memcpy(out, head, sizeof(head));
}

/* What came of the datagrams so far: to the thread's socket, and to poll(). */
static void expect(size_t taken, size_t others)
{
	uint8_t buf[STORM_DATAGRAM_MAX];
	uint64_t at, now;
	size_t n = 0;

	while (ops->receive(net, buf, sizeof(buf), &at) >= 0) {
		n++;
		/* by the kernel's stamp: before it was read */
		now = storm_now();
		must(at <= now && now - at < 60 * STORM_SEC);
	}
	storm_udp_poll(udp);
	if (n != taken || polled != others)
		ck_abort_msg("%zu and %zu datagrams, not %zu and %zu", n,
			     polled, taken, others);
	polled = 0;
}

static void send_by(int fd, const struct sockaddr_in *to, const void *buf,
		    size_t len)
{
	must(sendto(fd, buf, len, 0, (const void *) to, sizeof(*to)) ==
	     (ssize_t) len);
}

/* ---------------------------------------------------------- which datagrams */

START_TEST(test_steer)
{
	const struct sockaddr_in *to = _i ? &group : &unicast;
	uint8_t buf[LEN + 1];

	strobe(buf);
	send_by(sender, to, buf, LEN);
	expect(0, 1);
	ck_assert(!memcmp(&polled_from, &match.source[0], sizeof(polled_from)));
	ops->steer(net, &match);
	send_by(sender, to, buf, LEN);
	expect(1, 0);
	ops->steer(net, &match); /* again */
	send_by(sender, to, buf, LEN);
	expect(1, 0);
	buf[3] = 1; /* RELAY */
	send_by(sender, to, buf, LEN);
	expect(1, 0);
	ops->mute(net);
	send_by(sender, to, buf, LEN);
	expect(0, 0);
	ops->steer(net, NULL);
	send_by(sender, to, buf, LEN);
	expect(0, 1);
	ops->steer(net, &match);
	send_by(sender, to, buf, LEN);
	expect(1, 0);
}
END_TEST

/* Each byte of the header that is not a strobe's own, and the length. */
START_TEST(test_other_datagrams)
{
	const struct sockaddr_in *to = _i ? &group : &unicast;
	uint8_t buf[LEN + 1];

	ops->steer(net, &match);
	for (int i = 0; i < STORM_HEADER_LEN; i++) {
		/* flags, epoch, sequence, number: the seal tells */
		bool own = (i >= 2 && i < 8) || i >= 36;

		for (int bit = 0; bit < 8; bit++) {
			strobe(buf);
			buf[i] ^= (uint8_t) (1 << bit);
			send_by(sender, to, buf, LEN);
			expect(own, !own);
		}
	}
	strobe(buf);
	for (size_t len = 1; len <= LEN + 1; len++) {
		send_by(sender, to, buf, len);
		expect(len == LEN, len != LEN);
	}
}
END_TEST

START_TEST(test_sources)
{
	const struct sockaddr_in *to = _i ? &group : &unicast;
	int fd[STORM_STROBE_SOURCES], far;
	uint8_t buf[LEN + 1];

	strobe(buf);
	ops->steer(net, &match);
	send_by(stranger, to, buf, LEN);
	expect(0, 1);
	for (int i = 1; i < STORM_STROBE_SOURCES; i++)
		fd[i] = open_sender(&match.source[i],
				    i % 2 ? "127.0.0.2" : "127.0.0.1");
	match.sources = STORM_STROBE_SOURCES;
	ops->steer(net, &match);
	for (int i = 1; i < STORM_STROBE_SOURCES; i++) {
		send_by(fd[i], to, buf, LEN);
		expect(1, 0);
	}
	send_by(sender, to, buf, LEN);
	expect(1, 0);
	send_by(stranger, to, buf, LEN);
	expect(0, 1);
	/* the right port of another host */
	far = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	{
		struct sockaddr_in sin =
			address("127.0.0.3", match.source[0].port);
		struct in_addr lo = { .s_addr = htonl(INADDR_LOOPBACK) };

		must(!bind(far, (void *) &sin, sizeof(sin)));
		must(!setsockopt(far, IPPROTO_IP, IP_MULTICAST_IF, &lo,
				 sizeof(lo)));
	}
	send_by(far, to, buf, LEN);
	expect(0, 1);
	close(far);
	for (int i = 1; i < STORM_STROBE_SOURCES; i++)
		close(fd[i]);
}
END_TEST

/* Of another group, or from a packet with options. */
START_TEST(test_other_ways)
{
	uint8_t buf[LEN + 1], nop[4] = { 1, 1, 1, 0 };

	strobe(buf);
	ops->steer(net, &match);
	send_by(sender, &other_group, buf, LEN);
	expect(0, 1);
	must(!setsockopt(sender, IPPROTO_IP, IP_OPTIONS, nop, sizeof(nop)));
	send_by(sender, &unicast, buf, LEN);
	expect(0, 1);
	send_by(sender, &group, buf, LEN);
	expect(0, 1);
	/* the owner has moved to that group */
	must(!setsockopt(sender, IPPROTO_IP, IP_OPTIONS, NULL, 0));
	match.group.ip[15] = 1;
	ops->steer(net, &match);
	send_by(sender, &other_group, buf, LEN);
	expect(1, 0);
	send_by(sender, &group, buf, LEN);
	expect(0, 1);
}
END_TEST

/* ----------------------------------------------------------- which sessions */

static void put_session(uint8_t *buf, uint64_t session)
{
	struct storm_out o = { buf + 8, buf + 16, false };

	storm_put64(&o, session);
}

START_TEST(test_sessions)
{
	static const size_t counts[] = { 0, 1, 2, 256, UDP_FILTER_SESSIONS };
	const struct sockaddr_in *to = _i % 2 ? &group : &unicast;
	size_t n = counts[_i / 2];
	uint64_t session[UDP_FILTER_SESSIONS] = { 0 };
	struct rnd r = rnd_of(_i);
	uint8_t buf[LEN + 1];

	strobe(buf);
	for (size_t i = 0; i < n; i++)
		session[i] = rnd64(&r);
	storm_driver_udp.admit(net, session, n, true);
	for (size_t i = 0; i < n; i += 1 + n / 50) {
		put_session(buf, session[i]);
		send_by(stranger, to, buf, LEN);
		expect(0, 1);
		put_session(buf, session[i] ^ 1ull << (i % 32));
		send_by(stranger, to, buf, LEN);
		expect(0, 0);
	}
	if (n) {
		put_session(buf, session[n - 1]);
		send_by(stranger, to, buf, 16);
		send_by(stranger, to, buf, 15); /* not whole */
		expect(0, 1);
		buf[0]++; /* another version */
		send_by(stranger, to, buf, LEN);
		expect(0, 0);
	}
	/* strobes have a filter of their own */
	strobe(buf);
	ops->steer(net, &match);
	send_by(sender, to, buf, LEN);
	expect(1, 0);
	send_by(stranger, to, buf, LEN);
	expect(0, 0);
	storm_driver_udp.admit(net, NULL, 0, false);
	send_by(stranger, to, buf, LEN);
	send_by(stranger, to, "short", 5);
	expect(0, 2);
	send_by(sender, to, buf, LEN);
	expect(1, 0);
}
END_TEST

/* No other user's socket gets at the port, whatever shares it. */
START_TEST(test_port_stays_ours)
{
	struct sockaddr_in sin = address("0.0.0.0", set.port);
	int one = 1, fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(bind(fd, (void *) &sin, sizeof(sin)), -1);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	ck_assert_int_eq(bind(fd, (void *) &sin, sizeof(sin)), -1);
	close(fd);
	if (geteuid() || setresuid(-1, 65534, -1))
		return; /* a namespace of one user */
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
	ck_assert_int_eq(bind(fd, (void *) &sin, sizeof(sin)), -1);
	close(fd);
	must(!setresuid(-1, 0, -1));
}
END_TEST

/* ------------------------------------------------------------- which count */

static struct storm_gate gate;
static struct storm_strobes taker;

static void gate_setup(void)
{
	memset(&gate, 0, sizeof(gate));
	memset(&taker, 0, sizeof(taker));
	gate.session = SESSION;
	memset(gate.key, 3, sizeof(gate.key));
	memset(gate.incarnation, 4, sizeof(gate.incarnation));
	gate.epoch = 5;
	gate.number = 10;
	must(!storm_strobes_open(&taker, &gate));
}

static void gate_teardown(void)
{
	storm_strobes_close(&taker);
}

struct sent {
	struct storm_header h;
	uint8_t buf[STORM_DATAGRAM_MAX];
	size_t len;
};

static void seal(struct sent *s, const uint8_t *key, size_t len)
{
	struct storm_seal *seal;
	uint8_t body[STORM_DATAGRAM_MAX] = { 42 };

	seal = storm_seal_create(key, s->h.incarnation, s->h.session,
				 s->h.sender, STORM_LANE_CONTROL);
	storm_header_pack(&s->h, s->buf);
	must(!storm_seal_seal(seal, s->buf, s->h.sequence, body, len,
			      s->buf + STORM_HEADER_LEN));
	s->len = STORM_DATAGRAM_MIN + len;
	storm_seal_destroy(seal);
}

static struct sent next_strobe(uint64_t number)
{
	struct sent s = { .h = { .type = STORM_MSG_STROBE,
				 .epoch = 5,
				 .session = SESSION,
				 .sender = STORM_NO_NODE,
				 .sequence = number + 100,
				 .op = number } };

	memcpy(s.h.incarnation, gate.incarnation, sizeof(s.h.incarnation));
	seal(&s, gate.key, BODY);
	return s;
}

static bool takes(const struct sent *s)
{
	struct storm_strobe out;
	bool taken = storm_strobes_take(&taker, s->buf, s->len, &out);

	if (taken) {
		must(out.number == s->h.op && taker.number == out.number);
		must(out.relay == (s->h.flags == STORM_HDR_RELAY));
		must(out.len == s->len - STORM_DATAGRAM_MIN);
		must(!out.len || out.body[0] == 42);
	}
	return taken;
}

START_TEST(test_numbers)
{
	struct sent s = next_strobe(10);

	must(!takes(&s));
	s = next_strobe(11);
	must(takes(&s) && !takes(&s)); /* a replay */
	s = next_strobe(9);
	must(!takes(&s));
	s = next_strobe(20);
	must(takes(&s));
	must(!storm_strobes_number(&taker, 20));
	must(storm_strobes_number(&taker, 22));
	s = next_strobe(21);
	must(!takes(&s));
	s = next_strobe(23);
	must(takes(&s));
	/* the same session with another epoch: no way back */
	gate.epoch = 6;
	gate.number = 12;
	must(!storm_strobes_same(&taker, &gate));
	must(!storm_strobes_open(&taker, &gate));
	must(storm_strobes_same(&taker, &gate));
	s = next_strobe(24); /* of epoch 5 */
	must(!takes(&s));
	s.h.epoch = 7;
	seal(&s, gate.key, BODY);
	must(takes(&s) && !takes(&s));
	/* another session begins where the main loop says */
	gate.session++;
	gate.number = 3;
	must(!storm_strobes_open(&taker, &gate));
	s.h.session = gate.session;
	s.h.op = 4;
	seal(&s, gate.key, BODY);
	must(takes(&s));
	storm_strobes_close(&taker);
	s.h.op = 5;
	seal(&s, gate.key, BODY);
	must(!takes(&s));
}
END_TEST

START_TEST(test_forged)
{
	struct sent good = next_strobe(11), s;
	uint8_t key[STORM_KEY_LEN] = { 9 };

	/* what a member could send, or somebody without the key */
	s = good;
	s.h.type = STORM_MSG_CAST;
	seal(&s, gate.key, BODY);
	must(!takes(&s));
	s = good;
	s.h.sender = 3;
	seal(&s, gate.key, BODY);
	must(!takes(&s));
	s = good;
	s.h.session++;
	seal(&s, gate.key, BODY);
	must(!takes(&s));
	s = good;
	s.h.epoch = 4;
	seal(&s, gate.key, BODY);
	must(!takes(&s));
	s = good;
	s.h.incarnation[0]++;
	seal(&s, gate.key, BODY);
	must(!takes(&s));
	s = good;
	seal(&s, key, BODY);
	must(!takes(&s));
	s = good;
	seal(&s, gate.key, STORM_STROBE_MAX + 1);
	must(!takes(&s));
	for (size_t i = 0; i < good.len; i++) {
		s = good;
		s.buf[i] ^= 1;
		must(!takes(&s));
	}
	for (size_t len = 0; len < good.len; len++) {
		s = good;
		s.len = len;
		must(!takes(&s));
	}
	must(takes(&good));
	s = next_strobe(12);
	s.h.flags = STORM_HDR_RELAY;
	seal(&s, gate.key, STORM_STROBE_MAX);
	must(takes(&s));
	s = next_strobe(13);
	seal(&s, gate.key, 0);
	must(takes(&s));
}
END_TEST

/* -------------------------------------------------------------------- main */

static Suite *strobe_suite(bool network)
{
	Suite *s = suite_create("strobe");
	TCase *t = tcase_create("taker");

	tcase_add_checked_fixture(t, gate_setup, gate_teardown);
	tcase_add_test(t, test_numbers);
	tcase_add_test(t, test_forged);
	suite_add_tcase(s, t);
	if (!network)
		return s;
	t = tcase_create("socket");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test_steer, 0, 2);
	tcase_add_loop_test(t, test_other_datagrams, 0, 2);
	tcase_add_loop_test(t, test_sources, 0, 2);
	tcase_add_test(t, test_other_ways);
	tcase_add_loop_test(t, test_sessions, 0, 10);
	tcase_add_test(t, test_port_stays_ours);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	bool network = enter_namespace();

	if (!network)
		printf("SKIP: no network namespace: which datagrams the kernel "
		       "passes is not tested\n");
	return unit_main(strobe_suite(network));
}
