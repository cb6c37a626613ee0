/*
 * test_run_multi.c - storm run --multi-prog: its file, and what each rank executes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/storm_launcher/run_programs.h"
#include "src/storm_run/run_multi.h"
#include "unit.h"

static char *const no_more[] = { NULL };

/* What a rank executes, "a|b|c", or "" if it has no program. */
static const char *executes(const struct run_programs *p, uint32_t rank)
{
	static char out[1000];
	char **argv = run_programs_argv(p, rank);
	size_t n = 0;

	*out = '\0';
	for (char **at = argv; at && *at; at++)
		n += (size_t) snprintf(out + n, sizeof(out) - n, "%s%s",
				       at == argv ? "" : "|", *at);
	free(argv);
	return out;
}

/* What a rank executes by this file. */
static const char *by(const char *text, uint32_t rank)
{
	static const char *got;
	char why[RUN_MULTI_WHY];
	struct run_programs p;

	if (!run_multi_read(text, strlen(text), no_more, 0, &p, &why))
		ck_abort_msg("%s: %s", text, why);
	got = executes(&p, rank);
	run_programs_free(&p);
	return got;
}

static const char *fault_of(const char *text, size_t len, uint32_t tasks)
{
	static char why[RUN_MULTI_WHY];
	struct run_programs p;

	must(!run_multi_read(text, len, no_more, tasks, &p, &why));
	must(!p.count && !p.list && !p.text);
	return why;
}

static const char *fault(const char *text, uint32_t tasks)
{
	return fault_of(text, strlen(text), tasks);
}

/* srun(1)'s own example. */
START_TEST(test_ranks)
{
	static const char text[] = "#####\n# comment\n4-6   hostname\n"
				   "1,7 echo  task:%t\n"
				   "0,2-3\techo offset:%o";
	static const char *const want[] = {
		"echo|offset:0", "echo|task:1", "echo|offset:1",
		"echo|offset:2", "hostname",	"hostname",
		"hostname",	 "echo|task:7", "",
	};

	for (uint32_t k = 0; k < sizeof(want) / sizeof(*want); k++)
		ck_assert_str_eq(by(text, k), want[k]);
	/* places count in the order of the list; those of * are ranks */
	ck_assert_str_eq(by("3,0-1 a %o\n* b %o", 0), "a|1");
	ck_assert_str_eq(by("3,0-1 a %o\n* b %o", 3), "a|0");
	ck_assert_str_eq(by("3,0-1 a %o\n* b %o", 2), "b|2");
	ck_assert_str_eq(by("* b %t", 4294967295), "b|4294967295");
}
END_TEST

START_TEST(test_arguments)
{
	ck_assert_str_eq(by("0 a 'b  c'd'' '' e\\ f \\'g", 0),
			 "a|b  cd||e f|'g");
	ck_assert_str_eq(by("0 a \"b c\"", 0), "a|\"b|c\"");
	/* a line goes on behind a backslash */
	ck_assert_str_eq(by("0 a b\\\nc\n1 x", 0), "a|bc");
	ck_assert_str_eq(by("0 a b \\\n  c\n1 x", 0), "a|b|c");
	ck_assert_str_eq(by("0 a b \\\n  c\n1 x", 1), "x");
	ck_assert_str_eq(by("0 a 'b\\\nc'", 0), "a|bc");
	ck_assert_str_eq(by("0 \\\na", 0), "a");
	ck_assert_str_eq(by("# no \\\n0 x\n0 a", 0), "a");
	ck_assert_str_eq(by("0 a b\\", 0), "a|b");
	ck_assert_str_eq(by("0 a b\r\n\r\n1 c\r\n", 0), "a|b");
	/* within quotes, and behind a backslash, nothing is a placeholder */
	ck_assert_str_eq(by("* a %t%o%t '%t %d' \\%o", 12),
			 "a|121212|%t %d|%o");
	ck_assert_str_eq(by("  * %tprog", 3), "3prog");
}
END_TEST

/* Arguments of the command come behind those of the file, as they are. */
START_TEST(test_more)
{
	char *const more[] = { "%t", "", "a b", NULL };
	char why[RUN_MULTI_WHY];
	struct run_programs p;
	const char *text = "0 x\n* y %t";
	uint32_t missing;

	must(run_multi_read(text, strlen(text), more, 3, &p, &why));
	ck_assert_str_eq(executes(&p, 0), "x|%t||a b");
	ck_assert_str_eq(executes(&p, 2), "y|2|%t||a b");
	must(run_programs_tasks(&p) == 1);
	must(run_programs_cover(&p, 1000000, &missing));
	run_programs_free(&p);
}
END_TEST

