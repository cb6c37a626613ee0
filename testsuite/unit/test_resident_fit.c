/*
 * test_resident_fit.c - which steps of srun --resident go by the job's launchers, and by
 * which words.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/plugins/spank/storm/resident_fit.h"
#include "unit.h"

static char *const program[] = { "prog", "-n", "a b", NULL };

/* What a step with one more option lacks, or "". */
static const char *lacks(const struct resident_step *s, const char *name,
			 const char *value, bool by_env)
{
	static char why[100];
	const struct resident_option o[] = { { "jobid", "7", true },
					     { name, value, by_env } };
	struct resident_step with = *s;

	with.options = o;
	with.count = name ? 2 : 1;
	return resident_fits(&with, why, sizeof(why)) ? "" : why;
}

static const struct resident_step plain = { .job = "7", .argv = program };

static const char *given(const char *name, const char *value)
{
	return lacks(&plain, name, value, false);
}

static const char *by_variable(const char *name, const char *value)
{
	return lacks(&plain, name, value, true);
}

START_TEST(test_options)
{
	static const char *const words[] = {
		"chdir",   "cpus-per-task", "error",	"exclude",
		"exact",   "input",	    "job-name", "kill-on-bad-exit",
		"label",   "multi-prog",    "nodelist", "nodes",
		"ntasks",  "wait",	    "no-kill",	"ntasks-per-node",
		"overlap", "open-mode",	    "time",	"output",
		"quiet",   "unbuffered",    "verbose",
	};
	/* of the launchers' step, or of a step of Slurm's alone */
	static const char *const others[] = {
		"bcast",       "container",   "dependency", "epilog",
		"gpus",	       "gres",	      "het-group",  "immediate",
		"licenses",    "mem-per-cpu", "overcommit", "profile",
		"prolog",      "pty",	      "relative",   "task-epilog",
		"task-prolog", "x11",	      "a-new-one",
	};
	char want[60];

	ck_assert_str_eq(lacks(&plain, NULL, NULL, false), "");
	for (size_t k = 0; k < sizeof(words) / sizeof(*words); k++) {
		ck_assert_str_eq(given(words[k], "1"), "");
		ck_assert_str_eq(by_variable(words[k], "1"), "");
	}
	for (size_t k = 0; k < sizeof(others) / sizeof(*others); k++) {
		snprintf(want, sizeof(want), "--%s", others[k]);
		ck_assert_str_eq(given(others[k], "1"), want);
	}
}
END_TEST

/* sbatch and slurmstepd set some: these say what the job has, and so do launchers. */
START_TEST(test_variables)
{
	ck_assert_str_eq(by_variable("mem", "4G"), "");
	ck_assert_str_eq(by_variable("mem-per-cpu", "4G"), "");
	ck_assert_str_eq(by_variable("gpus-per-node", "4"), "");
	ck_assert_str_eq(by_variable("partition", "p"), "");
	ck_assert_str_eq(by_variable("oom-kill-step", "0"), "");
	ck_assert_str_eq(by_variable("gpus-per-task", "1"), "");
	ck_assert_str_eq(by_variable("threads-per-core", "1"),
			 "--threads-per-core, by a variable");
	ck_assert_str_eq(by_variable("profile", "task"),
			 "--profile, by a variable");
}
END_TEST

START_TEST(test_values)
{
	struct resident_step s = plain;

	ck_assert_str_eq(given("mem", "0M"), "");
	ck_assert_str_eq(given("mem", "0?"), "");
	ck_assert_str_eq(given("mem", "100M"), "--mem");
	ck_assert_str_eq(given("jobid", "7"), "");
	ck_assert_str_eq(given("jobid", "77"), "--jobid");
	ck_assert_str_eq(given("distribution", "block"), "");
	ck_assert_str_eq(given("distribution", "block:cyclic"), "");
	ck_assert_str_eq(given("distribution", "cyclic"), "--distribution");
	ck_assert_str_eq(given("distribution", "block,pack"), "--distribution");
	s.least = s.most = s.tasks = 2;
	ck_assert_str_eq(lacks(&s, "distribution", "cyclic", true), "");
	s.tasks = 3;
	ck_assert_str_eq(lacks(&s, "distribution", "cyclic", false),
			 "--distribution");
	ck_assert_str_eq(given("export", "ALL"), "");
	ck_assert_str_eq(by_variable("export", "NONE"),
			 "--export, by a variable");
	ck_assert_str_eq(given("tres-per-task", "cpu=4"), "");
	ck_assert_str_eq(given("tres-per-task", "cpu=4,gres/gpu=1"),
			 "--tres-per-task");
	ck_assert_str_eq(lacks(&s, "pty", "set", false), "--pty");
	s.terminal = true;
	ck_assert_str_eq(lacks(&s, "pty", "set", false), "--pty");
	s.tasks = 1;
	ck_assert_str_eq(lacks(&s, "pty", "set", false), "");
	ck_assert_str_eq(lacks(&s, "pty", "", false), "");
	ck_assert_str_eq(lacks(&s, "pty", "5", false), "--pty");
	s.label = true;
	ck_assert_str_eq(lacks(&s, "pty", "set", false), "--pty");
	s.stream[1] = "f.%t";
	ck_assert_str_eq(lacks(&s, "output", "f.%t", false), "");
	ck_assert_str_eq(lacks(&s, "label", "set", false), "--label");
}
END_TEST

