/*
 * test_each_progress.c - storm each: what --bar, --eta and --progress say of counts and times,
 * in any width; and that a command cannot do anything to the terminal that shows it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/storm_each/each_progress.h"
#include "unit.h"

#define SECOND 1000000ull

static char line[EACH_LINE_MAX];
static locale_t utf8, plain;

static void make_locales(void)
{
	utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL);
	plain = newlocale(LC_CTYPE_MASK, "C", NULL);
	must(utf8 && plain);
}

static void free_locales(void)
{
	freelocale(utf8);
	freelocale(plain);
}

static const char *said(const struct each_counts *c, bool bar, uint32_t columns)
{
	each_progress_line(c, bar, columns, &line);
	must(strlen(line) <= columns);
	return line;
}

/* ----------------------------------------------------------------------- words --- */

START_TEST(test_words)
{
	struct each_counts c = { .running = 8 };

	ck_assert_str_eq(said(&c, false, 80), "0 done, 0 failed, 8 run");
	/* time left is not known before one has ended */
	c.total = 1000;
	ck_assert_str_eq(said(&c, false, 80),
			 "0 of 1000 done, 0 failed, 8 run");
	c.done = 450;
	c.failed = 3;
	c.time_us = 9 * SECOND;
	ck_assert_str_eq(said(&c, false, 80),
			 "450 of 1000 done, 3 failed, 8 run, 50/s, 11 s left");
	c.total = 0;
	ck_assert_str_eq(said(&c, false, 80),
			 "450 done, 3 failed, 8 run, 50/s");
	c.total = c.done;
	ck_assert_str_eq(said(&c, false, 80),
			 "450 of 450 done, 3 failed, 8 run, 50/s, 0 s left");
	/* a log of another command may have had more */
	c.total = 449;
	ck_assert_str_eq(said(&c, false, 80),
			 "450 of 449 done, 3 failed, 8 run, 50/s");
}
END_TEST

/* Done of 100 after so many seconds: what is said behind the counts. */
static const struct {
	uint64_t done, seconds;
	const char *says;
} pace[] = {
	{ 50, 1, "50/s, 1 s left" },
	{ 50, 20, "2.5/s, 20 s left" },
	{ 50, 200, "15.0/min, 3 m 20 s left" },
	{ 10, 1200, "30.0/h, 3 h 0 m left" },
	{ 1, 3600, "1.0/h, 4 d 3 h left" },
	{ 1, 36000, "0.1/h, 41 d 6 h left" },
};

START_TEST(test_pace)
{
	struct each_counts c = {
		.total = 100,
		.done = pace[_i].done,
		.time_us = pace[_i].seconds * SECOND,
	};

	must(strstr(said(&c, false, 80), "0 run, "));
	ck_assert_str_eq(strstr(line, "0 run, ") + 7, pace[_i].says);
}
END_TEST

/* ------------------------------------------------------------------------- bar --- */

START_TEST(test_bar)
{
	struct each_counts c = {
		.total = 100, .done = 25, .time_us = SECOND, .running = 2
	};

	ck_assert_str_eq(
		said(&c, true, 75),
		"[#####               ]  25% 25 of 100 done, 0 failed, 2 run, 25/s, 3 s left");
	c.done = 100;
	must(strstr(said(&c, true, 80), "#] 100% 100 of 100 done"));
	c.done = 0;
	must(strstr(said(&c, true, 80), "[ ") == line);
	/* without a total there is none */
	c.total = 0;
	must(*said(&c, true, 80) == '0');
}
END_TEST

/* It fits any width, and there is no bar without brackets or without its share. */
START_TEST(test_widths)
{
	struct each_counts c = { .total = 1000000,
				 .done = 999999,
				 .failed = 999999,
				 .time_us = 1,
				 .running = 64 };

	for (uint32_t columns = 0; columns < 300; columns++) {
		said(&c, true, columns);
		must((*line == '[') == (strstr(line, "]  99% ") != NULL));
		must(columns < 100 || *line == '[');
	}
}
END_TEST

/* --------------------------------------------------------------------- slowest --- */

static const char *shown(const char *text, uint32_t columns, locale_t locale)
{
	*line = '\0';
	each_progress_text(text, columns, locale, &line);
	return line;
}

START_TEST(test_slowest)
{
	struct each_counts c = { .slowest = 17,
				 .slowest_us = 75 * SECOND,
				 .node = "n3",
				 .command = "./solve 'x y'" };

	each_progress_slowest(&c, 80, utf8, &line);
	ck_assert_str_eq(line,
			 "slowest: task 17 on n3, 1 m 15 s: ./solve 'x y'");
	each_progress_slowest(&c, 40, utf8, &line);
	ck_assert_str_eq(line, "slowest: task 17 on n3, 1 m 15 s: ./solv");
	each_progress_slowest(&c, 10, utf8, &line);
	ck_assert_str_eq(line, "slowest: t");
	c.slowest = 0;
	each_progress_slowest(&c, 80, utf8, &line);
	ck_assert_str_eq(line, "");
}
END_TEST

START_TEST(test_harmless)
{
	ck_assert_str_eq(shown("a\033[2Jb\r\n\tc\177", 80, utf8),
			 "a?[2Jb???c?");
	/* the C1 controls, as characters and as bytes */
	ck_assert_str_eq(shown("a\302\2332Jb\2332Jc", 80, utf8), "a?2Jb?2Jc");
	/* bytes that are no characters, one cut off, and one too long */
	ck_assert_str_eq(shown("a\377b\342\202", 80, utf8), "a?b??");
	ck_assert_str_eq(shown("\300\257", 80, utf8), "??");
	/* what turns the direction of a line has no width */
	ck_assert_str_eq(shown("a\342\200\256b", 80, utf8), "ab");
	/* a terminal that knows no such characters */
	ck_assert_str_eq(shown("\303\274b", 80, plain), "??b");
}
END_TEST

START_TEST(test_wide)
{
	/* umlauts take a column, Chinese characters two */
	ck_assert_str_eq(shown("\303\274\303\274\303\274", 2, utf8),
			 "\303\274\303\274");
	ck_assert_str_eq(shown("\344\270\255\346\226\207", 4, utf8),
			 "\344\270\255\346\226\207");
	ck_assert_str_eq(shown("\344\270\255\346\226\207", 3, utf8),
			 "\344\270\255");
	ck_assert_str_eq(shown("abc", 0, utf8), "");
}
END_TEST

/* A text longer than any line. */
START_TEST(test_long)
{
	static char text[3 * EACH_LINE_MAX];

	for (size_t k = 0; k + 3 < sizeof(text); k += 3)
		memcpy(text + k, "\344\270\255", 3);
	must(strlen(shown(text, UINT32_MAX, utf8)) ==
	     EACH_LINE_MAX - 1 - (EACH_LINE_MAX - 1) % 3);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("each_progress");
	TCase *t = tcase_create("each_progress");

	tcase_add_checked_fixture(t, make_locales, free_locales);
	tcase_add_test(t, test_words);
	tcase_add_loop_test(t, test_pace, 0, sizeof(pace) / sizeof(*pace));
	tcase_add_test(t, test_bar);
	tcase_add_test(t, test_widths);
	tcase_add_test(t, test_slowest);
	tcase_add_test(t, test_harmless);
	tcase_add_test(t, test_wide);
	tcase_add_test(t, test_long);
	suite_add_tcase(s, t);
	return unit_main(s);
}
