/*
 * each_options.c - see each_options.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "each_inputs.h"
#include "each_options.h"
#include "each_refused.h"
#include "each_usage.h"
#include "each_value.h"
#include "src/storm_run/run_options.h"
#include "storm_config.h"

/* -------------------------------------------------------------------- options --- */

enum {
	LONG = 256, /* those of one letter are below */
	ARG_FILE_SEP,
	ARG_SEP,
	BAR,
	BASE_NAME,
	BASE_PLAIN_NAME,
	CRASH_LIMIT,
	DELAY,
	DIR_NAME,
	DRY_RUN,
	ENVIRONMENT,
	ETA,
	GROUP,
	HALT,
	IGNORED,
	JOBLOG,
	JOURNAL,
	LINE_BUFFER,
	LINK,
	MAX_ARGS,
	MAX_REPLACE_ARGS,
	MPI,
	NO_KEEP_ORDER,
	PLAIN_NAME,
	PROGRESS,
	REPLACE,
	RESULTS,
	RESUME,
	RESUME_FAILED,
	RETRIES,
	SEQ_NAME,
	SHUF,
	SLOT_NAME,
	TAG,
	TAGSTRING,
	TIMEOUT,
	TRIM,
	WD,
};

static const struct option each_options_known[] = {
	{ "arg-file", required_argument, NULL, 'a' },
	{ "arg-file-sep", required_argument, NULL, ARG_FILE_SEP },
	{ "arg-sep", required_argument, NULL, ARG_SEP },
	{ "bar", no_argument, NULL, BAR },
	{ "basenameextensionreplace", required_argument, NULL,
	  BASE_PLAIN_NAME },
	{ "basenamereplace", required_argument, NULL, BASE_NAME },
	{ "bner", required_argument, NULL, BASE_PLAIN_NAME },
	{ "bnr", required_argument, NULL, BASE_NAME },
	{ "colsep", required_argument, NULL, 'C' },
	{ "cpus-per-task", required_argument, NULL, 'c' },
	{ "crash-limit", required_argument, NULL, CRASH_LIMIT },
	{ "delay", required_argument, NULL, DELAY },
	{ "delimiter", required_argument, NULL, 'd' },
	{ "dirnamereplace", required_argument, NULL, DIR_NAME },
	{ "dnr", required_argument, NULL, DIR_NAME },
	{ "dry-run", no_argument, NULL, DRY_RUN },
	{ "dryrun", no_argument, NULL, DRY_RUN },
	{ "env", required_argument, NULL, ENVIRONMENT },
	{ "er", required_argument, NULL, PLAIN_NAME },
	{ "eta", no_argument, NULL, ETA },
	{ "extensionreplace", required_argument, NULL, PLAIN_NAME },
	{ "gnu", no_argument, NULL, IGNORED },
	{ "group", no_argument, NULL, GROUP },
	{ "halt", required_argument, NULL, HALT },
	{ "halt-on-error", required_argument, NULL, HALT },
	{ "help", no_argument, NULL, 'h' },
	{ "jl", required_argument, NULL, JOBLOG },
	{ "joblog", required_argument, NULL, JOBLOG },
	{ "journal", required_argument, NULL, JOURNAL },
	{ "jobs", required_argument, NULL, 'j' },
	{ "keep-order", no_argument, NULL, 'k' },
	{ "keeporder", no_argument, NULL, 'k' },
	{ "lb", no_argument, NULL, LINE_BUFFER },
	{ "line-buffer", no_argument, NULL, LINE_BUFFER },
	{ "linebuffer", no_argument, NULL, LINE_BUFFER },
	{ "link", no_argument, NULL, LINK },
	{ "max-args", required_argument, NULL, MAX_ARGS },
	{ "max-procs", required_argument, NULL, 'j' },
	{ "max-replace-args", required_argument, NULL, MAX_REPLACE_ARGS },
	{ "mpi", required_argument, NULL, MPI },
	{ "no-keep-order", no_argument, NULL, NO_KEEP_ORDER },
	{ "no-notice", no_argument, NULL, IGNORED },
	{ "no-run-if-empty", no_argument, NULL, 'r' },
	{ "nodes", required_argument, NULL, 'N' },
	{ "ntasks", required_argument, NULL, 'n' },
	{ "null", no_argument, NULL, '0' },
	{ "plain", no_argument, NULL, IGNORED },
	{ "progress", no_argument, NULL, PROGRESS },
	{ "quote", no_argument, NULL, 'q' },
	{ "replace", optional_argument, NULL, REPLACE },
	{ "res", required_argument, NULL, RESULTS },
	{ "results", required_argument, NULL, RESULTS },
	{ "resume", no_argument, NULL, RESUME },
	{ "resume-failed", no_argument, NULL, RESUME_FAILED },
	{ "retries", required_argument, NULL, RETRIES },
	{ "seqreplace", required_argument, NULL, SEQ_NAME },
	{ "shuf", no_argument, NULL, SHUF },
	{ "slotreplace", required_argument, NULL, SLOT_NAME },
	{ "tag", no_argument, NULL, TAG },
	{ "tagstring", required_argument, NULL, TAGSTRING },
	{ "timeout", required_argument, NULL, TIMEOUT },
	{ "trim", required_argument, NULL, TRIM },
	{ "ungroup", no_argument, NULL, 'u' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "version", no_argument, NULL, 'V' },
	{ "wd", required_argument, NULL, WD },
	{ "will-cite", no_argument, NULL, IGNORED },
	{ "workdir", required_argument, NULL, WD },
	{ "xapply", no_argument, NULL, LINK },
};
static const char each_letters[] = "+0a:C:c:d:gI:hj:kmN:n:P:qruVvX";

