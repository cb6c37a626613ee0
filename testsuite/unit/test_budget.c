/*
 * test_budget.c - what users may take of a node.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/budget.h"
#include "unit.h"

#define ROOT 0
#define ANN 1000
#define BOB 1001
#define SOME 4096

static const struct storm_limits limits = {
	.bytes = 8000, .user_bytes = 5000, .sessions = 16, .user_sessions = 10
};

START_TEST(test_sessions)
{
	struct storm_account a[17];
	struct storm_budget b;
	int n = 0;

	storm_budget_init(&b, &limits);
	while (n < 17 && storm_account_open(&a[n], &b, ANN, false))
		n++;
	ck_assert_int_eq(n, 10);
	/* two users together: all but the reserve */
	while (n < 17 && storm_account_open(&a[n], &b, BOB, false))
		n++;
	ck_assert_int_eq(n, 14);
	must(!a[14].budget); /* and nothing to close */
	storm_account_close(&a[14]);
	while (n < 17 && storm_account_open(&a[n], &b, ROOT, true))
		n++;
	ck_assert_int_eq(n, 16);
	/* what is closed can be opened again */
	storm_account_close(&a[0]);
	must(storm_account_open(&a[0], &b, BOB, false));
	must(!storm_account_open(&a[16], &b, BOB, false));
	for (int i = 0; i < 16; i++)
		storm_account_close(&a[i]);
	must(!b.sessions && !b.user_sessions && !b.users);
	storm_budget_free(&b);
}
END_TEST

START_TEST(test_bytes)
{
	struct storm_account ann, too, bob, root;
	struct storm_budget b;

	storm_budget_init(&b, &limits);
	must(storm_account_open(&ann, &b, ANN, false));
	must(storm_account_open(&too, &b, ANN, false));
	must(storm_account_open(&bob, &b, BOB, false));
	must(storm_account_open(&root, &b, ROOT, true));
	ck_assert_uint_eq(storm_account_left(&ann), 5000);
	must(storm_account_set(&ann, 3000));
	/* a user's sessions share */
	ck_assert_uint_eq(storm_account_left(&too), 2000);
	must(storm_account_set(&too, 2000));
	must(!storm_account_set(&too, 2001));
	must(storm_account_set(&too, 2000));
	/* all users share */
	ck_assert_uint_eq(storm_account_left(&bob), 2000);
	must(storm_account_set(&bob, 2000));
	ck_assert_uint_eq(storm_account_left(&bob), 0);
	/* and the reserve is root's */
	ck_assert_uint_eq(storm_account_left(&root), 1000);
	must(storm_account_set(&root, 1000));
	must(!storm_account_set(&root, 1001));
	/* less is always fine */
	must(storm_account_set(&root, 10));
	must(storm_account_set(&bob, 1999));
	storm_account_close(&ann);
	storm_account_close(&too);
	storm_account_close(&bob);
	ck_assert_uint_eq(b.bytes, 10);
	ck_assert_uint_eq(b.user_bytes, 0);
	storm_account_close(&root);
	storm_budget_free(&b);
}
END_TEST

/* Any order of opening, taking and closing: the sums are those of the parts. */
START_TEST(test_any_order)
{
	struct rnd r = rnd_of(_i);
	struct storm_account a[SOME / 64] = { 0 };
	struct storm_budget b;

	storm_budget_init(&b, &limits);
	for (int step = 0; step < SOME; step++) {
		struct storm_account *x = &a[below(&r, SOME / 64)];
		uint32_t uid = below(&r, 5);
		uint64_t bytes = 0, users = 0, sessions = 0;

		if (!x->budget)
			storm_account_open(x, &b, uid, !uid);
		else if (below(&r, 4))
			storm_account_set(x, below(&r, 1000));
		else
			storm_account_close(x);
		for (int i = 0; i < SOME / 64; i++) {
			bytes += a[i].bytes;
			users += a[i].trusted ? 0 : a[i].bytes;
			sessions += a[i].budget != NULL;
		}
		must(b.bytes == bytes && b.user_bytes == users &&
		     b.sessions == sessions && sessions <= 16);
	}
	for (int i = 0; i < SOME / 64; i++)
		storm_account_close(&a[i]);
	must(!b.bytes && !b.users);
	storm_budget_free(&b);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("budget");
	TCase *t = tcase_create("budget");

	tcase_add_test(t, test_sessions);
	tcase_add_test(t, test_bytes);
	tcase_add_loop_test(t, test_any_order, 0, unit_runs(20));
	suite_add_tcase(s, t);
	return unit_main(s);
}
