/*
 * test_pulse.c - signs of life: their bytes, which count and which do not, whom a
 * node tells what (pulser.h), and the socket to which the kernel passes them
 * alone, on the loopback interface of a network namespace of its own.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "namespace.h"
#include "no_streams.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/protocol/pulser.h"
#include "src/libstorm/transport/udp/udp.h"
#include "unit.h"

#define SESSION 0x0123456789abcdefull
#define EVERY (25 * STORM_MS)

static const uint8_t key[STORM_KEY_LEN] = { 7, 7, 7 };
static const uint8_t lives[4][STORM_INCARNATION_LEN] = {
	{ 1 }, { 2 }, { 3 }, { 4 }
};

/* ------------------------------------------------------------------- bytes */

static void seal(struct storm_pulse_tx *tx, uint8_t kind, uint8_t flags,
		 uint32_t node, uint64_t op, uint8_t out[STORM_PULSE_LEN])
{
	const struct storm_pulse p = { .kind = kind,
				       .flags = flags,
				       .node = node };

	must(!storm_pulse_seal(tx, &p, op, out));
}

static int take(struct storm_pulse_rx *rx, const uint8_t *buf, size_t len,
		struct storm_pulse *out)
{
	struct storm_header h;

	if (storm_header_unpack(&h, buf, len))
		return STORM_EINVAL;
	return storm_pulse_open(rx, &h, buf, len, out);
}

static void open_both(struct storm_pulse_tx *tx, struct storm_pulse_rx *rx)
{
	memset(tx, 0, sizeof(*tx));
	memset(rx, 0, sizeof(*rx));
	must(!storm_pulse_tx_open(tx, key, SESSION, 5, lives[0]));
	must(!storm_pulse_rx_open(rx, key, SESSION, 5, lives[0]));
}

START_TEST(test_bytes)
{
	uint8_t buf[STORM_PULSE_LEN], bad[STORM_PULSE_LEN + 1] = { 0 };
	struct storm_pulse_tx tx;
	struct storm_pulse_rx rx;
	struct storm_pulse p;

	open_both(&tx, &rx);
	seal(&tx, STORM_PULSE_NEWS, STORM_PULSE_HUNG, 77, 9, buf);
	for (size_t i = 0; i < sizeof(buf); i++) {
		memcpy(bad, buf, sizeof(buf));
		bad[i] ^= 0x40;
		must(take(&rx, bad, sizeof(buf), &p));
	}
	memcpy(bad, buf, sizeof(buf));
	must(take(&rx, bad, sizeof(bad), &p));
	must(take(&rx, bad, sizeof(buf) - 1, &p));
	must(!take(&rx, buf, sizeof(buf), &p));
	must(p.kind == STORM_PULSE_NEWS && p.flags == STORM_PULSE_HUNG &&
	     p.node == 77 && !p.silence);
	storm_pulse_tx_close(&tx);
	storm_pulse_rx_close(&rx);
}
END_TEST

/* Sealed by a member, and yet not what it may say. */
START_TEST(test_malformed)
{
	static const struct storm_pulse bad[] = {
		{ .kind = 0 },
		{ .kind = STORM_PULSE_KINDS },
		{ .kind = STORM_PULSE_SIGN, .flags = 0x4 },
		{ .kind = STORM_PULSE_SIGN, .node = 1 },
		{ .kind = STORM_PULSE_ASK, .silence = 1 },
	};
	uint8_t buf[STORM_PULSE_LEN];
	struct storm_pulse_tx tx;
	struct storm_pulse_rx rx;
	struct storm_pulse p;

	open_both(&tx, &rx);
	must(!storm_pulse_seal(&tx, &bad[_i], 0, buf));
	ck_assert_int_eq(take(&rx, buf, sizeof(buf), &p), STORM_EINVAL);
	storm_pulse_tx_close(&tx);
	storm_pulse_rx_close(&rx);
}
END_TEST

/* A sign that was recorded proves nothing, nor one of another life, sender or
 * session; a number that comes late is no new sign. */
