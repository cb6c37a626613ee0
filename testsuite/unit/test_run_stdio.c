/*
 * test_run_stdio.c - storm run: lines with labels, and names of files, as srun has them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/storm_launcher/run_lines.h"
#include "src/storm_launcher/run_paths.h"
#include "unit.h"

/* ---------------------------------------------------------------------- lines --- */

static void put(struct run_lines *l, const char *text)
{
	size_t room, len = strlen(text);
	uint8_t *to = run_lines_room(l, &room);

	must(to && room >= len);
	memcpy(to, text, len);
	l->have += len;
}

static const char *taken(struct run_lines *l, size_t size, bool over)
{
	static char out[RUN_LINE_MAX + 100];
	size_t n = run_lines_take(l, (uint8_t *) out, size, over);

	must(n <= size && n < sizeof(out));
	out[n] = '\0';
	return out;
}

START_TEST(test_labels)
{
	struct run_lines l = { .have = 0 };

	run_lines_label(&l, 7, 101);
	put(&l, "one\n\ntw");
	ck_assert_str_eq(taken(&l, 100, false), "  7: one\n  7: \n");
	ck_assert_str_eq(taken(&l, 100, false), "");
	put(&l, "o\nthree");
	ck_assert_str_eq(taken(&l, 100, false), "  7: two\n");
	ck_assert_str_eq(taken(&l, 100, true), "  7: three\n");
	ck_assert_str_eq(taken(&l, 100, true), "");
	/* a line waits until all of it fits */
	put(&l, "four\nfive\n");
	ck_assert_str_eq(taken(&l, 9, false), "");
	ck_assert_str_eq(taken(&l, 17, false), "  7: four\n");
	ck_assert_str_eq(taken(&l, 10, false), "  7: five\n");
	run_lines_fini(&l);
	for (uint32_t tasks = 1; tasks < 12; tasks += 9) {
		run_lines_label(&l, 0, tasks);
		ck_assert_str_eq(l.label, "0: ");
	}
	run_lines_label(&l, 0, 11);
	ck_assert_str_eq(l.label, " 0: ");
}
END_TEST

/* Without a label all bytes come as they are: whole lines, until nothing more comes. */
START_TEST(test_bare)
{
	struct run_lines l = { .have = 0 };

	put(&l, "one\n\ntw");
	ck_assert_str_eq(taken(&l, 100, false), "one\n\n");
	ck_assert_str_eq(taken(&l, 100, false), "");
	put(&l, "o\nthree");
	ck_assert_str_eq(taken(&l, 3, true), "");
	ck_assert_str_eq(taken(&l, 100, true), "two\n");
	ck_assert_str_eq(taken(&l, 4, true), "");
	ck_assert_str_eq(taken(&l, 100, true), "three");
	ck_assert_str_eq(taken(&l, 100, true), "");
	put(&l, "four\nfive\n");
	ck_assert_str_eq(taken(&l, 9, false), "four\n");
	ck_assert_str_eq(taken(&l, 5, false), "five\n");
	run_lines_fini(&l);
}
END_TEST

/* Whatever the pieces are, all comes, in order, and each line begins with the label, if
 * there is one. */
START_TEST(test_pieces)
{
	struct rnd x = rnd_of(_i);
	const char *label = _i & 1 ? "" : "  3: ";
	static char in[60000], want[400000], got[400000];
	size_t len = 0, at = 0, have = 0, end = 0;
	struct run_lines l = { .have = 0 };
	bool begins = true;

	if (*label)
		run_lines_label(&l, 3, 1000);
	while (len < sizeof(in) - 1)
		in[len++] = below(&x, 1 + below(&x, 400)) ? 'x' : '\n';
	for (size_t k = 0; k < len; k++) {
		if (begins)
			end += (size_t) sprintf(want + end, "%s", label);
		want[end++] = in[k];
		begins = in[k] == '\n';
	}
	if (!begins && *label)
		want[end++] = '\n';
	while (at < len || l.have) {
		size_t room, some = below(&x, 3000);
		uint8_t *to = run_lines_room(&l, &room);

		must(to);
		some = some < room ? some : room;
		some = some < len - at ? some : len - at;
		memcpy(to, in + at, some);
		l.have += some;
		at += some;
		have += run_lines_take(&l, (uint8_t *) got + have,
				       below(&x, 20000), at == len);
		must(have <= end);
	}
	must(have == end && !memcmp(got, want, end));
	run_lines_fini(&l);
}
END_TEST

