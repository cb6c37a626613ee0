/*
 * storm_stack.c - storm stack: where the tasks of a job are, each one's stack, with equal ones
 * merged.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "slurm/slurm.h"

#include "src/libstorm/base/clock.h"
#include "src/storm_common/show_options.h"
#include "src/storm_common/slurm_build.h"
#include "stack_show.h"
#include "stack_steps.h"

#define LIMIT 30	       /* s; the default */
#define NAMED 8		       /* nodes without an answer */
#define AGAIN (200 * STORM_MS) /* between two looks for another one */

enum { DONE = SHOW_FINE, FAILED = SHOW_WRONG, USAGE = SHOW_USAGE, PART = 3 };
enum stack_form { FORM_TEXT, FORM_JSON, FORM_DOT };

static const char usage[] =
	"Usage: storm stack [OPTIONS] JOB[.STEP]\n"
	"Show where the tasks of a running job are: the stack of each process, with equal\n"
	"ones in one line.\n"
	"\n"
	"  -e, --every=SECONDS    look again after so long [10, with --times]\n"
	"  -n, --times=NUMBER     look so often [1; without end, with --every]\n"
	"      --threads          also other threads than the first of each process\n"
	"      --json             print JSON, one object in a line\n"
	"      --dot              print the call tree for dot(1)\n"
	"  -t, --timeout=SECONDS  wait so long for the nodes, and for another storm stack [30]\n"
	"  -V, --version          print the version\n"
	"  -h, --help             print this summary\n"
	"\n"
	"JOB is a number, or ARRAY_TASK.  STEP is a number, or batch.\n"
	"Exit status: 0 done, 1 not possible, 2 usage, 3 some nodes did not answer.\n";

struct stack_order {
	enum stack_form form;
	bool threads;
	double every; /* s; 0: not given */
	unsigned long times;
	uint64_t limit; /* ns */
};

/* Those that have not answered are named. */
static int stack_tell_missing(const struct stack_job *j,
			      const struct stack_answer *a)
{
	uint64_t missing = j->nodes - storm_idset_size(&a->nodes);
	unsigned int said = 0;

	if (!missing)
		return DONE;
	fprintf(stderr, "storm: %llu of %u nodes have not answered:",
		(unsigned long long) missing, j->nodes);
	for (uint32_t k = 0; k < j->nodes && said < NAMED; k++) {
		char *name;

		if (storm_idset_has(&a->nodes, k))
			continue;
		name = stack_job_node(j, k);
		fprintf(stderr, " %s", name ? name : "?");
		free(name);
		said++;
	}
	fputs(missing > said ? " and more\n" : "\n", stderr);
	return PART;
}

static void stack_tell(const struct stack_order *o, const struct stack_job *j,
		       const struct stack_answer *a)
{
	switch (o->form) {
	case FORM_JSON:
		stack_show_json(stdout, j, a);
		break;
	case FORM_DOT:
		if (!stack_show_dot(stdout, j, a, o->threads))
			fputs("storm: no memory for the tree\n", stderr);
		break;
	default:
		printf("%llu process%s on %llu node%s stood for %.1f ms\n",
		       (unsigned long long) a->processes,
		       a->processes == 1 ? "" : "es",
		       (unsigned long long) storm_idset_size(&a->nodes),
		       storm_idset_size(&a->nodes) == 1 ? "" : "s",
		       (double) a->stood_us / 1e3);
		stack_show_text(stdout, a, o->threads);
	}
	fflush(stdout);
}

/* A process has one tracer at most.  So wait for another storm stack that looks at this job, as long
 * as for the nodes.  False: it goes on looking. */