START_TEST(test_old)
{
	uint8_t buf[3][STORM_PULSE_LEN];
	struct storm_pulse_tx tx;
	struct storm_pulse_rx rx;
	struct storm_pulse p;

	open_both(&tx, &rx);
	for (int i = 0; i < 3; i++)
		seal(&tx, STORM_PULSE_SIGN, 0, 0, 0, buf[i]);
	must(!take(&rx, buf[1], sizeof(buf[1]), &p));
	ck_assert_int_eq(take(&rx, buf[1], sizeof(buf[1]), &p), STORM_EAUTH);
	ck_assert_int_eq(take(&rx, buf[0], sizeof(buf[0]), &p), STORM_EAUTH);
	/* it is told once more whom to believe: that changes nothing */
	must(!storm_pulse_rx_open(&rx, key, SESSION, 5, lives[0]));
	ck_assert_int_eq(take(&rx, buf[1], sizeof(buf[1]), &p), STORM_EAUTH);
	must(!storm_pulse_rx_open(&rx, key, SESSION, 5, lives[1]));
	ck_assert_int_eq(take(&rx, buf[2], sizeof(buf[2]), &p), STORM_EAUTH);
	must(!storm_pulse_rx_open(&rx, key, SESSION, 6, lives[0]));
	ck_assert_int_eq(take(&rx, buf[2], sizeof(buf[2]), &p), STORM_EAUTH);
	must(!storm_pulse_rx_open(&rx, key, SESSION, 5, lives[0]));
	must(!take(&rx, buf[2], sizeof(buf[2]), &p));
	/* in another life, too, no number is used twice */
	must(!storm_pulse_tx_open(&tx, key, SESSION, 5, lives[1]));
	seal(&tx, STORM_PULSE_SIGN, 0, 0, 0, buf[0]);
	must(tx.sequence == 4);
	storm_pulse_tx_close(&tx);
	storm_pulse_rx_close(&rx);
}
END_TEST

/* ------------------------------------------------------------------- pulser */

static struct sent {
	struct storm_addr to;
	uint8_t buf[STORM_PULSE_LEN];
} sent[64];
static size_t nsent;

static void on_send(void *arg, const struct storm_addr *to, const void *buf,
		    size_t len)
{
	(void) arg;
	must(len == STORM_PULSE_LEN && nsent < 64);
	sent[nsent].to = *to;
	memcpy(sent[nsent++].buf, buf, len);
}

/* This node is 1, its children are 9 and 10. */
static struct storm_pulse_gate usual_gate(void)
{
	struct storm_pulse_gate g;

	memset(&g, 0, sizeof(g));
	g.session = SESSION;
	memcpy(g.key, key, sizeof(g.key));
	g.self = 1;
	g.epoch = 3;
	memcpy(g.incarnation, lives[0], sizeof(g.incarnation));
	memcpy(g.owner_incarnation, lives[1], sizeof(g.owner_incarnation));
	g.owner.port = 1;
	g.parent.port = 2;
	g.children = 2;
	g.child[0].node = 9;
	g.child[1].node = 10;
	memcpy(g.child[0].incarnation, lives[2], STORM_INCARNATION_LEN);
	memcpy(g.child[1].incarnation, lives[3], STORM_INCARNATION_LEN);
	return g;
}

static struct storm_pulser *pulser_open(const struct storm_pulse_gate *g)
{
	struct storm_pulser *p = storm_pulser_create(EVERY, on_send, NULL);

	must(p && !storm_pulser_gate(p, g, STORM_SEC));
	nsent = 0;
	return p;
}

/* What was sent to that port, of which kind; the last one's body to *out. */
static size_t sent_to(uint16_t port, uint8_t kind, struct storm_pulse *out)
{
	size_t n = 0;

	for (size_t i = 0; i < nsent; i++) {
		struct storm_pulse_rx rx = { 0 };
		struct storm_pulse p;

		must(!storm_pulse_rx_open(&rx, key, SESSION, 1, lives[0]));
		must(!take(&rx, sent[i].buf, STORM_PULSE_LEN, &p));
		storm_pulse_rx_close(&rx);
		if (sent[i].to.port != port || p.kind != kind)
			continue;
		n++;
		if (out)
			*out = p;
	}
	return n;
}

START_TEST(test_signs)
{
	struct storm_pulse_gate g = usual_gate();
	struct storm_pulser *p = pulser_open(&g);
	uint64_t now = STORM_SEC;

	for (int k = 0; k < 10; k++)
		now = storm_pulser_tick(p, now);
	must(now == STORM_SEC + 10 * EVERY);
	ck_assert_uint_eq(nsent, 10);
	ck_assert_uint_eq(sent_to(2, STORM_PULSE_SIGN, NULL), 10);
	must(storm_pulser_same(p, &g) && !storm_pulser_same(p, NULL));
	must(!storm_pulser_gate(p, NULL, now) && storm_pulser_same(p, NULL));
	must(storm_pulser_tick(p, now) == STORM_NEVER);
	ck_assert_uint_eq(nsent, 10);
	storm_pulser_destroy(p);
}
END_TEST

