/*
 * test_each_halt.c - storm each: when it stops, and its exit status.  The numbers are what
 * GNU parallel did with the same rule and the same tasks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/storm_each/each_halt.h"
#include "unit.h"

/* Eight tasks, of which the second, fourth and sixth fail. */
static const int statuses[] = { 0, 3, 0, 4, 0, 5, 0, 0 };

static const struct halt_case {
	const char *rule;
	int ended; /* with which task it stops; 0: with none */
	enum each_verdict verdict;
	int status;
} cases[] = {
	{ "never", 0, EACH_GO_ON, 3 },
	{ "0", 0, EACH_GO_ON, 3 },
	{ "1", 2, EACH_SOON, 3 },
	{ "2", 2, EACH_NOW, 3 },
	{ "-1", 1, EACH_SOON, 0 },
	{ "-2", 1, EACH_NOW, 0 },
	{ "now,fail=1", 2, EACH_NOW, 3 },
	{ "soon,fail=1", 2, EACH_SOON, 3 },
	{ "soon,fail=2", 4, EACH_SOON, 2 },
	{ "now,success=1", 1, EACH_NOW, 0 },
	{ "now,success=5", 8, EACH_NOW, 0 },
	{ "now,success=99", 0, EACH_GO_ON, 3 },
	{ "now,fail=99", 0, EACH_GO_ON, 3 },
	{ "soon,done=3", 3, EACH_SOON, 1 },
	{ "now,done=1", 1, EACH_NOW, 0 },
	{ "soon,fail=10%", 2, EACH_SOON, 13 },
	{ "10%", 2, EACH_SOON, 13 },
	{ "now,fail=37%", 6, EACH_NOW, 38 },
	{ "now,fail=38%", 0, EACH_GO_ON, 38 },
	{ "now,success=50%", 7, EACH_NOW, 0 },
	{ "soon,success=100%", 0, EACH_GO_ON, 38 },
	{ "now,done=50%", 4, EACH_NOW, 25 },
};

START_TEST(test_rules)
{
	const struct halt_case *want = &cases[_i];
	struct each_halt_rule rule;
	struct each_halt h;
	int ended = 0;

	must(each_halt_parse(want->rule, &rule));
	each_halt_init(&h, &rule, 8);
	for (int k = 0; k < 8 && !ended; k++)
		if (each_halt_ended(&h, statuses[k], 0) != EACH_GO_ON)
			ended = k + 1;
	ck_assert_msg(ended == want->ended && h.verdict == want->verdict &&
			      each_halt_exit(&h) == want->status,
		      "%s: stopped with task %d, verdict %d, status %d",
		      want->rule, ended, h.verdict, each_halt_exit(&h));
}
END_TEST

START_TEST(test_refused)
{
	static const char *const none[] = {
		"",
		"x",
		"3",
		"-3",
		"now",
		"now,",
		"now,fail",
		"now,fail=",
		"now,fail=0",
		"soon,fail=0%",
		"now,fail=-1",
		"now,fail=1.5%",
		"now,fail=1,5",
		"soon,done=101%",
		"never,fail=1",
		"now,lost=1",
		"now,fail=%",
		"now,fail=99999999999",
		" 1",
		"0%",
	};

	for (size_t k = 0; k < sizeof(none) / sizeof(*none); k++) {
		struct each_halt_rule rule;

		ck_assert_msg(!each_halt_parse(none[k], &rule), "\"%s\"",
			      none[k]);
	}
}
END_TEST

static int status_of(const char *text, int failed, int status, int signal)
{
	struct each_halt_rule rule;
	struct each_halt h;

	must(each_halt_parse(text, &rule));
	each_halt_init(&h, &rule, 0);
	for (int k = 0; k < failed; k++)
		each_halt_ended(&h, status, signal);
	return each_halt_exit(&h);
}

START_TEST(test_status)
{
	ck_assert_int_eq(status_of("never", 0, 1, 0), 0);
	ck_assert_int_eq(status_of("never", 100, 1, 0), 100);
	ck_assert_int_eq(status_of("never", 101, 1, 0), 101);
	ck_assert_int_eq(status_of("never", 5000, 1, 0), 101);
	/* a signal is a failure, and has its number with fail=1 */
	ck_assert_int_eq(status_of("never", 2, 0, 9), 2);
	ck_assert_int_eq(status_of("now,fail=1", 1, 0, 9), 137);
	/* a task that we killed has -1 */
	ck_assert_int_eq(status_of("now,fail=1", 1, -1, 0), 255);
	/* without a total there is no share */
	ck_assert_int_eq(status_of("now,fail=10%", 4, 1, 0), 4);
}
END_TEST

/* What was said stays: tasks that end afterwards change the count alone. */
START_TEST(test_stays)
{
	struct each_halt_rule rule;
	struct each_halt h;

	must(each_halt_parse("soon,fail=1", &rule));
	each_halt_init(&h, &rule, 0);
	must(each_halt_ended(&h, 0, 0) == EACH_GO_ON);
	must(each_halt_ended(&h, 1, 0) == EACH_SOON);
	must(each_halt_ended(&h, 0, 0) == EACH_SOON);
	ck_assert_int_eq(each_halt_exit(&h), 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("each_halt");
	TCase *tc = tcase_create("each_halt");

	tcase_add_loop_test(tc, test_rules, 0, sizeof(cases) / sizeof(*cases));
	tcase_add_test(tc, test_refused);
	tcase_add_test(tc, test_status);
	tcase_add_test(tc, test_stays);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
