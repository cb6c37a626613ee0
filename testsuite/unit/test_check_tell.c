/*
 * test_check_tell.c - storm check's lines: names of nodes, as Slurm reads them; equal
 * lines are one; another host's text prints as text.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/storm_check/check_tell.h"
#include "src/storm_check/check_verdict.h"
#include "unit.h"

static void names_are(const char *want, const char *const *names, size_t n)
{
	char *got = check_names(names, n);

	must(!strcmp(got, want));
	free(got);
}
#define NAMES(want, ...)                                          \
	names_are(want, (const char *const[]) { __VA_ARGS__ },    \
		  sizeof((const char *const[]) { __VA_ARGS__ }) / \
			  sizeof(const char *))

START_TEST(test_names)
{
	NAMES("n1", "n1");
	NAMES("n1", "n1", "n1");
	NAMES("n[1-3,7]", "n7", "n2", "n1", "n3");
	NAMES("n[9-11]", "n10", "n9", "n11");
	NAMES("n[08-10]", "n10", "n08", "n09");
	NAMES("n[9-10,010,11]", "n010", "n9", "n11", "n10");
	NAMES("login,n[1-2]", "n1", "login", "n2");
	NAMES("a[1-2],a1-ib", "a2", "a1-ib", "a1");
	NAMES("", "");
	names_are("", NULL, 0);
}
END_TEST

static char *told_text(bool quiet, bool *missing)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	*missing = check_tell_all(f, quiet);
	fclose(f);
	return text;
}

START_TEST(test_lines)
{
	char line[] = "missing\tn2\tno agent runs\n";
	char evil[] = "missing\tn\033[2J3\tx[$(id)] %n\001\n";
	char bad[] = "reboot\tn3\tnow\n", worse[] = "missing n3 now\n";
	char *text;
	bool missing;

	check_tell(CHECK_OK, "", "fine");
	check_tell(CHECK_MISSING, "n1", "no agent %s", "runs");
	check_tell(CHECK_NOTE, "n1", "slow");
	check_tell(CHECK_NOTE, "", "slow");
	must(check_tell_line(line));
	must(check_tell_line(evil));
	must(!check_tell_line(bad) && !check_tell_line(worse));
	text = told_text(false, &missing);
	must(missing);
	must(!strcmp(text, "missing  n[1-2]: no agent runs\n"
			   "missing  n?[2J3: x[$(id)] %n?\n"
			   "note     here and n1: slow\n"
			   "ok       fine\n"));
	free(text);
	text = told_text(true, &missing);
	must(!strcmp(text, "missing  n[1-2]: no agent runs\n"
			   "missing  n?[2J3: x[$(id)] %n?\n"));
	free(text);
}
END_TEST

static bool verdict_has(struct check_answer a, const char *part)
{
	char *text = check_verdict(&a, 8383, 1500);
	bool yes = text ? part && strstr(text, part) : !part;

	free(text);
	return yes;
}

/* Each error says something, and the ones that administrators meet say what to do. */
START_TEST(test_verdicts)
{
	static const struct {
		int sys;
		const char *part;
	} lost[] = {
		{ ECONNRESET, "refuses this host's MUNGE credential" },
		{ ETIMEDOUT, "nothing answers on TCP port 8383" },
		{ ECOMM, "none of its datagrams reach this host" },
		{ ENOLINK, "none from here reach its UDP port 8383" },
		{ EMSGSIZE, "raise the MTU" },
	};
	struct check_answer a = { .why = STORM_ENOAGENT, .sys = ECONNREFUSED };

	must(verdict_has(a, "restart slurmd, and run storm check there"));
	for (size_t i = 0; i < sizeof(lost) / sizeof(*lost); i++)
		must(verdict_has((struct check_answer) { .why = STORM_ELOST,
							 .sys = lost[i].sys },
				 lost[i].part));
	for (int why = STORM_EINVAL; why < STORM_ERANGE_; why++)
		must(verdict_has((struct check_answer) { .why = why }, ": "));
	a = (struct check_answer) { .why = STORM_OK };
	must(verdict_has(a, "none from here reach its UDP port"));
	a.small = true;
	must(verdict_has(a, "no packets of 1500 bytes"));
	a.large = true;
	must(verdict_has(a, NULL));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("check_tell");
	TCase *t = tcase_create("check_tell");

	tcase_add_test(t, test_names);
	tcase_add_test(t, test_lines);
	tcase_add_test(t, test_verdicts);
	suite_add_tcase(s, t);
	return unit_main(s);
}