START_TEST(test_owner_asks)
{
	struct storm_pulse_gate g = usual_gate();
	struct storm_pulser *p = pulser_open(&g);
	struct storm_pulse_tx owner = { 0 }, other = { 0 };
	uint8_t buf[STORM_PULSE_LEN];
	struct storm_header h;

	must(!storm_pulse_tx_open(&owner, key, SESSION, STORM_NO_NODE,
				  lives[1]));
	seal(&owner, STORM_PULSE_ASK, 0, 0, 0, buf);
	must(storm_pulser_take(p, buf, sizeof(buf), STORM_SEC));
	ck_assert_uint_eq(sent_to(1, STORM_PULSE_ANSWER, NULL), 1);
	must(!storm_header_unpack(&h, sent[0].buf, STORM_PULSE_LEN));
	must(h.op == owner.sequence);
	/* asked once, answered once; a child may not ask, nor an owner that was */
	must(!storm_pulser_take(p, buf, sizeof(buf), STORM_SEC));
	must(!storm_pulse_tx_open(&other, key, SESSION, 9, lives[2]));
	seal(&other, STORM_PULSE_ASK, 0, 0, 0, buf);
	must(!storm_pulser_take(p, buf, sizeof(buf), STORM_SEC));
	must(!storm_pulse_tx_open(&other, key, SESSION, STORM_NO_NODE,
				  lives[0]));
	seal(&other, STORM_PULSE_ASK, 0, 0, 0, buf);
	must(!storm_pulser_take(p, buf, sizeof(buf), STORM_SEC));
	ck_assert_uint_eq(nsent, 1);
	storm_pulse_tx_close(&owner);
	storm_pulse_tx_close(&other);
	storm_pulser_destroy(p);
}
END_TEST

static void child_signs(struct storm_pulser *p, struct storm_pulse_tx *child,
			uint8_t flags, uint64_t now)
{
	uint8_t buf[STORM_PULSE_LEN];

	seal(child, STORM_PULSE_SIGN, flags, 0, 0, buf);
	must(storm_pulser_take(p, buf, sizeof(buf), now));
}

START_TEST(test_child_is_quiet)
{
	struct storm_pulse_gate g = usual_gate();
	struct storm_pulser *p = pulser_open(&g);
	struct storm_pulse_tx child = { 0 };
	uint64_t now = STORM_SEC, heard = 0;
	struct storm_pulse news;

	must(!storm_pulse_tx_open(&child, key, SESSION, 9, lives[2]));
	for (int k = 0; k < 2000; k++, now += 5 * STORM_MS) {
		nsent = 0;
		if (k % 5 == 0) {
			child_signs(p, &child, 0, now);
			heard = now;
		}
		storm_pulser_tick(p, now);
		/* node 10 was never heard, so it is not missed */
		must(!sent_to(1, STORM_PULSE_NEWS, NULL));
	}
	nsent = 0;
	for (; now < heard + 100 * STORM_MS; now += STORM_MS)
		storm_pulser_tick(p, now);
	ck_assert_uint_eq(sent_to(1, STORM_PULSE_NEWS, NULL), 0);
	storm_pulser_tick(p, now);
	ck_assert_uint_eq(sent_to(1, STORM_PULSE_NEWS, &news), 1);
	must(news.node == 9 && news.silence == 100);
	nsent = 0;
	for (; now < heard + 200 * STORM_MS; now += STORM_MS)
		storm_pulser_tick(p, now);
	ck_assert_uint_eq(sent_to(1, STORM_PULSE_NEWS, &news), 3);
	child_signs(p, &child, 0, now);
	nsent = 0;
	storm_pulser_tick(p, now + 30 * STORM_MS);
	ck_assert_uint_eq(sent_to(1, STORM_PULSE_NEWS, NULL), 0);
	storm_pulse_tx_close(&child);
	storm_pulser_destroy(p);
}
END_TEST

/* This node stood for a second, as its children may have done. */
START_TEST(test_own_silence)
{
	struct storm_pulse_gate g = usual_gate();
	struct storm_pulser *p = pulser_open(&g);
	struct storm_pulse_tx child = { 0 };
	uint64_t now = STORM_SEC;

	must(!storm_pulse_tx_open(&child, key, SESSION, 9, lives[2]));
	for (int k = 0; k < 8; k++, now += EVERY) {
		child_signs(p, &child, 0, now);
		storm_pulser_tick(p, now);
	}
	now += STORM_SEC;
	storm_pulser_tick(p, now);
	ck_assert_uint_eq(sent_to(1, STORM_PULSE_NEWS, NULL), 0);
	for (int k = 0; k < 8; k++, now += EVERY)
		storm_pulser_tick(p, now);
	ck_assert_uint_ge(sent_to(1, STORM_PULSE_NEWS, NULL), 1);
	storm_pulse_tx_close(&child);
	storm_pulser_destroy(p);
}
END_TEST

