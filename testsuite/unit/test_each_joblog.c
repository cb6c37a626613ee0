/*
 * test_each_joblog.c - storm each: the lines of a joblog, and what is done by it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <fcntl.h>

#include "src/storm_each/each_joblog.h"
#include "src/storm_each/each_resume.h"
#include "unit.h"

/* ----------------------------------------------------------------------- lines --- */

static const struct each_joblog_entry example = {
	.seq = 12,
	.host = "n3",
	.start_us = 1795755400442999,
	.time_us = 1006789,
	.received = 4,
	.exitval = 2,
	.command = "echo 'a\tb'; exit 2",
};

START_TEST(test_line)
{
	size_t len;
	char *line = each_joblog_line(&example, &len);

	must(line && len == strlen(line));
	ck_assert_str_eq(
		line,
		"12\tn3\t1795755400.442\t     1.006\t0\t4\t2\t0\techo 'a\tb'; exit 2\n");
	free(line);
	/* as many columns as the header has */
	ck_assert_str_eq(
		each_joblog_header,
		"Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n");
}
END_TEST

/* A newline of the command is a NUL byte, as in parallel's: a task has one line. */
START_TEST(test_one_line)
{
	struct each_joblog_entry e = example;
	size_t len;
	char *line;

	e.command = "a\nb\n";
	line = each_joblog_line(&e, &len);
	must(line && !memcmp(line + len - 6, "\ta\0b\0\n", 6));
	must(memchr(line, '\n', len) == line + len - 1);
	free(line);
}
END_TEST

START_TEST(test_parse)
{
	struct each_joblog_entry e;
	size_t len;
	char *line = each_joblog_line(&example, &len);

	ck_assert_int_eq(each_joblog_parse(line, &e), 1);
	must(e.seq == 12 && e.start_us == 1795755400442000 &&
	     e.time_us == 1006000 && e.received == 4 && e.exitval == 2 &&
	     !e.signal);
	free(line);
	/* a line that parallel has written */
	ck_assert_int_eq(
		each_joblog_parse(
			"5\t:\t1795755322.884\t     0.003\t0\t0\t-1\t15\texit 1\n",
			&e),
		1);
	must(e.seq == 5 && e.exitval == -1 && e.signal == 15);
	ck_assert_int_eq(each_joblog_parse(each_joblog_header, &e), 0);
}
END_TEST

START_TEST(test_not_parsed)
{
	static const char *const none[] = {
		"",
		"\n",
		"1\n",
		"x\t:\t1.0\t1.0\t0\t0\t0\t0\tc\n",
		"0\t:\t1.0\t1.0\t0\t0\t0\t0\tc\n",
		"-1\t:\t1.0\t1.0\t0\t0\t0\t0\tc\n",
		"1x\t:\t1.0\t1.0\t0\t0\t0\t0\tc\n",
		"1\t:\t\t1.0\t0\t0\t0\t0\tc\n",
		"1\t:\t1.0\t1.0\t0\t0\t0x\t0\tc\n",
		"1\t:\t1.0\t1.0\t0\t0\t0\t0\n",
		"1\t:\t1.0\t1.0\t0\t0\t0",
		"1 : 1.0 1.0 0 0 0 0 c\n",
		/* numbers that do not fit */
		"9223372036854775808\t:\t1.0\t1.0\t0\t0\t0\t0\tc\n",
		"1\t:\t18446744073710.0\t1.0\t0\t0\t0\t0\tc\n",
		"1\t:\t1.0\t1.0\t-1\t0\t0\t0\tc\n",
		"1\t:\t1.0\t1.0\t0\t0\t4294967296\t0\tc\n",
	};

	for (size_t k = 0; k < sizeof(none) / sizeof(*none); k++) {
		struct each_joblog_entry e;

		ck_assert_msg(each_joblog_parse(none[k], &e) == -1, "%s",
			      none[k]);
	}
}
END_TEST

/* No byte of a file may lead elsewhere: what is parsed is whole or refused. */
START_TEST(test_by_chance)
{
	struct rnd r = rnd_of(_i);
	struct each_joblog_entry e;
	size_t len;
	char *line = each_joblog_line(&example, &len);
	char *bad;

	for (int k = 0; k < 3; k++)
		line[below(&r, (uint32_t) len)] = (char) rnd64(&r);
	bad = (char *) exact(line, len + 1);
	if (each_joblog_parse(bad, &e) > 0)
		must(e.seq > 0);
	free(bad);
	free(line);
}
END_TEST

