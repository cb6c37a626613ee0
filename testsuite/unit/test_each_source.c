/*
 * test_each_source.c - storm each: options, what is refused, rows and their number, and
 * commands, as far as GNU parallel is not needed to tell what is right
 * (each_as_parallel).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <getopt.h>

#include "src/storm_each/each_command.h"
#include "src/storm_each/each_options.h"
#include "src/storm_each/each_source.h"
#include "unit.h"

/* What was said on standard error since. */
static char said[4096];

static int parse(struct each_options *o, char **argv)
{
	FILE *kept = stderr;
	int argc = 0, status;

	while (argv[argc])
		argc++;
	memset(said, 0, sizeof(said));
	stderr = fmemopen(said, sizeof(said) - 1, "w");
	must(stderr);
	optind = 0;
	status = each_parse(argc, argv, o);
	fclose(stderr);
	stderr = kept;
	return status;
}
#define PARSE(o, ...) \
	parse(o, (char *[]) { (char *) "each", __VA_ARGS__, NULL })
#define W(text) ((char *) (text))

/* All rows, each argument in brackets and each row with its end. */
static const char *rows_of(const struct each_options *o)
{
	static char text[4096];
	struct each_sources *s = each_sources_open(o);
	struct each_row row;
	int is;

	must(s);
	text[0] = '\0';
	while ((is = each_sources_next(s, &row)) > 0) {
		for (uint32_t k = 0; k < row.count; k++)
			sprintf(text + strlen(text), "[%s]", row.arg[k]);
		strcat(text, ";");
		each_row_free(&row);
	}
	must(!is && !each_sources_next(s, &row));
	each_sources_close(s);
	return text;
}

START_TEST(test_rows)
{
	struct each_options o;

	must(PARSE(&o, W("c"), W(":::"), W("a"), W("b"), W(":::"), W("1"),
		   W("2")) == EACH_GOES_ON);
	must(o.command_words == 1 && o.input_count == 2);
	ck_assert_str_eq(rows_of(&o), "[a][1];[a][2];[b][1];[b][2];");
}
END_TEST

static uint64_t total_of(const struct each_options *o)
{
	struct each_sources *s = each_sources_open(o);
	uint64_t total, count, left = 0;
	struct each_row row;

	must(s);
	total = each_sources_total(s);
	count = (uint64_t) each_sources_count(s);
	must(!total || total == count);
	/* what was counted comes yet */
	while (each_sources_next(s, &row) > 0) {
		left++;
		each_row_free(&row);
	}
	ck_assert_uint_eq(left, count);
	each_sources_close(s);
	return total;
}

START_TEST(test_total)
{
	struct each_options o;

	PARSE(&o, W("c"), W(":::"), W("a"), W("b"), W(":::"), W("1"), W("2"),
	      W("3"));
	ck_assert_uint_eq(total_of(&o), 6);
	PARSE(&o, W("c"), W(":::"), W("a"), W("b"), W(":::+"), W("1"), W(":::"),
	      W("x"), W("y"), W("z"));
	ck_assert_uint_eq(total_of(&o), 3);
	PARSE(&o, W("--link"), W("c"), W(":::"), W("a"), W("b"), W(":::"),
	      W("1"), W("2"), W("3"));
	ck_assert_uint_eq(total_of(&o), 3);
	PARSE(&o, W("c"), W(":::"), W("a\nb"), W("c"));
	ck_assert_uint_eq(total_of(&o), 3);
	PARSE(&o, W("c"), W(":::"), W("a"), W(":::"));
	ck_assert_uint_eq(total_of(&o), 1);
	PARSE(&o, W("c"), W(":::"));
	ck_assert_uint_eq(total_of(&o), 0);
	/* a file has to be read for it */
	PARSE(&o, W("-a"), W("/dev/null"), W("c"));
	ck_assert_uint_eq(total_of(&o), 0);
	PARSE(&o, W("--max-args=2"), W("c"), W(":::"), W("a"), W("b"), W("c"));
	ck_assert_uint_eq(total_of(&o), 0);
}
END_TEST

/* Each row is there once, in another order than before. */
START_TEST(test_shuf)
{
	struct each_options o;
	char word[100][8],
		*argv[103] = { W("each"), W("--shuf"), W("c"), W(":::") };
	bool seen[96] = { false }, other = false;
	struct each_sources *s;
	struct each_row row;
	int n = 0;

	for (int k = 0; k < 96; k++) {
		snprintf(word[k], sizeof(word[k]), "%d", k);
		argv[4 + k] = word[k];
	}
	must(parse(&o, argv) == EACH_GOES_ON);
	s = each_sources_open(&o);
	must(s);
	while (each_sources_next(s, &row) > 0) {
		int at = atoi(row.arg[0]);

		must(row.count == 1 && !seen[at]);
		seen[at] = true;
		other |= at != n++;
		each_row_free(&row);
	}
	must(n == 96 && other);
	each_sources_close(s);
}
END_TEST

/* A command stays far below what the kernel takes, and none is lost: arguments that need
 * quotes, in words that are there once for each. */