static bool stack_wait(const struct stack_order *o, const struct stack_job *j)
{
	const struct timespec pause = { .tv_nsec = AGAIN };
	uint64_t until = storm_now() + o->limit;
	struct stack_other other;
	bool said = false;

	while (stack_steps_other(j->id, 0, &other)) {
		bool over = storm_now() >= until;

		if (over || !said)
			stack_steps_tell(
				j->id, &other,
				over ? "try again later, or scancel this step" :
				       "this one waits");
		said = true;
		if (over)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

static int stack_once(const struct stack_order *o, const struct stack_job *j)
{
	struct stack_answer a;
	int status;

	if (!stack_wait(o, j))
		return FAILED;
	if (!stack_ask(j, storm_now() + o->limit, &a)) {
		fprintf(stderr,
			"storm: no node of job %u has answered; storm_unwind must be installed there (package slurm-storm-unwind)\n",
			j->id);
		stack_answer_clear(&a);
		return FAILED;
	}
	stack_set_sort(&a.stacks);
	stack_tell(o, j, &a);
	if (*a.apart)
		fprintf(stderr,
			"storm: the nodes of job %u did not stand at one moment: %s\n",
			j->id, a.apart);
	status = stack_tell_missing(j, &a);
	stack_answer_clear(&a);
	return status;
}

/* Each look finds the job anew: it may have ended. */
static int stack_look(const struct stack_order *o, const char *text)
{
	struct timespec pause = { .tv_sec = (time_t) o->every };
	int status = DONE;

	pause.tv_nsec = (long) ((o->every - (double) pause.tv_sec) * 1e9);
	for (unsigned long k = 0; !o->times || k < o->times; k++) {
		struct stack_job j = { 0 };
		int one;

		if (k)
			nanosleep(&pause, NULL);
		if (!stack_job_find(text, &j))
			return k ? status : FAILED;
		one = stack_once(o, &j);
		free(j.names);
		if (one == FAILED)
			return FAILED;
		status = one > status ? one : status;
	}
	return status;
}

/* A number of seconds; false: it is none. */
static bool stack_seconds(const char *text, double *s)
{
	char *end;

	*s = strtod(text, &end);
	if (end != text && !*end && *s > 0 && *s <= 1e6)
		return true;
	fprintf(stderr, "storm: \"%s\" is no number of seconds\n", text);
	return false;
}

static bool stack_times(const char *text, unsigned long *out)
{
	char *end;

	*out = strtoul(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && *out)
		return true;
	fprintf(stderr, "storm: \"%s\" is no number of times\n", text);
	return false;
}

enum { OPTION_JSON = 256, OPTION_DOT, OPTION_THREADS };

/* One option.  -1: go on. */
static int stack_option(int c, struct stack_order *o)
{
	double s;

	switch (c) {
	case 'e':
		return stack_seconds(optarg, &o->every) ? -1 : USAGE;
	case 'n':
		return stack_times(optarg, &o->times) ? -1 : USAGE;
	case 't':
		if (!stack_seconds(optarg, &s))
			return USAGE;
		o->limit = (uint64_t) (s * STORM_SEC);
		return -1;
	case OPTION_JSON:
		o->form = FORM_JSON;
		return -1;
	case OPTION_DOT:
		o->form = FORM_DOT;
		return -1;
	case OPTION_THREADS:
		o->threads = true;
		return -1;
	default:
		return show_usual(c, usage);
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "every", required_argument, NULL, 'e' },
		{ "times", required_argument, NULL, 'n' },
		{ "threads", no_argument, NULL, OPTION_THREADS },
		{ "json", no_argument, NULL, OPTION_JSON },
		{ "dot", no_argument, NULL, OPTION_DOT },
		{ "timeout", required_argument, NULL, 't' },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct stack_order o = { .limit = LIMIT * STORM_SEC };
	int c, done;

	while ((c = getopt_long(argc, argv, "e:n:t:Vh", options, NULL)) >= 0) {
		done = stack_option(c, &o);
		if (done >= 0)
			return done;
	}
	if (argc - optind != 1) {
		fputs("storm: storm stack takes one job, as storm stack 12 or 12.0; see storm stack --help\n",
		      stderr);
		return USAGE;
	}
	if (!o.every && !o.times)
		o.times = 1;
	if (!o.every)
		o.every = 10;
	if (slurm_build_refusal()) {
		fprintf(stderr, "storm: %s\n", slurm_build_refusal());
		return FAILED;
	}
	slurm_init(NULL);
	return stack_look(&o, argv[optind]);
}
