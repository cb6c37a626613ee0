/*
 * test_carrier.c - channels in one stream: a door and a head, joined by memory.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/minmax.h"
#include "src/storm_launcher/carrier.h"
#include "unit.h"

enum { DOOR, HEAD };

static const uint8_t key[STORM_KEY_LEN], one[SEALED_RANDOM], two[SEALED_RANDOM];
static struct carrier *end[2];

static struct sealed *sealed_of(int who)
{
	const struct sealed_form f = { SEALED_DOOR, key,	 one,
				       two,	    who == DOOR, 7 };
	struct sealed *s = sealed_create(&f);

	must(s);
	return s;
}

static void setup(void)
{
	for (int k = DOOR; k <= HEAD; k++) {
		end[k] = carrier_create(sealed_of(k), k == DOOR);
		must(end[k]);
	}
}

static void teardown(void)
{
	carrier_destroy(end[DOOR]);
	carrier_destroy(end[HEAD]);
}

/* Carry up to most bytes from this end to the other one, in pieces.  False: there were
 * none. */
static bool carry(int from, size_t most, size_t piece)
{
	size_t len, room, n = 0, k;
	const uint8_t *buf;
	uint8_t *to;

	while (n < most && (buf = carrier_out(end[from], &len), len)) {
		to = carrier_room(end[!from], &room);
		k = storm_min(storm_min(len, piece), storm_min(room, most - n));
		memcpy(to, buf, k);
		carrier_came(end[!from], k);
		carrier_sent(end[from], k);
		n += k;
	}
	return n;
}

static void settle(void)
{
	while (carry(DOOR, SIZE_MAX, SIZE_MAX) |
	       carry(HEAD, SIZE_MAX, SIZE_MAX))
		must(!carrier_fault(end[DOOR]) && !carrier_fault(end[HEAD]));
}

/* All that this end has of a channel. */
static size_t take(int who, uint32_t channel)
{
	size_t len;

	carrier_data(end[who], channel, &len);
	carrier_used(end[who], channel, len);
	return len;
}

static void has_news(int who, uint32_t channel)
{
	uint32_t got;

	must(carrier_next(end[who], &got));
	ck_assert_uint_eq(got, channel);
	must(!carrier_next(end[who], &got));
}

static void faulty(int who, const char *why)
{
	must(carrier_fault(end[who]));
	ck_assert_str_eq(carrier_fault(end[who]), why);
}

/* Nothing of a client's goes to one that has not shown the key. */
START_TEST(test_proof)
{
	size_t len;

	must(!carrier_is_proven(end[DOOR]) && !carrier_open(end[DOOR]));
	carrier_out(end[DOOR], &len);
	ck_assert_uint_eq(carrier_put(end[DOOR], 0, "early", 5), 0);
	carry(HEAD, SIZE_MAX, 1);
	must(carrier_is_proven(end[DOOR]) && !carrier_is_proven(end[HEAD]));
	must(!carrier_may_put(end[HEAD], 0));
	carry(DOOR, SIZE_MAX, 1);
	must(carrier_is_proven(end[HEAD]));
	ck_assert_uint_eq(carrier_put(end[HEAD], 0, "step", 4), 4);
	settle();
	has_news(DOOR, 0);
	ck_assert_uint_eq(take(DOOR, 0), 4);
}
END_TEST

START_TEST(test_another_key)
{
	size_t room;

	memset(carrier_room(end[DOOR], &room), 1, 100);
	carrier_came(end[DOOR], 100);
	faulty(DOOR, "the other end has another key");
	must(!carrier_is_proven(end[DOOR]) && !carrier_open(end[DOOR]));
}
END_TEST

