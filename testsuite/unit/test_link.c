/*
 * test_link.c - which datagrams a link accepts: each sequence once, one incarnation
 * of a node, and only as many nodes as the domain has.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/protocol/link.h"
#include "unit.h"

#define SESSION 0x0123456789abcdefULL
#define NODES 1000

static const uint8_t key[STORM_KEY_LEN] = { 1 };

static struct datagram {
	uint8_t buf[STORM_DATAGRAM_MAX];
	size_t len;
} last;

static int keep(struct storm_transport *t, enum storm_class c,
		const struct storm_addr *to, const void *buf, size_t len,
		size_t seg)
{
	(void) t;
	(void) c;
	(void) to;
	must(len == seg && len <= sizeof(last.buf));
	memcpy(last.buf, buf, len);
	last.len = len;
	return 0;
}

static const struct storm_transport_ops ops = { .name = "kept", .send = keep };
static struct storm_transport transport = { &ops };
static struct storm_link_stats stats;
static struct storm_link to; /* the owner's, which receives from all nodes */

static struct storm_link life(uint32_t node, uint8_t which)
{
	const uint8_t inc[STORM_INCARNATION_LEN] = { which };
	struct storm_link l;

	must(!storm_link_init(&l, &transport, &stats, key, SESSION, node, inc));
	return l;
}

static void setup(void)
{
	memset(&stats, 0, sizeof(stats));
	to = life(STORM_NO_NODE, 0);
}

static void teardown(void)
{
	storm_link_free(&to);
}

static struct datagram say(struct storm_link *from)
{
	static const struct storm_addr nowhere;

	must(!storm_link_send(from, STORM_MSG_NACK, 0, 1, "gap", 3, &nowhere,
			      1));
	return last;
}

static int hear(const struct datagram *d)
{
	uint8_t *copy = exact(d->buf, d->len);
	struct storm_rx rx = { .buf = copy, .len = d->len };
	struct storm_header h;
	struct storm_plain p;
	int err;

	must(!storm_header_unpack(&h, copy, d->len));
	err = storm_link_open(&to, &h, true, &rx, &p);
	must(err || (p.len == 3 && !memcmp(p.body, "gap", 3)));
	free(copy);
	return err;
}

/* The window is a peer's own, wherever the table of peers has moved to, and
 * however many there are: every node of a domain may ask the owner for what it
 * missed. */
START_TEST(test_many)
{
	struct rnd r = rnd_of(_i);
	struct datagram *d = calloc(NODES, sizeof(*d));
	uint32_t *order = shuffled(&r, NODES);

	must(d);
	for (uint32_t i = 0; i < NODES; i++) {
		struct storm_link from = life(order[i], 1);

		d[i] = say(&from);
		must(hear(&d[i]) == STORM_OK);
		must(hear(&d[below(&r, i + 1)]) == STORM_EACCES);
		storm_link_free(&from);
	}
	for (uint32_t i = 0; i < NODES; i++)
		must(hear(&d[i]) == STORM_EACCES);
	ck_assert_uint_eq(stats.replayed, 2 * NODES);
	ck_assert_uint_eq(stats.rx_datagrams, NODES);
	free(order);
	free(d);
}
END_TEST

/* The first sender is the node in this session; the others are not. */
START_TEST(test_another_life)
{
	struct storm_link one = life(7, 1), two = life(7, 2);
	struct datagram d = say(&one);

	must(hear(&d) == STORM_OK);
	d = say(&two);
	must(hear(&d) == STORM_EACCES);
	ck_assert_uint_eq(stats.fenced, 1);
	d = say(&one);
	must(hear(&d) == STORM_OK);
	storm_link_free(&one);
	storm_link_free(&two);
}
END_TEST

/* A forged datagram makes no peer: the node is accepted when it sends. */
START_TEST(test_forged)
{
	struct storm_link node = life(7, 1);
	struct datagram d = say(&node), forged = d;

	forged.buf[forged.len - 1] ^= 1;
	must(hear(&forged) == STORM_EAUTH);
	ck_assert_uint_eq(to.npeers, 0);
	must(hear(&d) == STORM_OK);
	must(hear(&d) == STORM_EACCES);
	/* nor does it spoil the window of one */
	d = say(&node);
	forged = d;
	forged.buf[forged.len - 1] ^= 1;
	must(hear(&forged) == STORM_EAUTH);
	must(hear(&d) == STORM_OK);
	ck_assert_uint_eq(stats.bad_seal, 2);
	storm_link_free(&node);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("link");
	TCase *t = tcase_create("link");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test_many, 0, unit_runs(3));
	tcase_add_test(t, test_another_life);
	tcase_add_test(t, test_forged);
	suite_add_tcase(s, t);
	return unit_main(s);
}