/* What is said of the arguments.  1: it was such an option; 0: it was not; -1: it was
 * said why. */
static int each_set_arguments(int option, const char *value,
			      struct each_parsing *p)
{
	struct each_options *o = p->o;

	switch (option) {
	case 'a':
		return each_inputs_file(p, value) ? 1 : -1;
	case '0':
		o->delimiter = "";
		o->delimiter_len = 1;
		return 1;
	case 'd':
		return each_value_delimiter(value, o) ? 1 : -1;
	case 'C':
		o->colsep = value;
		return 1;
	case TRIM:
		p->trimmed = true;
		return each_value_trim(value, o) ? 1 : -1;
	case LINK:
		o->link = true;
		return 1;
	case 'r':
		o->no_empty = true;
		return 1;
	case SHUF:
		o->shuf = true;
		return 1;
	case MAX_ARGS:
	case MAX_REPLACE_ARGS:
		p->context |= option == MAX_REPLACE_ARGS;
		return each_value_max_args(value, o) ? 1 : -1;
	case 'X':
	case 'm':
		p->context |= option == 'X';
		o->many_spread = true;
		return 1;
	case ARG_SEP:
		p->arg_sep = value;
		return 1;
	case ARG_FILE_SEP:
		p->file_sep = value;
		return 1;
	default:
		return 0;
	}
}

/* Likewise, of names. */
static int each_set_name(int option, const char *value, struct each_options *o)
{
	static const struct {
		int option;
		enum each_name name;
	} names[] = {
		{ 'I', EACH_ARG },
		{ REPLACE, EACH_ARG },
		{ BASE_NAME, EACH_BASE },
		{ DIR_NAME, EACH_DIR },
		{ PLAIN_NAME, EACH_PLAIN },
		{ BASE_PLAIN_NAME, EACH_BASE_PLAIN },
		{ SEQ_NAME, EACH_SEQ },
		{ SLOT_NAME, EACH_SLOT },
	};

	for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++) {
		if (names[k].option != option)
			continue;
		if (value && !*value) {
			run_say("a replacement string cannot be empty");
			return -1;
		}
		o->names[names[k].name] = value ? value : "{}";
		return 1;
	}
	return 0;
}