START_TEST(test_child_hangs)
{
	struct storm_pulse_gate g = usual_gate();
	struct storm_pulser *p = pulser_open(&g);
	struct storm_pulse_tx child = { 0 };
	uint64_t now = STORM_SEC;
	struct storm_pulse news;

	must(!storm_pulse_tx_open(&child, key, SESSION, 10, lives[3]));
	child_signs(p, &child, STORM_PULSE_HUNG, now);
	storm_pulser_tick(p, now);
	ck_assert_uint_eq(sent_to(1, STORM_PULSE_NEWS, &news), 1);
	must(news.node == 10 && news.flags == STORM_PULSE_HUNG &&
	     !news.silence);
	child_signs(p, &child, 0, now += EVERY);
	storm_pulser_tick(p, now);
	ck_assert_uint_eq(sent_to(1, STORM_PULSE_NEWS, &news), 2);
	must(!news.flags);
	storm_pulse_tx_close(&child);
	storm_pulser_destroy(p);
}
END_TEST

/* ------------------------------------------------------------------- socket */

static size_t polled;

static void on_datagrams(void *arg, struct storm_rx *rx, size_t n)
{
	(void) arg;
	(void) rx;
	polled += n;
}

static void settle(struct storm_udp *udp, int fd, size_t pulses, size_t others)
{
	struct storm_net *net = (struct storm_net *) udp;
	uint8_t buf[STORM_PULSE_LEN + 1];
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t n = 0;

	if (pulses)
		must(poll(&p, 1, 10000) == 1);
	while (storm_driver_udp.pulse->receive(net, buf, sizeof(buf)) >= 0)
		n++;
	storm_udp_poll(udp);
	if (n != pulses || polled != others)
		ck_abort_msg("%zu and %zu datagrams, not %zu and %zu", n,
			     polled, pulses, others);
	polled = 0;
}

/* With strobes' socket beside it, opened before or after it, or without. */
START_TEST(test_socket)
{
	const struct storm_net_handler h = { .datagrams = on_datagrams,
					     .stream = no_stream,
					     .stream_failed =
						     no_stream_failed };
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(8383),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct storm_settings set;
	struct storm_udp *udp;
	struct storm_net *net;
	struct storm_pulse_tx tx = { 0 };
	uint8_t buf[STORM_PULSE_LEN];
	int fd, by, err;

	storm_settings_default(&set);
	strcpy(set.interface, "lo");
	udp = storm_udp_create(&set, STORM_ROLE_NODE, NULL, &h, &err);
	must(udp);
	net = (struct storm_net *) udp;
	if (_i == 1)
		must(storm_driver_udp.strobe->open(net) >= 0);
	fd = storm_driver_udp.pulse->open(net);
	must(fd >= 0);
	if (_i == 2)
		must(storm_driver_udp.strobe->open(net) >= 0);
	by = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	must(!storm_pulse_tx_open(&tx, key, SESSION, 5, lives[0]));
	seal(&tx, STORM_PULSE_SIGN, 0, 0, 0, buf);
#define SEND(n) must(sendto(by, buf, (n), 0, (void *) &to, sizeof(to)) == (n))
	SEND((ssize_t) sizeof(buf));
	settle(udp, fd, 0, 1); /* of no session yet */
	storm_driver_udp.pulse->steer(net, SESSION);
	SEND((ssize_t) sizeof(buf));
	settle(udp, fd, 1, 0);
	SEND((ssize_t) sizeof(buf) - 1); /* of another length, type, session */
	buf[1]--;
	SEND((ssize_t) sizeof(buf));
	buf[1]++;
	buf[15] ^= 1;
	SEND((ssize_t) sizeof(buf));
	settle(udp, fd, 0, 3);
	buf[15] ^= 1;
	storm_driver_udp.pulse->steer(net, 0);
	SEND((ssize_t) sizeof(buf));
	settle(udp, fd, 0, 1);
#undef SEND
	close(by);
	storm_pulse_tx_close(&tx);
	storm_udp_destroy(udp);
}
END_TEST

static Suite *pulse_suite(bool network)
{
	Suite *s = suite_create("pulse");
	TCase *t = tcase_create("bytes");

	tcase_add_test(t, test_bytes);
	tcase_add_loop_test(t, test_malformed, 0, 5);
	tcase_add_test(t, test_old);
	suite_add_tcase(s, t);
	t = tcase_create("pulser");
	tcase_add_test(t, test_signs);
	tcase_add_test(t, test_owner_asks);
	tcase_add_test(t, test_child_is_quiet);
	tcase_add_test(t, test_own_silence);
	tcase_add_test(t, test_child_hangs);
	suite_add_tcase(s, t);
	if (!network)
		return s;
	t = tcase_create("socket");
	tcase_add_loop_test(t, test_socket, 0, 3);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	bool network = enter_namespace();

	if (!network)
		printf("SKIP: no network namespace: which datagrams the kernel passes is not tested\n");
	return unit_main(pulse_suite(network));
}