/* What storm run has itself; GPUs of a type, and other bindings, want a step. */
START_TEST(test_places)
{
	struct resident_step s = plain;

	ck_assert_str_eq(lacks(&s, "cpu-bind", "", false), "--cpu-bind");
	ck_assert_str_eq(lacks(&s, "cpu-bind", "rank", true),
			 "--cpu-bind, by a variable");
	s.bind = "none";
	ck_assert_str_eq(lacks(&s, "cpu-bind", "", false), "");
	ck_assert_str_eq(lacks(&s, "cpu_bind", "", true), "");
	ck_assert_str_eq(given("gpus-per-task", "2"), "");
	ck_assert_str_eq(given("gpus-per-task", "0"), "--gpus-per-task");
	ck_assert_str_eq(given("gpus-per-task", "a100:2"), "--gpus-per-task");
	ck_assert_str_eq(given("gpus-per-task", ""), "--gpus-per-task");
}
END_TEST

START_TEST(test_states)
{
	struct resident_step s = { .argv = program };
	char why[8];

	ck_assert(!resident_fits(&s, why, sizeof(why)));
	ck_assert_str_eq(why, "this is");
	s = plain;
	s.bars = "TaskProlog";
	ck_assert_str_eq(lacks(&s, NULL, NULL, false), "TaskProlog");
	s = plain;
	s.least = 2;
	s.most = 4;
	ck_assert_str_eq(lacks(&s, NULL, NULL, false), "a range of nodes");
	s.most = 0; /* no more were asked for */
	ck_assert_str_eq(lacks(&s, NULL, NULL, false), "");
	s.mpi = "none";
	ck_assert_str_eq(lacks(&s, NULL, NULL, false), "");
	s.mpi = "pmi1";
	ck_assert_str_eq(lacks(&s, NULL, NULL, false), "");
	s.mpi = "pmix_v4";
	ck_assert_str_eq(lacks(&s, NULL, NULL, false), "MPI");
	s.pmix = true;
	ck_assert_str_eq(lacks(&s, NULL, NULL, false), "");
	s.mpi = "pmi2";
	ck_assert_str_eq(lacks(&s, NULL, NULL, false), "MPI");
}
END_TEST

static const char *words_of(const struct resident_step *s)
{
	static char out[500];
	struct resident_words w;
	size_t n = 0;

	ck_assert(resident_words_init(&w, s));
	for (char **at = w.word; *at; at++)
		n += (size_t) snprintf(out + n, sizeof(out) - n, "%s%s",
				       at == w.word ? "" : "|", *at);
	resident_words_fini(&w);
	ck_assert(!w.word);
	return out;
}

START_TEST(test_words)
{
	struct resident_step s = plain;

	ck_assert_str_eq(
		words_of(&s),
		"srun|run|-t|0|--kill-on-bad-exit=0|--no-kill=off|-W|0|--|"
		"prog|-n|a b");
	s = (struct resident_step) {
		.job = "7",
		.least = 4294967295,
		.tasks = 8,
		.cpus = 3,
		.with = "n[1-2]",
		.without = "n4",
		.chdir = "/tmp",
		.stream = { "none", "out.%t", "err" },
		.label = true,
		.append = true,
		.minutes = 90,
		.kill = true,
		.stays = true,
		.wait = 30,
		.argv = program,
	};
	ck_assert_str_eq(
		words_of(&s),
		"srun|run|-N|4294967295|-n|8|-c|3|-w|n[1-2]|-x|n4|-D|/tmp|-t|90|"
		"--kill-on-bad-exit=1|--no-kill|-W|30|-i|none|-o|out.%t|-e|err|"
		"--open-mode=a|-l|--|prog|-n|a b");
	s = plain;
	s.mpi = "pmi1";
	s.unbuffered = s.quiet = true;
	ck_assert_str_eq(
		words_of(&s),
		"srun|run|-t|0|--kill-on-bad-exit=0|--no-kill=off|-W|0|--mpi|pmi1|"
		"-u|-Q|--|prog|-n|a b");
	s.mpi = "pmix_v4";
	s.pty = true;
	ck_assert_str_eq(
		words_of(&s),
		"srun|run|-t|0|--kill-on-bad-exit=0|--no-kill=off|-W|0|--mpi|pmix|"
		"--pty|-Q|--|prog|-n|a b");
	s = plain;
	s.options = (const struct resident_option[]) {
		{ "cpu-bind", "cores", false },
		{ "gpus-per-task", "2", true },
		{ "mem", "0", true },
	};
	s.count = 3;
	s.bind = "verbose,cores";
	ck_assert_str_eq(
		words_of(&s),
		"srun|run|--cpu-bind|verbose,cores|--gpus-per-task|2|-t|0|"
		"--kill-on-bad-exit=0|--no-kill=off|-W|0|--|prog|-n|a b");
	s.options = (const struct resident_option[]) {
		{ "cpu-bind", "0x1", true },
	};
	s.count = 1;
	s.bind = "mask_cpu:0x1";
	ck_assert_str_eq(
		words_of(&s),
		"srun|run|-t|0|--kill-on-bad-exit=0|--no-kill=off|-W|0|--|"
		"prog|-n|a b");
	s = (struct resident_step) { .job = "7",
				     .multi = true,
				     .argv = program };
	/* srun has put the file's text behind its name */
	ck_assert_str_eq(
		words_of(&s),
		"srun|run|-t|0|--kill-on-bad-exit=0|--no-kill=off|-W|0|--multi-prog|--|"
		"prog|a b");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("resident_fit");
	TCase *t = tcase_create("fit");

	tcase_add_test(t, test_options);
	tcase_add_test(t, test_variables);
	tcase_add_test(t, test_values);
	tcase_add_test(t, test_places);
	tcase_add_test(t, test_states);
	tcase_add_test(t, test_words);
	suite_add_tcase(s, t);
	return unit_main(s);
}