/* ---------------------------------------------------------------------- resume --- */

static char path[] = "each_joblog.XXXXXX";

static void write_log(const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	must(fd >= 0 &&
	     write(fd, text, strlen(text)) == (ssize_t) strlen(text));
	close(fd);
}

static void log_begin(void)
{
	int fd = mkstemp(path);

	must(fd >= 0);
	close(fd);
}

static void log_end(void)
{
	unlink(path);
}

#define HEADER \
	"Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"
#define LINE(seq, exitval, signal) \
#seq "\tn1\t1.0\t1.0\t0\t0\t" #exitval "\t" #signal "\tc\n"

START_TEST(test_done)
{
	struct each_resume *r;

	/* in the order in which tasks end; 3 failed once and then did not, 5 twice */
	write_log(HEADER LINE(2, 0, 0) LINE(1, 0, 0) LINE(3, 1, 0) LINE(5, 1, 0)
			  LINE(6, 0, 9) LINE(3, 0, 0) LINE(5, 2, 0));
	for (int with_failed = 0; with_failed < 2; with_failed++) {
		r = each_resume_read(path, with_failed);
		must(r && each_resume_done(r, 1) && each_resume_done(r, 2) &&
		     each_resume_done(r, 3));
		must(!each_resume_done(r, 4) && !each_resume_done(r, 7) &&
		     !each_resume_done(r, 0));
		must(each_resume_done(r, 5) == !with_failed);
		must(each_resume_done(r, 6) == !with_failed);
		each_resume_destroy(r);
	}
}
END_TEST

/* The process that wrote the log was killed while it did. */
START_TEST(test_cut_off)
{
	const char whole[] = HEADER LINE(1, 0, 0);
	struct each_resume *r;

	write_log(HEADER LINE(1, 0, 0) "2\tn1\t1.0\t1.0\t0\t0\t0\t0\tc");
	r = each_resume_read(path, false);
	must(r && each_resume_done(r, 1) && !each_resume_done(r, 2));
	ck_assert_uint_eq(each_resume_end(r), sizeof(whole) - 1);
	each_resume_destroy(r);
}
END_TEST

START_TEST(test_new)
{
	struct each_resume *r = each_resume_read("each_joblog.not-there", true);

	must(r && !each_resume_done(r, 1) && !each_resume_end(r));
	each_resume_destroy(r);
	write_log("");
	r = each_resume_read(path, false);
	must(r && !each_resume_done(r, 1) && !each_resume_end(r));
	each_resume_destroy(r);
}
END_TEST

START_TEST(test_no_joblog)
{
	write_log("#!/bin/sh\nrm -r x\n");
	must(!each_resume_read(path, false));
	/* a directory */
	must(!each_resume_read("/", false));
}
END_TEST

/* Many of them, in any order. */
START_TEST(test_many)
{
	enum { MANY = 100000 };
	struct rnd r = rnd_of(1);
	uint32_t *order = shuffled(&r, MANY);
	FILE *out = fopen(path, "w");
	struct each_resume *resume;

	must(out);
	for (uint32_t k = 0; k < MANY; k++)
		if (order[k] % 3)
			fprintf(out, "%u\tn1\t1.0\t1.0\t0\t0\t0\t0\tc\n",
				order[k] + 1);
	must(!fclose(out));
	resume = each_resume_read(path, false);
	must(resume);
	for (uint32_t k = 0; k < MANY; k++)
		must(each_resume_done(resume, k + 1) == (k % 3 != 0));
	each_resume_destroy(resume);
	free(order);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("each_joblog");
	TCase *tc = tcase_create("each_joblog"),
	      *files = tcase_create("resume");

	tcase_add_test(tc, test_line);
	tcase_add_test(tc, test_one_line);
	tcase_add_test(tc, test_parse);
	tcase_add_test(tc, test_not_parsed);
	tcase_add_loop_test(tc, test_by_chance, 0, unit_runs(2000));
	suite_add_tcase(s, tc);
	tcase_add_checked_fixture(files, log_begin, log_end);
	tcase_add_test(files, test_done);
	tcase_add_test(files, test_cut_off);
	tcase_add_test(files, test_new);
	tcase_add_test(files, test_no_joblog);
	tcase_add_test(files, test_many);
	suite_add_tcase(s, files);
	return unit_main(s);
}