START_TEST(test_faults)
{
	ck_assert_str_eq(fault("", 0), "it names no program");
	ck_assert_str_eq(fault("# x\n\n", 2), "it names no program");
	ck_assert_str_eq(fault_of("0 a\0b", 5, 0), "it is no text");
	ck_assert_str_eq(fault("0 a\n\n7", 0), "line 3: task 7 has no program");
	ck_assert_str_eq(fault("4-6  \n", 0),
			 "line 1: task 4-6 has no program");
	ck_assert_str_eq(fault("0 ''", 0), "line 1: the program has no name");
	ck_assert_str_eq(fault("0-2,5 a\n\n5 b", 0),
			 "line 3: task 5 has a program already, by line 1");
	ck_assert_str_eq(fault("3,1-3 a", 0),
			 "line 1: task 3 has a program already, by line 1");
	ck_assert_str_eq(fault("0-8 a", 8),
			 "line 1: task 8 is named, the run has 8 tasks");
	ck_assert_str_eq(fault("0-2,4 a", 6), "task 3 has no program");
	ck_assert_str_eq(fault("1 a", 2), "task 0 has no program");
	ck_assert_str_eq(fault("* a\n0 b", 0),
			 "line 2: * of line 1 is to be the last one");
	ck_assert_str_eq(fault("* a\n* b", 0),
			 "line 2: * of line 1 is to be the last one");
	ck_assert_str_eq(fault("0 a 'b\nc'", 0), "line 1: a quote has no end");
	ck_assert_str_eq(
		fault("0 a \\\n%d", 0),
		"line 2: a % is neither %t nor %o; \\% is a percent sign");
	ck_assert_str_eq(
		fault("0 a%", 0),
		"line 1: a % is neither %t nor %o; \\% is a percent sign");
	for (const char *const *bad =
		     (const char *const[]) { "a", "0-", "-1", "4-0", ",", "0,",
					     ",1", "1,,2", "1-2-3", "*,1",
					     "0x1", "2147483647",
					     "99999999999999999999", NULL };
	     *bad; bad++) {
		char text[40], want[100];

		snprintf(text, sizeof(text), "%s prog", *bad);
		snprintf(
			want, sizeof(want),
			"line 1: \"%s\" is no list of tasks, such as 0,2-4 or *",
			*bad);
		ck_assert_str_eq(fault(text, 0), want);
	}
}
END_TEST

/* What is made of words and then read is the same, whatever is in them. */
START_TEST(test_by_chance)
{
	static const char bytes[] = "ab%'\\ \t\"$*#-,";
	struct rnd r = rnd_of(_i);
	char text[4000], want[1000], why[RUN_MULTI_WHY];
	size_t len = 0, w = 0;
	uint32_t words = below(&r, 6);
	struct run_programs p;

	len = (size_t) snprintf(text, sizeof(text), "0-9 prog");
	w = (size_t) snprintf(want, sizeof(want), "prog");
	for (uint32_t k = 0; k < words; k++) {
		uint32_t n = 1 + below(&r, 20);

		text[len++] = ' ';
		want[w++] = '|';
		for (; n; n--) {
			char c = bytes[below(&r, sizeof(bytes) - 1)];

			want[w++] = c;
			if (c != '\'' && c != '\\' && below(&r, 2)) {
				text[len++] = '\'';
				text[len++] = c;
				text[len++] = '\'';
			} else {
				text[len++] = '\\';
				text[len++] = c;
			}
			if (!below(&r, 5)) {
				text[len++] = '\\';
				text[len++] = '\n';
			}
		}
	}
	want[w] = '\0';
	must(run_multi_read(text, len, no_more, 10, &p, &why));
	ck_assert_str_eq(executes(&p, 5), want);
	run_programs_free(&p);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("run_multi");
	TCase *t = tcase_create("multi");

	tcase_add_test(t, test_ranks);
	tcase_add_test(t, test_arguments);
	tcase_add_test(t, test_more);
	tcase_add_test(t, test_faults);
	tcase_add_loop_test(t, test_by_chance, 0, 200);
	suite_add_tcase(s, t);
	return unit_main(s);
}
