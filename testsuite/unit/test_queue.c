/*
 * test_queue.c - the remote queue (Algorithms 1 to 3) between a domain's owner
 * and its nodes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <pthread.h>
#include <time.h>

#include "nodes.h"

#define SLOT 40

static struct storm_queue_conf conf = {
	.segment = 3,
	.offset = 16,
	.slots = 4,
	.slot_size = SLOT,
	.event = 5,
	.dequeued = STORM_VAR_USER,
};

static void put(storm_queue_t *q, uint32_t n, uint64_t deadline, int expected)
{
	char text[SLOT] = "";

	snprintf(text, sizeof(text), "message %u", n);
	/* of different lengths: what was there before is longer or shorter */
	ck_assert_int_eq(storm_enqueue(q, text, strlen(text) + n % 20, deadline,
				       NULL),
			 expected);
}

static void get(uint32_t i, uint32_t n)
{
	char text[SLOT] = "", wanted[SLOT];
	size_t len = 0;

	ck_assert_int_eq(storm_dequeue(member[i], &conf, memory[i], true,
				       PATIENCE, text, &len),
			 STORM_OK);
	snprintf(wanted, sizeof(wanted), "message %u", n);
	must(len == strlen(wanted) + n % 20);
	ck_assert_str_eq(text, wanted);
}

static int try_get(uint32_t i)
{
	char text[SLOT];
	size_t len;

	return storm_dequeue(member[i], &conf, memory[i], false, 0, text, &len);
}

/* It accepts one per slot, and continues when all nodes have received one. */
START_TEST(test_full)
{
	storm_queue_t *q;

	nodes_open();
	q = storm_queue_create(domain, NULL, &conf);
	must(q);
	must(storm_queue_bytes(&conf) == 4 * (8 + SLOT));
	for (uint32_t n = 0; n < 4; n++)
		put(q, n, PATIENCE, STORM_OK);
	put(q, 4, storm_now() + 20 * STORM_MS, STORM_ETIME);
	for (uint32_t i = 0; i < NODES - 1; i++)
		get(i, 0);
	put(q, 4, storm_now() + 20 * STORM_MS, STORM_ETIME);
	get(NODES - 1, 0);
	put(q, 4, PATIENCE, STORM_OK);
	for (uint32_t i = 0; i < NODES; i++)
		for (uint32_t n = 1; n <= 4; n++)
			get(i, n);
	ck_assert_int_eq(try_get(0), STORM_ETIME);
	ck_assert_int_eq(storm_enqueue(q, "", SLOT + 1, 0, NULL),
			 STORM_ETOOBIG);
	storm_queue_destroy(q);
	storm_queue_destroy(NULL);
}
END_TEST

#define MANY 100

static struct storm_idset P;

/* A slow reader: the rest may be ahead by a queue at most. */
static void *reader(void *arg)
{
	uint32_t i = (uint32_t) (uintptr_t) arg;

	for (uint32_t n = 0; n < MANY; n++) {
		struct timespec ts = { .tv_nsec = 300000 };

		if (i == 2 && n % 16 == 0)
			nanosleep(&ts, NULL);
		get(i, n);
	}
	return NULL;
}

/* All items arrive once and in order, on the nodes of P and on no others. */
START_TEST(test_stream)
{
	storm_queue_t *q;
	pthread_t t[NODES];

	conf.slots = (uint32_t[]) { 1, 2, 4, 31 }[_i];
	P = some(1, 3);
	nodes_open();
	q = storm_queue_create(domain, &P, &conf);
	must(q);
	for (uint32_t i = 1; i <= 3; i++)
		must(!pthread_create(&t[i], NULL, reader,
				     (void *) (uintptr_t) i));
	for (uint32_t n = 0; n < MANY; n++)
		put(q, n, PATIENCE, STORM_OK);
	for (uint32_t i = 1; i <= 3; i++)
		must(!pthread_join(t[i], NULL));
	ck_assert_int_eq(try_get(0), STORM_ETIME);
	ck_assert_int_eq(try_get(4), STORM_ETIME);
	storm_queue_destroy(q);
	storm_idset_clear(&P);
	conf.slots = 4;
}
END_TEST