/* A line without an end does not wait for ever: it is cut. */
START_TEST(test_long_line)
{
	struct run_lines l = { .have = 0 };
	size_t room;
	uint8_t *to = run_lines_room(&l, &room);

	must(to && room == RUN_LINE_MAX);
	memset(to, 'y', room);
	l.have = room;
	must(!*taken(&l, RUN_LINE_MAX - 1, false));
	must(strlen(taken(&l, RUN_LINE_MAX, false)) == RUN_LINE_MAX);
	to = run_lines_room(&l, &room);
	run_lines_label(&l, 0, 1);
	must(to && room == RUN_LINE_MAX);
	memset(to, 'y', room);
	l.have = room;
	must(strlen(taken(&l, RUN_LINE_MAX + 50, false)) == RUN_LINE_MAX + 4);
	must(!l.have && run_lines_room(&l, &room) && room == RUN_LINE_MAX);
	run_lines_fini(&l);
}
END_TEST

/* ---------------------------------------------------------------------- paths --- */

START_TEST(test_streams)
{
	static const struct {
		const char *text;
		enum run_stream kind;
	} all[] = {
		{ "", RUN_CLIENTS },	    { "all", RUN_CLIENTS },
		{ "ALL", RUN_CLIENTS },	    { "-", RUN_CLIENTS },
		{ "none", RUN_NOTHING },    { "None", RUN_NOTHING },
		{ "17", RUN_ONE_TASK },	    { "1x", RUN_ONE_FILE },
		{ "f.%j", RUN_ONE_FILE },   { "f.%%t", RUN_ONE_FILE },
		{ "f.%t", RUN_MANY_FILES }, { "%5N", RUN_MANY_FILES },
		{ "%n", RUN_MANY_FILES },   { "%u/x", RUN_MANY_FILES },
		{ "a\\%t", RUN_ONE_FILE },  { "%", RUN_ONE_FILE },
		{ "%3", RUN_ONE_FILE },	    { "4294967296000", RUN_ONE_FILE },
	};
	uint32_t task = 0;

	for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++)
		ck_assert_msg(run_stream_of(all[k].text, &task) == all[k].kind,
			      "%s", all[k].text);
	must(task == 17);
}
END_TEST

static const char *path_of(const char *text)
{
	static char path[64];
	const struct run_path_of of = { .job = "12",
					.step = "0",
					.run = 7,
					.job_name = "my job",
					.user = "me",
					.node = "n3",
					.nth = 2,
					.task = 5 };

	return run_path(path, sizeof(path), text, &of) ? path : "too long";
}

START_TEST(test_paths)
{
	ck_assert_str_eq(path_of("/d/f.%j.%t"), "/d/f.12.5");
	ck_assert_str_eq(path_of("%4j-%03t-%2n"), "0012-005-02");
	ck_assert_str_eq(path_of("%N/%u-%x"), "n3/me-my job");
	ck_assert_str_eq(path_of("%J %s %A"), "12.0.7 0.7 12");
	ck_assert_str_eq(path_of("%a"), "4294967294");
	ck_assert_str_eq(path_of("100%%.%t"), "100%.5");
	ck_assert_str_eq(path_of("%q%%%"), "%q%%");
	ck_assert_str_eq(path_of("a\\%t\\b"), "a%tb");
	ck_assert_str_eq(path_of("%99t"), "0000000005");
	ck_assert_str_eq(path_of("%t"), "5");
	ck_assert_str_eq(
		path_of("0123456789012345678901234567890123456789012345678901234567890%t%t"),
		"0123456789012345678901234567890123456789012345678901234567890"
		"55");
	ck_assert_str_eq(
		path_of("0123456789012345678901234567890123456789012345678901234567890%t%t%t"),
		"too long");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("run_stdio");
	TCase *t = tcase_create("lines"), *p = tcase_create("paths");

	tcase_add_test(t, test_labels);
	tcase_add_test(t, test_bare);
	tcase_add_loop_test(t, test_pieces, 0, unit_runs(20));
	tcase_add_test(t, test_long_line);
	suite_add_tcase(s, t);
	tcase_add_test(p, test_streams);
	tcase_add_test(p, test_paths);
	suite_add_tcase(s, p);
	return unit_main(s);
}
