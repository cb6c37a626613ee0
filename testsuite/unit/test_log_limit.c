/*
 * test_log_limit.c - messages that others cause.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/log_limit.h"
#include "src/libstorm/base/shown.h"
#include "src/libstorm/base/step_name.h"
#include "unit.h"

#define MINUTE (60 * STORM_SEC)

static const char *one = "one: %d", *two = "two: %d";
static uint64_t now = 1000 * STORM_SEC;

START_TEST(test_once_a_minute)
{
	struct storm_log_source ann = storm_log_uid(1), bob = storm_log_uid(2);
	struct storm_log_source far = ann;
	uint32_t left;

	far.host[15] = 1;
	must(storm_log_due(one, &ann, 1, now, &left) && !left);
	for (int i = 0; i < 41; i++)
		must(!storm_log_due(one, &ann, 1, now + 1, &left));
	/* another cause, another user, another host */
	must(storm_log_due(two, &ann, 1, now, &left) && !left);
	must(storm_log_due(one, &bob, 1, now, &left) && !left);
	must(storm_log_due(one, &far, 1, now, &left) && !left);
	must(!storm_log_due(one, &ann, 1, now + MINUTE - 1, &left));
	must(storm_log_due(one, &ann, 1, now + MINUTE, &left) && left == 42);
	must(!storm_log_due(one, &ann, 1, now + MINUTE, &left));
	must(storm_log_due(one, &ann, 1, now + 2 * MINUTE, &left) && left == 1);
	must(storm_log_due(one, &ann, 1, now + 3 * MINUTE, &left) && !left);
}
END_TEST

START_TEST(test_several_a_minute)
{
	struct storm_log_source ann = storm_log_uid(1);
	uint32_t left;

	for (int i = 0; i < 20; i++)
		must(storm_log_due(one, &ann, 20, now, &left));
	must(!storm_log_due(one, &ann, 20, now, &left));
}
END_TEST

/* However many sources there are, and however many messages. */
START_TEST(test_many_sources)
{
	uint32_t left, logged = 0;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < 100000; i++) {
		struct storm_log_source from = storm_log_uid(i);

		logged += storm_log_due(one, &from, 1, now, &left);
		sum += left;
	}
	ck_assert_uint_le(logged, 64);
	/* what was left out is told a minute later */
	for (uint32_t i = 0; i < 100; i++) {
		struct storm_log_source from = storm_log_uid(200000 + i);

		storm_log_due(one, &from, 1, now + MINUTE, &left);
		sum += left;
	}
	ck_assert_uint_eq(sum, 100000 - logged);
}
END_TEST

/* A user from many hosts leaves room for others. */
START_TEST(test_many_hosts)
{
	struct storm_log_source from = storm_log_uid(7);
	uint32_t left, logged = 0;

	for (uint8_t i = 1; i < 100; i++) {
		from.host[15] = i;
		logged += storm_log_due(one, &from, 1, now, &left);
	}
	ck_assert_uint_le(logged, 9);
	for (uint32_t i = 0; i < 10; i++) {
		from = storm_log_uid(100 + i);
		must(storm_log_due(one, &from, 1, now, &left));
	}
}
END_TEST

static int lines;

static void count(enum storm_log_level level, const char *msg)
{
	(void) level;
	lines++;
	must(!strncmp(msg, "uid 7 ", 6));
}

START_TEST(test_volume)
{
	struct storm_log_source from = storm_log_uid(7);

	storm_log_set(count);
	for (int i = 0; i < 100000; i++)
		storm_log_from(&from, STORM_LOG_ERROR, "uid %d did it", 7);
	ck_assert_int_eq(lines, 1);
}
END_TEST

/* Slurm's numbers, as its own commands name them. */
START_TEST(test_step_names)
{
	char t[STORM_STEP_NAME];

	ck_assert_str_eq(storm_step_name(&t, 128, 0), "step 128.0");
	ck_assert_str_eq(storm_step_name(&t, 128, 0xfffffff9),
			 "step 128.4294967289");
	ck_assert_str_eq(storm_step_name(&t, 128, 0xfffffffb),
			 "step 128.batch");
	ck_assert_str_eq(storm_step_name(&t, 128, 0xfffffffc),
			 "step 128.extern");
	ck_assert_str_eq(storm_step_name(&t, UINT32_MAX, 0xfffffffa),
			 "step 4294967295.interactive");
	ck_assert_str_eq(storm_step_name(&t, 128, 0xfffffffe), "job 128");
}
END_TEST

/* No line of its own, nothing that a terminal obeys, and an end. */
START_TEST(test_text_of_others)
{
	char path[4096];
	const char *out;

	ck_assert_str_eq(STORM_SHOWN("/home/ann/my app"), "/home/ann/my app");
	ck_assert_str_eq(STORM_SHOWN("a\nb\r\033[2J\\n\177\xc3\xa9"),
			 "a\\x0ab\\x0d\\x1b[2J\\x5cn\\x7f\\xc3\\xa9");
	ck_assert_str_eq(STORM_SHOWN(NULL), "");
	memset(path, 'x', sizeof(path));
	path[STORM_SHOWN_MAX] = 0;
	ck_assert_str_eq(STORM_SHOWN(path), path);
	for (int i = 0; i < 5; i++) {
		path[STORM_SHOWN_MAX - i] = '\n';
		path[sizeof(path) - 1] = 0;
		out = STORM_SHOWN(path);
		must(strlen(out) <= STORM_SHOWN_MAX + 3);
		must(!strcmp(out + strlen(out) - 3, "...") &&
		     !strchr(out, '\n'));
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("log_limit");
	TCase *t = tcase_create("log_limit");

	tcase_add_test(t, test_once_a_minute);
	tcase_add_test(t, test_several_a_minute);
	tcase_add_test(t, test_many_sources);
	tcase_add_test(t, test_many_hosts);
	tcase_add_test(t, test_volume);
	tcase_add_test(t, test_step_names);
	tcase_add_test(t, test_text_of_others);
	suite_add_tcase(s, t);
	return unit_main(s);
}