/* Likewise, of how tasks run. */
static int each_set_run(int option, const char *value, struct each_options *o)
{
	switch (option) {
	case 'j':
	case 'P':
		return each_value_jobs(value, &o->jobs) ? 1 : -1;
	case 'c':
		return each_value_number(value, "CPUs", 1, &o->cpus) ? 1 : -1;
	case 'n':
		return each_value_number(value, "tasks", 1, &o->tasks) ? 1 : -1;
	case 'N':
		return each_value_number(value, "nodes", 1, &o->nodes) ? 1 : -1;
	case MPI:
		return run_mpi_read(value, &o->mpi) ? 1 : -1;
	case WD:
		o->wd = value;
		return 1;
	case ENVIRONMENT:
	case IGNORED:
		return 1;
	case DELAY:
		return each_value_time(value, "--delay", &o->delay_us) ? 1 : -1;
	case TIMEOUT:
		return each_value_time(value, "--timeout", &o->timeout_us) ? 1 :
									     -1;
	case CRASH_LIMIT:
		return each_value_crashes(value, o) ? 1 : -1;
	case RETRIES:
		return each_value_retries(value, o) ? 1 : -1;
	case HALT:
		if (each_halt_parse(value, &o->halt))
			return 1;
		run_say("--halt %s: it is never, or now or soon, a comma, and fail, success or done with =N or =N%%",
			value);
		return -1;
	case 'q':
		o->quote = true;
		return 1;
	default:
		return 0;
	}
}

/* Likewise, of what is seen. */
static int each_set_output(int option, const char *value,
			   struct each_options *o)
{
	static const struct {
		int option;
		size_t flag;
	} flags[] = {
		{ BAR, offsetof(struct each_options, bar) },
		{ DRY_RUN, offsetof(struct each_options, dry_run) },
		{ ETA, offsetof(struct each_options, eta) },
		{ PROGRESS, offsetof(struct each_options, progress) },
		{ RESUME, offsetof(struct each_options, resume) },
		{ RESUME_FAILED, offsetof(struct each_options, resume_failed) },
		{ 'k', offsetof(struct each_options, keep_order) },
		{ 'v', offsetof(struct each_options, verbose) },
	};

	for (size_t k = 0; k < sizeof(flags) / sizeof(*flags); k++)
		if (flags[k].option == option) {
			*(bool *) ((char *) o + flags[k].flag) = true;
			return 1;
		}
	switch (option) {
	case NO_KEEP_ORDER:
		o->keep_order = false;
		return 1;
	case GROUP:
	case 'g':
		o->group = EACH_GROUPED;
		return 1;
	case LINE_BUFFER:
		o->group = EACH_LINE_BUFFER;
		return 1;
	case 'u':
		o->group = EACH_UNGROUPED;
		return 1;
	case TAG:
		o->tag = o->tag ? o->tag : "{}";
		return 1;
	case TAGSTRING:
		o->tag = value;
		return 1;
	case RESULTS:
		o->results = value;
		return 1;
	case JOURNAL:
		o->journal = value;
		return 1;
	case JOBLOG:
		o->joblog_appends = *value == '+';
		o->joblog = value + o->joblog_appends;
		return 1;
	default:
		return 0;
	}
}

/* False: it was said why. */
static bool each_set(int option, const char *long_name, const char *value,
		     struct each_parsing *p)
{
	int is;

	if (each_refuse(option, long_name))
		return false;
	(void) ((is = each_set_arguments(option, value, p)) ||
		(is = each_set_name(option, value, p->o)) ||
		(is = each_set_run(option, value, p->o)) ||
		(is = each_set_output(option, value, p->o)));
	/* 0: getopt_long(3) has said it */
	return is > 0;
}

/* ------------------------------------------------------------------- together --- */

static bool each_agree(const struct each_options *o)
{
	const char *perl = NULL;

	for (size_t k = 0; k < o->command_words && !perl; k++)
		if ((perl = strstr(o->command[k], "{=")) && !strstr(perl, "=}"))
			perl = NULL;
	if (perl)
		run_say("\"%s\": {= =} is Perl, which is not here: let the command itself compute it",
			perl);
	else if ((o->resume || o->resume_failed) && !o->joblog)
		run_say("--resume and --resume-failed read the joblog: name it with --joblog");
	else if ((o->resume || o->resume_failed) && o->shuf)
		run_say("--resume knows tasks by their number, which --shuf gives by chance: leave one of them out");
	else if (o->joblog && !*o->joblog)
		run_say("--joblog: the name of the file is empty");
	else
		return true;
	return false;
}