START_TEST(test_client)
{
	uint32_t a;
	size_t len;

	settle();
	a = carrier_open(end[DOOR]);
	ck_assert_uint_eq(a, 1);
	must(carrier_put(end[DOOR], a, "ask", 3) == 3);
	settle();
	has_news(HEAD, a);
	must(!memcmp(carrier_data(end[HEAD], a, &len), "ask", 3) && len == 3);
	carrier_used(end[HEAD], a, 2);
	must(*carrier_data(end[HEAD], a, &len) == 'k' && len == 1);
	carrier_used(end[HEAD], a, 1);
	/* its last words come before its end */
	must(carrier_put(end[HEAD], a, "end", 3) == 3);
	carrier_close(end[HEAD], a);
	must(!carrier_may_put(end[HEAD], a));
	must(carrier_put(end[DOOR], a, "late", 4) == 4);
	settle();
	has_news(DOOR, a);
	must(!carrier_ended(end[DOOR], a));
	ck_assert_uint_eq(take(DOOR, a), 3);
	must(carrier_ended(end[DOOR], a) && !carrier_may_put(end[DOOR], a));
	carrier_close(end[DOOR], a);
	settle();
	must(!carrier_next(end[HEAD], &a));
	ck_assert_uint_eq(carrier_open(end[DOOR]), 2);
}
END_TEST

START_TEST(test_window)
{
	static uint8_t much[3 * CARRIER_WINDOW];
	uint32_t stuck, other;

	settle();
	stuck = carrier_open(end[DOOR]);
	must(carrier_put(end[DOOR], stuck, much, 1) == 1);
	settle();
	take(HEAD, stuck);
	ck_assert_uint_eq(carrier_put(end[HEAD], stuck, much, sizeof(much)),
			  CARRIER_WINDOW);
	settle();
	ck_assert_uint_eq(carrier_put(end[HEAD], stuck, much, sizeof(much)), 0);
	/* it stops nobody else */
	other = carrier_open(end[DOOR]);
	must(carrier_put(end[DOOR], other, much, 10) == 10);
	settle();
	must(carrier_put(end[HEAD], other, much, 10) == 10);
	settle();
	ck_assert_uint_eq(take(DOOR, other), 10);
	/* and goes on when it reads */
	ck_assert_uint_eq(take(DOOR, stuck), CARRIER_WINDOW);
	settle();
	ck_assert_uint_eq(carrier_put(end[HEAD], stuck, much, sizeof(much)),
			  CARRIER_WINDOW);
}
END_TEST

START_TEST(test_many)
{
	uint32_t n;

	settle();
	for (uint32_t k = 1; k <= CARRIER_CHANNELS; k++) {
		ck_assert_uint_eq(carrier_open(end[DOOR]), k);
		must(carrier_put(end[DOOR], k, &k, sizeof(k)) == sizeof(k));
	}
	ck_assert_uint_eq(carrier_open(end[DOOR]), 0);
	settle();
	for (uint32_t k = 1; k <= CARRIER_CHANNELS; k++) {
		must(carrier_next(end[HEAD], &n));
		ck_assert_uint_eq(take(HEAD, n), sizeof(k));
	}
	must(!carrier_next(end[HEAD], &n));
	carrier_close(end[DOOR], 7);
	settle();
	must(carrier_next(end[HEAD], &n) && n == 7);
	carrier_close(end[HEAD], 7);
	settle();
	ck_assert_uint_eq(carrier_open(end[DOOR]), CARRIER_CHANNELS + 1);
}
END_TEST

/* Clients that come, write, read and go as they like, over a stream that is cut
 * anywhere: all that was put before a close has come, and in order. */
#define CLIENTS 12

struct client {
	uint32_t channel;
	uint32_t put[2], got[2]; /* by the door, by the head */
	bool closed[2], met;	 /* by the head */
};

static uint8_t byte_of(uint32_t channel, int who, uint32_t at)
{
	return (uint8_t) (at * 7 + channel + (uint32_t) who * 100);
}

static void client_puts(struct rnd *r, struct client *c, int who)
{
	uint8_t buf[3000];
	uint32_t n = below(r, sizeof(buf));

	for (uint32_t k = 0; k < n; k++)
		buf[k] = byte_of(c->channel, who, c->put[who] + k);
	c->put[who] += (uint32_t) carrier_put(end[who], c->channel, buf, n);
}

static void client_gets(struct client *c, int who)
{
	size_t len;
	const uint8_t *p = carrier_data(end[who], c->channel, &len);

	for (size_t k = 0; k < len; k++)
		must(p[k] == byte_of(c->channel, !who, c->got[who]++));
	carrier_used(end[who], c->channel, len);
}

static void client_closes(struct client *c, int who)
{
	carrier_close(end[who], c->channel);
	c->closed[who] = true;
	if (c->closed[!who] || !c->put[DOOR])
		c->channel = 0;
}

