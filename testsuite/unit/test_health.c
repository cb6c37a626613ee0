/*
 * test_health.c - is a node well: limits, clocks and the last line of a program; and which
 * programs root may run.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "src/libstorm/base/clock.h"
#include "src/storm_agent/health/health_judge.h"
#include "src/storm_agent/health/health_measure.h"
#include "src/storm_agent/health/health_path.h"
#include "src/storm_agent/health/health_round.h"
#include "unit.h"

#define MB ((uint64_t) 1 << 20)

static const struct storm_health_conf limit = { .space = 64 * MB,
						.inodes = 1000,
						.memory = 64 * MB };
static char text[HEALTH_LINE];

static enum health_cause judged(enum health_kind kind, struct health_sample s)
{
	text[0] = '\0';
	return health_judge(&limit, kind, "/x", &s, &text);
}

#define JUDGED(kind, ...) \
	judged(HEALTH_CHECK_##kind, (struct health_sample) { __VA_ARGS__ })

START_TEST(test_limits)
{
	must(!JUDGED(DISK, .free = 64 * MB));
	must(!JUDGED(DISK, .free = 64 * MB, .inodes = 9, .free_inodes = 1000));
	must(JUDGED(DISK, .free = 64 * MB - 1) == HEALTH_SPACE);
	ck_assert_str_eq(text,
			 "/x has 63 MB left, less than HealthSpace (64 MB)");
	must(JUDGED(DISK, .free = 64 * MB, .inodes = 9, .free_inodes = 999) ==
	     HEALTH_INODES);
	must(JUDGED(DISK, .hung = true) == HEALTH_HUNG);
	must(JUDGED(DISK, .unbegun = EMFILE) == HEALTH_DESCRIPTORS);
	ck_assert_str_eq(text, "no check can begin: Too many open files");
	must(JUDGED(MUNGE, .unbegun = EAGAIN) == HEALTH_UNCHECKED);
	must(JUDGED(DISK, .err = ENOENT) == HEALTH_SPACE);
	ck_assert_str_eq(text, "/x: No such file or directory");
	must(!JUDGED(MEMORY, .free = 64 * MB));
	must(JUDGED(MEMORY, .free = 0) == HEALTH_MEMORY);
	must(!JUDGED(MEMORY, .err = ENOENT) && !JUDGED(MEMORY, .hung = true));
	must(!JUDGED(MUNGE, 0) && JUDGED(MUNGE, .hung = true) == HEALTH_MUNGE);
	must(JUDGED(SLURMD, .err = ECONNREFUSED) == HEALTH_SLURMD);
	ck_assert_str_eq(text, "slurmd: Connection refused");
	must(!JUDGED(DESCRIPTORS, .free = 10, .total = 1000));
	must(JUDGED(DESCRIPTORS, .free = 9, .total = 1000) ==
	     HEALTH_DESCRIPTORS);
	must(JUDGED(INOTIFY, .err = ENOSPC) == HEALTH_INOTIFY);
	must(!JUDGED(PROGRAM, .line = "all is well"));
	must(JUDGED(PROGRAM, .status = 3 << 8, .line = "fan") ==
	     HEALTH_PROGRAM);
	ck_assert_str_eq(text, "/x ended with status 3: fan");
	must(JUDGED(PROGRAM, .status = 9) == HEALTH_PROGRAM);
	ck_assert_str_eq(text, "/x was killed by signal 9");
}
END_TEST

START_TEST(test_clock)
{
	const int64_t s = (int64_t) STORM_SEC;
	struct health_clock c = { 0 };

	must(!health_clock_look(&c, 100, 1000 * s));
	must(!health_clock_look(&c, 60 * STORM_SEC, 1060 * s)); /* it goes on */
	must(!health_clock_look(&c, 61 * STORM_SEC, 1070 * s)); /* ntpd */
	must(health_clock_look(&c, 62 * STORM_SEC, 9000 * s) > 7000 * s);
	must(health_clock_look(&c, 63 * STORM_SEC, 9001 * s) > 7000 * s);
	must(!health_clock_look(&c, 64 * STORM_SEC, 1073 * s)); /* back */
	must(health_clock_look(&c, 65 * STORM_SEC, 0) < -1000 * s);
	/* it stays there: somebody has set it */
	must(health_clock_look(&c, 600 * STORM_SEC, 535 * s));
	must(!health_clock_look(&c, 700 * STORM_SEC, 635 * s));
	must(!health_clock_look(&c, 701 * STORM_SEC, 636 * s));
}
END_TEST