START_TEST(test_fits)
{
	enum { MANY = 30000 };
	static char word[] = "a'b c";
	char **argv = calloc(MANY + 6, sizeof(*argv));
	struct each_options o;
	struct each_sources *s;
	struct each_row row;
	size_t len, args = 0, rows = 0;

	must(argv);
	argv[0] = W("each");
	argv[1] = _i ? W("-X") : W("-m");
	argv[2] = W("c");
	argv[3] = W("long-word-{}-{.}");
	argv[4] = W(":::");
	for (int k = 0; k < MANY; k++)
		argv[5 + k] = word;
	must(parse(&o, argv) == EACH_GOES_ON);
	o.slots = 3;
	s = each_sources_open(&o);
	must(s);
	while (each_sources_next(s, &row) > 0) {
		char *text = each_command(&o, &row, 1, &len);

		must(text && len < 100000);
		args += row.count;
		rows++;
		free(text);
		each_row_free(&row);
	}
	must(args == MANY && rows > 5 && rows < 100);
	each_sources_close(s);
	free(argv);
}
END_TEST

/* ------------------------------------------------------------------------ texts --- */

static void text_is(const char *want, const char *got, size_t len)
{
	must(got);
	ck_assert_msg(len == strlen(want) && !strcmp(want, got),
		      "\"%s\", and not \"%s\"", got, want);
}

START_TEST(test_texts)
{
	struct each_options o;
	struct each_row row = { 2, (char *[]) { W("a b/c.d"), W("e") } };
	size_t len;
	char *text, *whole;

	PARSE(&o, W("c {%} {}"), W(":::"), W("x"));
	/* the slot is known when the task starts */
	text = each_command(&o, &row, 7, &len);
	must(len == strlen("c X 'a b/c.d' e") && !text[2]);
	whole = each_with_slot(text, len, 12);
	ck_assert_str_eq(whole, "c 12 'a b/c.d' e");
	free(whole);
	free(text);
	/* no quotes, and nothing is appended */
	text = each_text(&o, "{1/.}-{#} {2}", &row, 7, &len);
	text_is("c-7 e", text, len);
	free(text);
	text = each_text(&o, "plain", &row, 7, &len);
	text_is("plain", text, len);
	free(text);
	must(each_has_names(&o, "x{1}") && !each_has_names(&o, "x{y}"));
}
END_TEST

START_TEST(test_results)
{
	static char *const args[][2] = {
		{ W("a"), W("/d/1/a") },	 { W("b/c"), W("/d/1/b\\_c") },
		{ W(""), W("/d/1/\\0") },	 { W("."), W("/d/1/\\.") },
		{ W(".."), W("/d/1/\\..") },	 { W("..."), W("/d/1/...") },
		{ W("\\"), W("/d/1/\\\\") },	 { W("t\tx"), W("/d/1/t\\tx") },
		{ W("../x"), W("/d/1/..\\_x") },
	};

	for (size_t k = 0; k < sizeof(args) / sizeof(*args); k++) {
		struct each_row row = { 1, (char *[]) { args[k][0] } };
		char *dir = each_results_dir("/d/", &row);

		ck_assert_str_eq(dir, args[k][1]);
		free(dir);
	}
}
END_TEST

/* ---------------------------------------------------------------------- options --- */

START_TEST(test_values)
{
	struct each_options o;

	must(PARSE(&o, W("-kj4"), W("--timeout"), W("1m30.5s"),
		   W("--delay=.25"), W("--retries"), W("3"), W("--tag"),
		   W("--joblog"), W("+log"), W("--halt=now,fail=2%"), W("-c2"),
		   W("--lb"), W("--wd=/x"), W("c"), W("-n"), W(":::"),
		   W("a")) == EACH_GOES_ON);
	must(o.keep_order && o.jobs.kind == EACH_COUNT && o.jobs.number == 4);
	must(o.timeout_us == 90500000 && o.delay_us == 250000);
	must(o.retries == 3 && !strcmp(o.tag, "{}") && o.cpus == 2);
	must(!strcmp(o.joblog, "log") && o.joblog_appends);
	must(o.halt.why == EACH_FAIL && o.halt.percent && o.halt.number == 2);
	must(o.group == EACH_LINE_BUFFER && !strcmp(o.wd, "/x"));
	must(o.command_words == 2 && !strcmp(o.command[1], "-n"));
	must(!each_are_runs(&o));
	must(PARSE(&o, W("-n6"), W("--nodes=2"), W("-c3"), W("--mpi=pmi1"),
		   W("c")) == EACH_GOES_ON);
	must(o.tasks == 6 && o.nodes == 2 && o.mpi == RUN_MPI_PMI1 &&
	     each_are_runs(&o) && each_slots(&o, 40) == 2);
	must(PARSE(&o, W("-N2"), W("-j50%"), W("c")) == EACH_GOES_ON &&
	     each_are_runs(&o) && each_slots(&o, 12) == 3);
	must(PARSE(&o, W("--retries=0"), W("c")) == EACH_GOES_ON &&
	     o.retries == UINT32_MAX && !o.input_count);
}
END_TEST