static void each_default(struct each_options *o)
{
	*o = (struct each_options) {
		.names = { "{}", "{/}", "{//}", "{.}", "{/.}", "{#}", "{%}" },
		.delimiter = "\n",
		.delimiter_len = 1,
		.cpus = 1,
		.retries = 1,
		.crash_limit = 3,
	};
}

/* What follows from several options. */
static void each_settle(struct each_parsing *p)
{
	struct each_options *o = p->o;

	if (o->colsep && !p->trimmed)
		o->trim_left = o->trim_right = true;
	if (p->context)
		o->many = EACH_CONTEXT;
	else if (o->many_spread || o->max_args)
		o->many = EACH_MANY;
	if (o->no_args)
		o->many_spread = false;
}

/* All options, and those that are refused, for getopt_long(3). */
static bool each_known(struct option **all, char **letters)
{
	size_t count = sizeof(each_options_known) / sizeof(*each_options_known);

	*all = calloc(count + each_refused_count() + 1, sizeof(**all));
	*letters = calloc(1, sizeof(each_letters) + 3 * each_refused_count());
	if (!*all || !*letters) {
		run_say("no memory");
		return false;
	}
	memcpy(*all, each_options_known, sizeof(each_options_known));
	memcpy(*letters, each_letters, sizeof(each_letters));
	each_refused_options(*all + count, *letters + strlen(each_letters));
	return true;
}

/* EACH_GOES_ON, or the exit status. */
static int each_parse_options(int argc, char **argv, struct each_parsing *p)
{
	struct option *all = NULL;
	char *letters = NULL;
	int c, index = -1, status = EACH_GOES_ON;

	if (!each_known(&all, &letters))
		status = EACH_FAILED;
	while (status == EACH_GOES_ON &&
	       (c = getopt_long(argc, argv, letters, all, &index)) >= 0) {
		const char *name = index < 0 ? NULL : all[index].name;

		if (c == 'V' || c == 'h') {
			fputs(c == 'h' ? each_usage :
					 "storm " STORM_VERSION "\n",
			      stdout);
			status = 0;
		} else if (!each_set(c, name, optarg, p)) {
			status = EACH_USAGE;
		}
		index = -1;
	}
	free(all);
	free(letters);
	return status;
}

int each_parse(int argc, char **argv, struct each_options *o)
{
	struct each_parsing p = { .o = o, .arg_sep = ":::", .file_sep = "::::" };
	int status;

	each_default(o);
	argv[0] = (char *) "storm each"; /* which getopt_long(3) says */
	run_say_as(argv[0]);
	status = each_parse_options(argc, argv, &p);
	if (status != EACH_GOES_ON)
		return status;
	if (!each_inputs_split(&p, argv + optind))
		return EACH_USAGE;
	each_settle(&p);
	return each_agree(o) ? EACH_GOES_ON : EACH_USAGE;
}

bool each_are_runs(const struct each_options *o)
{
	return o->tasks || o->nodes || o->mpi != RUN_MPI_NONE;
}

uint32_t each_slots(const struct each_options *o, uint32_t cpus)
{
	uint64_t ranks = o->tasks ? o->tasks : o->nodes ? o->nodes : 1;
	uint32_t most = (uint32_t) (cpus / (o->cpus * ranks)), slots = most;

	if (o->jobs.kind == EACH_COUNT && o->jobs.number)
		slots = o->jobs.number;
	else if (o->jobs.kind == EACH_PERCENT)
		slots = (uint32_t) ((uint64_t) most * o->jobs.number / 100);
	else if (o->jobs.kind == EACH_LESS)
		slots = most > o->jobs.number ? most - o->jobs.number : 1;
	return slots ? slots : 1;
}
