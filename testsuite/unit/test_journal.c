/*
 * test_journal.c - a line of the journal of runs: what is escaped, and how tasks ended.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <signal.h>

#include "src/storm_launcher/journal.h"
#include "unit.h"

static const char *quoted(const char *text)
{
	static char out[200];
	struct journal_text t = { 0 };

	journal_put_string(&t, text);
	must(!t.failed && strlen(t.buf) == t.len);
	snprintf(out, sizeof(out), "%s", t.buf);
	free(t.buf);
	return out;
}

START_TEST(test_strings)
{
	ck_assert_str_eq(quoted(""), "\"\"");
	ck_assert_str_eq(quoted("a \"b\" \\ /"), "\"a \\\"b\\\" \\\\ /\"");
	ck_assert_str_eq(quoted("\n\t\x1b\x7f"),
			 "\"\\u000a\\u0009\\u001b\\u007f\"");
	ck_assert_str_eq(quoted("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"),
			 "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
	/* no UTF-8: alone, cut off, too long, half of a pair, beyond the last */
	ck_assert_str_eq(quoted("\xff\x80z"), "\"\\udcff\\udc80z\"");
	ck_assert_str_eq(quoted("\xe2\x82"), "\"\\udce2\\udc82\"");
	ck_assert_str_eq(quoted("\xc0\xaf"), "\"\\udcc0\\udcaf\"");
	ck_assert_str_eq(quoted("\xe0\x80\xaf"), "\"\\udce0\\udc80\\udcaf\"");
	ck_assert_str_eq(quoted("\xed\xa0\x80"), "\"\\udced\\udca0\\udc80\"");
	ck_assert_str_eq(quoted("\xf4\x90\x80\x80"),
			 "\"\\udcf4\\udc90\\udc80\\udc80\"");
}
END_TEST

static const char *node_name(void *arg, uint32_t node)
{
	(void) arg;
	return node ? "n2" : "n1";
}

START_TEST(test_line)
{
	struct storm_range at = { 0, 1 }, a = { 0, 0 }, b = { 1, 1 },
			   all[] = { { 0, 3 } };
	uint32_t rank[] = { 0, 2, 4 };
	struct run_ended second = { .code = run_code(RUN_SIGNALED, 0x80 | 11),
				    .tasks = { &b, 1, 1 } };
	struct run_ended first = { .next = &second, .tasks = { &a, 1, 1 } };
	const struct user_run run = { .number = 7,
				      .tasks = 4,
				      .nodes = { &at, 1, 1 },
				      .rank = rank,
				      .done = { all, 1, 1 },
				      .status = 1,
				      .ended = &first };
	const struct run_usage usage[] = {
		{ 2, 1500000, 7, 64, 1, 2, 3, 4, 5, 6 }, { 0 }
	};
	struct journal_run j = { .job = "12",
				 .step = "0",
				 .command = "\"command\":[\"x\"]",
				 .nodes = "n[1-2]",
				 .cpus = 4,
				 .queued = 1795755400123,
				 .ended = 1795755402004,
				 .usage = usage,
				 .name = node_name };
	size_t len;
	char *line;

	setenv("TZ", "UTC-2", 1);
	line = journal_line(&j, &run, &len);
	must(line && strlen(line) == len);
	ck_assert_str_eq(
		line,
		"{\"run\":7,\"job\":\"12\",\"step\":\"0\",\"command\":[\"x\"],"
		"\"queued\":\"2026-11-27T06:56:40.123+02:00\",\"queued_s\":1795755400.123,"
		"\"started\":null,\"started_s\":null,"
		"\"ended\":\"2026-11-27T06:56:42.004+02:00\",\"ended_s\":1795755402.004,"
		"\"nodes\":\"n[1-2]\",\"tasks\":4,\"cpus\":4,\"status\":139,\"ends\":["
		"{\"tasks\":\"0\",\"exit\":0},{\"tasks\":\"1\",\"signal\":11,\"core\":true},"
		"{\"tasks\":\"2-3\",\"error\":\"its node is lost\"}],\"usage\":["
		"{\"node\":\"n1\",\"tasks\":\"0-1\",\"rusage\":{\"user_s\":1.500000,"
		"\"system_s\":0.000007,\"max_rss_kb\":64,\"minor_faults\":1,"
		"\"major_faults\":2,\"blocks_in\":3,\"blocks_out\":4,"
		"\"switches_voluntary\":5,\"switches_involuntary\":6}},"
		"{\"node\":\"n2\",\"tasks\":\"2-3\",\"rusage\":null}]}\n");
	free(line);
}
END_TEST

/* What error it has for tasks that ended so. */
static void check_error(uint32_t code, const char *text)
{
	struct storm_range all = { 0, 3 };
	struct run_ended end = { .code = code, .tasks = { &all, 1, 1 } };
	const struct user_run run = {
		.number = 7, .tasks = 4, .done = { &all, 1, 1 }, .ended = &end
	};
	const struct journal_run j = { .job = "12",
				       .step = "0",
				       .command = "\"command\":[\"x\"]",
				       .nodes = "" };
	size_t len;
	char *line = journal_line(&j, &run, &len), expected[300];

	must(line);
	snprintf(expected, sizeof(expected),
		 "\"ends\":[{\"tasks\":\"0-3\",\"error\":\"%s\"}]", text);
	ck_assert_msg(strstr(line, expected), "%s is not in %s", expected,
		      line);
	free(line);
}

START_TEST(test_errors)
{
	check_error(run_code(RUN_NOT_STARTED, ENOENT),
		    "the program: No such file or directory");
	check_error(run_code(RUN_NO_MEMORY, 0), "Out Of Memory");
	check_error(run_code(RUN_NO_BIND, ENODEV),
		    "CPU binding outside of job step allocation");
	check_error(run_code(RUN_NO_BIND, EINVAL),
		    "cannot be bound to its CPUs: Invalid argument");
	check_error(run_code(RUN_NO_PMIX, RUN_PMIX_ENDED + SIGKILL),
		    "storm_pmix has ended before they began: Killed");
	check_error(
		run_code(RUN_NO_HWLOC, ENODATA),
		"cannot be bound: hwloc cannot tell of which cores its CPUs are: No data available");
	check_error(
		run_code(RUN_UNBOUND, 0),
		"cannot be bound: Slurm has not bound the job to its own CPUs, see TaskPlugin in slurm.conf(5)");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("journal");
	TCase *t = tcase_create("journal");

	tcase_add_test(t, test_strings);
	tcase_add_test(t, test_line);
	tcase_add_test(t, test_errors);
	suite_add_tcase(s, t);
	return unit_main(s);
}