static void client_acts(struct rnd *r, struct client *c, int who)
{
	uint32_t what = below(r, 60);

	if (c->closed[who])
		return;
	if (what < 25)
		client_puts(r, c, who);
	else if (what < 55)
		client_gets(c, who);
	else if (what < 56)
		client_closes(c, who);
	if (!c->closed[who] && c->channel &&
	    carrier_ended(end[who], c->channel)) {
		/* all came, if this end had not closed before */
		must(c->got[who] == c->put[!who]);
		client_closes(c, who);
	}
}

START_TEST(test_random)
{
	struct rnd r = rnd_of(_i);
	struct client client[CLIENTS] = { 0 };

	settle();
	for (int n = 0; n < 4000; n++) {
		struct client *c = &client[below(&r, CLIENTS)];

		if (!c->channel) {
			*c = (struct client) { .channel = carrier_open(
						       end[DOOR]) };
			must(c->channel);
			client_puts(&r, c, DOOR);
		}
		client_acts(&r, c, DOOR);
		c->met |= c->channel && !carrier_ended(end[HEAD], c->channel);
		if (c->channel && c->met)
			client_acts(&r, c, HEAD);
		carry(DOOR, below(&r, 20000), 1 + below(&r, 9000));
		carry(HEAD, below(&r, 20000), 1 + below(&r, 9000));
		must(!carrier_fault(end[DOOR]) && !carrier_fault(end[HEAD]));
	}
}
END_TEST

/* Records that a true member of the domain could send, and must not. */
START_TEST(test_rules)
{
	static const struct {
		uint8_t record[9];
		size_t len;
		const char *why;
	} bad[] = {
		{ { 0, 0, 0, 0, 1 }, 5, "a record of no kind" },
		{ { 0, 0, 0, 0, 2 }, 5, "data beyond the window" },
		{ { 0, 0, 0, 0, 4 }, 5, "a record of no kind" },
		{ { 0, 0, 0, 0, 9 }, 5, "a record of no kind" },
		{ { 0, 0, 0 }, 3, "a record of no kind" },
		{ { 0, 0, 0, 5, 3, 0, 0, 0, 1 },
		  9,
		  "a channel that is not open" },
		{ { 0, 0, 0, 5, 4 }, 5, "a channel that is not open" },
		{ { 0, 0, 0, 0, 3, 0, 0, 0, 1 }, 9, "a window that cannot be" },
		{ { 0, 0, 0, 0, 3, 0, 0 }, 7, "a window that cannot be" },
	};
	struct sealed *s = sealed_of(DOOR);
	uint8_t record[9 + SEALED_EXTRA];
	size_t room;

	must(sealed_put(s, "\0\0\0\0\1", 5, record));
	memcpy(carrier_room(end[HEAD], &room), record, 5 + SEALED_EXTRA);
	carrier_came(end[HEAD], 5 + SEALED_EXTRA);
	must(carrier_is_proven(end[HEAD]));
	must(sealed_put(s, bad[_i].record, bad[_i].len, record));
	memcpy(carrier_room(end[HEAD], &room), record,
	       bad[_i].len + SEALED_EXTRA);
	carrier_came(end[HEAD], bad[_i].len + SEALED_EXTRA);
	faulty(HEAD, bad[_i].why);
	sealed_destroy(s);
}
END_TEST

/* Without HELLO no record counts. */
START_TEST(test_first)
{
	struct sealed *s = sealed_of(DOOR);
	uint8_t record[6 + SEALED_EXTRA];
	size_t room;

	must(sealed_put(s, "\0\0\0\1\2x", 6, record));
	memcpy(carrier_room(end[HEAD], &room), record, sizeof(record));
	carrier_came(end[HEAD], sizeof(record));
	faulty(HEAD, "the first record is another one");
	sealed_destroy(s);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("carrier");
	TCase *t = tcase_create("channels");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_proof);
	tcase_add_test(t, test_another_key);
	tcase_add_test(t, test_client);
	tcase_add_test(t, test_window);
	tcase_add_test(t, test_many);
	tcase_add_loop_test(t, test_random, 0, unit_runs(10));
	tcase_add_loop_test(t, test_rules, 0, 9);
	tcase_add_test(t, test_first);
	suite_add_tcase(s, t);
	return unit_main(s);
}
