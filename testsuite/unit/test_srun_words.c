/*
 * test_srun_words.c - what srun has said, as a user is told it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/storm_launcher/srun_words.h"
#include "unit.h"

#define CANNOT                                                        \
	"srun: error: Task launch for StepId=1.0 failed on node n4: " \
	"Communication connection failure"
#define ABORTS "srun: error: Application launch failed: no connection"

static const char said[] =
	"srun: cluster configuration lacks support for cpu binding\n" CANNOT
	"\n" ABORTS "\nsrun: Job step aborted: Waiting up to 7 seconds\n"
	"slurmstepd-n1: error: *** STEP 1.0 ON n1 CANCELLED ***\n"
	"srun: error: n3: task 2: Killed\nsrun: error: n[1-2]: tasks 0-1: Killed\n"
	"12:00:00 storm_launcher: keeper: srun has ended: exit code 233\n";

/* The first errors name what has failed; those of tasks name what srun has ended. */
START_TEST(test_errors)
{
	char out[400];

	ck_assert(srun_errors(said, out, sizeof(out)));
	ck_assert_str_eq(out, CANNOT "|" ABORTS);
	ck_assert(srun_errors(said, out, sizeof(CANNOT "|" ABORTS)));
	ck_assert_str_eq(out, CANNOT "|" ABORTS);
	/* whole ones; the first in any case */
	ck_assert(srun_errors(said, out, sizeof(CANNOT "|" ABORTS) - 1));
	ck_assert_str_eq(out, CANNOT);
	ck_assert(srun_errors(said, out, 21));
	ck_assert_str_eq(out, "srun: error: Task la");
	ck_assert(srun_errors(CANNOT, out, sizeof(out))); /* no end of line */
	ck_assert_str_eq(out, CANNOT);
}
END_TEST

START_TEST(test_no_errors)
{
	static const char *const none[] = {
		"",
		"\n\n",
		"srun: error: ",
		"srun: error: n1: task 0: Killed\n",
		"srun: Job step aborted\n",
		"n1: srun: error: of a task's own\n",
	};
	char out[40] = "x";

	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		ck_assert(!srun_errors(none[i], out, sizeof(out)));
		ck_assert_str_eq(out, "");
	}
}
END_TEST

START_TEST(test_lost)
{
	ck_assert(srun_has_lost(CANNOT));
	ck_assert(srun_has_lost(ABORTS));
	ck_assert(srun_has_lost("srun: error: Node failure on n3"));
	ck_assert(!srun_has_lost("srun: error: spank: site: no such licence"));
	ck_assert(!srun_has_lost(""));
}
END_TEST

START_TEST(test_last_words)
{
	char out[12];

	srun_last_words("one\ntwo\nthree\n", out, sizeof(out));
	ck_assert_str_eq(out, "two|three");
	srun_last_words("two\nthree\n\n", out, sizeof(out));
	ck_assert_str_eq(out, "two|three");
	srun_last_words("a\nbcdefghij\n", out, sizeof(out));
	ck_assert_str_eq(out, "a|bcdefghij");
	srun_last_words("0123456789abcdef", out, sizeof(out));
	ck_assert_str_eq(out, "56789abcdef");
	srun_last_words("", out, sizeof(out));
	ck_assert_str_eq(out, "");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("srun words");
	TCase *t = tcase_create("words");

	tcase_add_test(t, test_errors);
	tcase_add_test(t, test_no_errors);
	tcase_add_test(t, test_lost);
	tcase_add_test(t, test_last_words);
	suite_add_tcase(s, t);
	return unit_main(s);
}