START_TEST(test_slots)
{
	static const struct {
		char *jobs;
		uint32_t cpus, slots;
	} cases[] = {
		{ W("-j0"), 8, 8 },    { W("-j3"), 8, 3 },
		{ W("-j50%"), 8, 4 },  { W("-j1%"), 8, 1 },
		{ W("-j-2"), 8, 6 },   { W("-j-9"), 8, 1 },
		{ W("-j100%"), 8, 8 }, { W("-c4"), 8, 2 },
		{ W("-c9"), 8, 1 },
	};

	for (size_t k = 0; k < sizeof(cases) / sizeof(*cases); k++) {
		struct each_options o;

		must(PARSE(&o, cases[k].jobs, W("c")) == EACH_GOES_ON);
		ck_assert_msg(each_slots(&o, cases[k].cpus) == cases[k].slots,
			      "%s: %u", cases[k].jobs,
			      each_slots(&o, cases[k].cpus));
	}
}
END_TEST

/* An option that cannot be, and what its line has. */
static const struct {
	char *option, *says;
} refused[] = {
	{ W("-S"), W("-S: tasks run on the job's nodes") },
	{ W("-Shost"), W("-S: tasks run on the job's nodes") },
	{ W("--sshlogin=h"), W("--sshlogin: tasks run on the job's nodes") },
	{ W("--pipe"), W("--pipe: tasks get no part of an input") },
	{ W("-n0"), W("\"0\" is no number of tasks") },
	{ W("-Nx"), W("\"x\" is no number of nodes") },
	{ W("--mpi=pmi2"), W("--mpi=pmi2: storm run has none, pmi1 for") },
	{ W("--plus"), W("--plus: there is no Perl here") },
	{ W("--semaphore"), W("--semaphore: storm each is no semaphore") },
	{ W("--tmux"), W("--tmux: tasks have no terminal") },
	{ W("--retry-failed"), W("--retry-failed: take --resume-failed") },
	{ W("--timeout=200%"), W("--timeout 200%: a share") },
	{ W("--timeout=x"), W("--timeout x: it is a number of seconds") },
	{ W("--delay=1sauto"), W("--delay 1sauto: it is a number") },
	{ W("-j+2"), W("-j +2: no task runs without a CPU") },
	{ W("-jx"), W("-j x: it is a number") },
	{ W("--halt=sometimes"), W("--halt sometimes: it is never") },
	{ W("--trim=x"), W("--trim x: it is n, l, r or lr") },
	{ W("-d\\0x"), W("-d \"\\0x\": it is a text") },
	{ W("--resume"), W("--resume and --resume-failed read the joblog") },
	{ W("--nosuch"), W("unrecognized option '--nosuch'") },
	{ W("--replace="), W("a replacement string cannot be empty") },
	{ W("-c0"), W("\"0\" is no number of CPUs") },
};

START_TEST(test_refused)
{
	struct each_options o;
	int status = PARSE(&o, refused[_i].option, W("c"), W("{}"));

	ck_assert_int_eq(status, EACH_USAGE);
	ck_assert_msg(strstr(said, refused[_i].says) &&
			      !strncmp(said, "storm each: ", 12),
		      "%s: %s", refused[_i].option, said);
}
END_TEST

START_TEST(test_perl)
{
	struct each_options o;

	ck_assert_int_eq(PARSE(&o, W("echo"), W("{= $_++ =}"), W(":::"),
			       W("1")),
			 EACH_USAGE);
	must(strstr(said, "is Perl"));
	must(PARSE(&o, W("echo"), W("{="), W(":::"), W("1")) == EACH_GOES_ON);
}
END_TEST

START_TEST(test_colsep)
{
	static char *const bad[] = {
		W("(?i)x"), W("x*?"), W("[\\]x]"), W("\\b"), W("a*"),
		W("x|"),    W("("),   W("\\x2c"),  W("x\\"), W("[a"),
	};

	for (size_t k = 0; k < sizeof(bad) / sizeof(*bad); k++) {
		struct each_options o;

		must(PARSE(&o, W("-C"), bad[k], W("c"), W(":::"), W("a")) ==
		     EACH_GOES_ON);
		ck_assert_msg(!each_sources_open(&o), "%s", bad[k]);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("each_source");
	TCase *tc = tcase_create("each_source");

	tcase_add_test(tc, test_rows);
	tcase_add_test(tc, test_total);
	tcase_add_test(tc, test_shuf);
	tcase_add_loop_test(tc, test_fits, 0, 2);
	tcase_add_test(tc, test_texts);
	tcase_add_test(tc, test_results);
	tcase_add_test(tc, test_values);
	tcase_add_test(tc, test_slots);
	tcase_add_loop_test(tc, test_refused, 0,
			    sizeof(refused) / sizeof(*refused));
	tcase_add_test(tc, test_perl);
	tcase_add_test(tc, test_colsep);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