/* One that was aborted has taken no slot. */
START_TEST(test_aborted)
{
	storm_event_t *e;
	storm_queue_t *q;

	nodes_open();
	q = storm_queue_create(domain, NULL, &conf);
	must(q);
	put(q, 0, PATIENCE, STORM_OK);
	put(q, 1, PATIENCE, STORM_OK); /* that is: 0 has ended */
	must(!storm_enqueue(q, "two", 3, PATIENCE, &e));
	must(storm_test_event(e, true, PATIENCE, NULL));
	must(!storm_node_segment(host[2], 3, NULL, 0));
	must(!storm_enqueue(q, "lost", 4, PATIENCE, &e));
	must(storm_test_event(e, true, PATIENCE, NULL));
	must(!storm_node_segment(host[2], 3, memory[2], SIZE));
	must(!storm_enqueue(q, "three", 5, PATIENCE, &e));
	must(storm_test_event(e, true, PATIENCE, NULL));
	put(q, 4, storm_now() + 20 * STORM_MS, STORM_ETIME);
	for (uint32_t i = 0; i < NODES; i++) {
		char text[SLOT];
		size_t len;

		get(i, 0);
		get(i, 1);
		must(!storm_dequeue(member[i], &conf, memory[i], true, PATIENCE,
				    text, &len) &&
		     len == 3);
		must(!storm_dequeue(member[i], &conf, memory[i], true, PATIENCE,
				    text, &len) &&
		     len == 5 && !memcmp(text, "three", 5));
		ck_assert_int_eq(try_get(i), STORM_ETIME);
	}
	put(q, 4, PATIENCE, STORM_OK);
	get(0, 4);
	storm_queue_destroy(q);
}
END_TEST

/* The domain has ended: items that arrived are returned, then ECLOSED. */
START_TEST(test_over)
{
	storm_queue_t *q;
	char text[SLOT];
	storm_event_t *e;
	size_t len;

	nodes_open();
	q = storm_queue_create(domain, NULL, &conf);
	must(q && !storm_enqueue(q, "x", 1, PATIENCE, &e));
	must(storm_test_event(e, true, PATIENCE, NULL));
	storm_queue_destroy(q);
	storm_domain_destroy(domain);
	domain = NULL;
	for (uint32_t i = 0; i < NODES; i++) {
		must(!storm_dequeue(member[i], &conf, memory[i], true, PATIENCE,
				    text, &len) &&
		     len == 1 && *text == 'x');
		ck_assert_int_eq(storm_dequeue(member[i], &conf, memory[i],
					       true, PATIENCE, text, &len),
				 STORM_ECLOSED);
	}
}
END_TEST

/* A process without permission has written there. */
START_TEST(test_overwritten)
{
	storm_queue_t *q;
	storm_event_t *e;

	nodes_open();
	q = storm_queue_create(domain, NULL, &conf);
	must(q && !storm_enqueue(q, "x", 1, PATIENCE, &e));
	must(storm_test_event(e, true, PATIENCE, NULL));
	memory[1][conf.offset] = 0xff;
	ck_assert_int_eq(try_get(1), STORM_EVERIFY);
	storm_queue_destroy(q);
}
END_TEST

START_TEST(test_bad)
{
	const struct storm_queue_conf good = conf;
	struct storm_queue_conf bad[6];

	nodes_open();
	for (int i = 0; i < 6; i++)
		bad[i] = good;
	bad[0].slots = 0;
	bad[1].event = 0;
	bad[2].event = STORM_EVENTS;
	bad[3].segment = STORM_SEGMENTS;
	bad[4].dequeued = STORM_VAR_HEARTBEAT;
	bad[5].dequeued = STORM_VARS;
	for (int i = 0; i < 6; i++) {
		conf = bad[i];
		ck_assert_ptr_null(storm_queue_create(domain, NULL, &conf));
		ck_assert_int_eq(try_get(0), STORM_EINVAL);
	}
	conf = good;
}
END_TEST

int main(void)
{
	Suite *s = suite_create("queue");
	TCase *t = tcase_create("queue");

	tcase_add_checked_fixture(t, nodes_setup, nodes_teardown);
	tcase_add_test(t, test_full);
	tcase_add_loop_test(t, test_stream, 0, 4);
	tcase_add_test(t, test_aborted);
	tcase_add_test(t, test_over);
	tcase_add_test(t, test_overwritten);
	tcase_add_test(t, test_bad);
	suite_add_tcase(s, t);
	return nodes_main(s);
}