static const char *last_of(const char *output, size_t part)
{
	static struct health_line l;

	memset(&l, 0, sizeof(l));
	for (size_t i = 0, n = strlen(output); i < n; i += part)
		health_line_add(&l, output + i, part < n - i ? part : n - i);
	return l.line;
}

START_TEST(test_last_line)
{
	char much[4 * HEALTH_LINE];

	for (size_t part = 1; part < 12; part++) {
		ck_assert_str_eq(last_of("", part), "");
		ck_assert_str_eq(last_of("\n\n", part), "");
		ck_assert_str_eq(last_of("one", part), "one");
		ck_assert_str_eq(last_of("one\ntwo\r\n\n", part), "two");
		ck_assert_str_eq(last_of("\none\x1b[31m\n", part), "one?[31m");
	}
	memset(much, 'a', sizeof(much));
	much[sizeof(much) - 1] = '\0';
	must(strlen(last_of(much, 100)) == HEALTH_LINE - 1);
}
END_TEST

/* Which of root's own programs are root's alone, and which paths are not. */
START_TEST(test_paths)
{
	static const char *const bad[][2] = {
		{ "usr/bin/env", "give it in full" },
		{ "/usr/bin/../bin/env", "give it in full" },
		{ "/usr/bin/", "give it in full" },
		{ "/", "give it in full" },
		{ "/usr/bin", "is no file" },
		{ "/etc/passwd", "cannot be executed" },
		{ "/etc/passwd/x", "is no directory" },
		{ "/usr/bin/none", "No such file or directory" },
		{ "/proc/self/exe", "is a symbolic link" },
		{ "/tmp/x", "/tmp can be written by others than root" },
	};

	must(health_path_is_safe("/usr/bin/env", &text));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		text[0] = '\0';
		must(!health_path_is_safe(bad[i][0], &text));
		if (bad[i][0][0] == '/' && bad[i][0][1])
			ck_assert_msg(strstr(text, bad[i][1]), "%s: %s",
				      bad[i][0], text);
	}
}
END_TEST

START_TEST(test_nothing_left)
{
	const struct rlimit none = { 0, 0 };
	struct health_sample s = { 0 };
	pid_t pid = fork();
	int status;

	if (!pid) {
		if (setrlimit(RLIMIT_NOFILE, &none))
			_exit(2);
		health_measure(HEALTH_CHECK_INOTIFY, "", NULL, &s);
		_exit(judged(HEALTH_CHECK_INOTIFY, s) != HEALTH_INOTIFY);
	}
	must(waitpid(pid, &status, 0) == pid && !status);
	health_measure(HEALTH_CHECK_DESCRIPTORS, "", NULL, &s);
	must(!s.err && s.free && s.total > s.free);
	health_measure(HEALTH_CHECK_MEMORY, "", NULL, &s);
	must(!s.err && s.free > MB);
}
END_TEST

/* Checks that hang hold up neither others nor the next round. */
START_TEST(test_round)
{
	const struct health_place at = { .node = "n1" };
	struct health_check c[] = {
		{ .kind = HEALTH_CHECK_DISK,
		  .name = "/",
		  .patience = 60 * STORM_SEC,
		  .pidfd = -1,
		  .out = -1 },
		{ .kind = HEALTH_CHECK_DISK,
		  .name = "/none",
		  .patience = 60 * STORM_SEC,
		  .pidfd = -1,
		  .out = -1 },
		{ .kind = HEALTH_CHECK_PROGRAM,
		  .name = "/usr/bin/env",
		  .patience = 60 * STORM_SEC,
		  .pidfd = -1,
		  .out = -1 },
		{ .kind = HEALTH_CHECK_PROGRAM,
		  .name = "/usr/bin/yes", /* it writes for ever */
		  .patience = 300 * STORM_MS,
		  .pidfd = -1,
		  .out = -1 },
	};
	int life[2];

	must(!pipe(life));
	for (int i = 0; i < 2; i++) {
		must(health_round(c, 4, &at, life[0]));
		must(!c[0].got.err && c[0].got.total);
		must(c[1].got.err == ENOENT);
		must(!c[2].got.err && !c[2].got.status);
		ck_assert_str_eq(c[2].got.line, "SLURMD_NODENAME=n1");
		must(c[3].got.hung);
		ck_assert_str_eq(c[3].got.line, "y");
	}
	close(life[1]);
	c[3].patience = 600 * STORM_SEC;
	must(!health_round(c, 4, &at, life[0]));
	close(life[0]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("health");
	TCase *tc = tcase_create("health");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, test_limits);
	tcase_add_test(tc, test_clock);
	tcase_add_test(tc, test_last_line);
	tcase_add_test(tc, test_paths);
	tcase_add_test(tc, test_nothing_left);
	tcase_add_test(tc, test_round);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
