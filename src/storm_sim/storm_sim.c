/*
 * storm_sim.c - runs scenarios in the simulator, see storm_sim(1).  Every run
 * has its own process: a run that crashes or does not end counts as a
 * violation, and its memory is measured.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run.h"
#include "shrink.h"
#include "storm_config.h"

#define NODES_MAX 32 /* numbers in --nodes */

static struct {
	uint64_t seed, seeds; /* seed 0: the scenario's */
	uint32_t nodes[NODES_MAX];
	uint32_t nnodes;
	uint32_t limit; /* s of a run; 0: none */
	bool keep, brief, messages;
} opt = { .seeds = 1 };

static void storm_sim_usage(FILE *f)
{
	fputs("Usage: storm_sim [OPTION]... SCENARIO...\n"
	      "Run scenarios of STORM's protocol in a simulator and check the results.\n"
	      "\n"
	      "  -b, --brief          print one line for each run, not its figures\n"
	      "  -k, --keep           do not look for a shorter scenario\n"
	      "  -l, --limit=SECONDS  count a run that takes longer as a violation\n"
	      "  -m, --messages       print the protocol's log to standard error\n"
	      "  -n, --nodes=LIST     number of nodes, overrides the scenario's;\n"
	      "                       4,16,64: three runs\n"
	      "  -s, --seed=NUMBER    seed, overrides the scenario's\n"
	      "  -S, --seeds=NUMBER   number of runs, with this seed and the next ones\n"
	      "  -h, --help           print this text\n"
	      "  -V, --version        print the version\n"
	      "\n"
	      "Figures go to standard output, as JSON.  The exit code is 1 if there was a\n"
	      "violation, 2 if a scenario or an option is wrong.\n",
	      f);
}

static void storm_sim_log_nothing(enum storm_log_level level, const char *msg)
{
	(void) level;
	(void) msg;
}

/* ------------------------------------------------------------------ one run --- */

struct verdict {
	bool ok;
	char why[RUN_WHY];
	char *figures; /* malloc()ed; NULL: the process died */
};

static void storm_sim_fatal(const char *what)
{
	fprintf(stderr, "storm_sim: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void run_in_child(const struct scenario *s, FILE *out)
{
	json_object *figures;
	char why[RUN_WHY];

	if (!out)
		storm_sim_fatal("fdopen");
	if (!opt.messages)
		storm_log_set(storm_sim_log_nothing);
	if (opt.limit)
		alarm(opt.limit);
	fputc(run_scenario(s, &figures, why, sizeof(why)) ? '+' : '-', out);
	fprintf(out, "%s\n", why);
	figures_print(figures, out);
	json_object_put(figures);
	fclose(out);
}

static void verdict_of_death(struct verdict *v, int status)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		snprintf(v->why, sizeof(v->why), "not finished after %u s",
			 opt.limit);
	else if (WIFSIGNALED(status))
		snprintf(v->why, sizeof(v->why), "killed by signal %d (%s)",
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(v->why, sizeof(v->why), "exit code %d",
			 WEXITSTATUS(status));
}

static struct verdict verdict_of_run(const struct scenario *s)
{
	struct verdict v = { .ok = false };
	char *text = NULL, *line;
	size_t room = 0;
	int status, fd[2];
	pid_t pid;
	FILE *in;

	fflush(NULL);
	if (pipe(fd))
		storm_sim_fatal("pipe");
	pid = fork();
	if (pid < 0)
		storm_sim_fatal("fork");
	if (!pid) {
		close(fd[0]);
		run_in_child(s, fdopen(fd[1], "w"));
		exit(0); /* sanitizers check at exit */
	}
	close(fd[1]);
	in = fdopen(fd[0], "r");
	if (!in || getdelim(&text, &room, 0, in) < 0)
		room = 0;
	if (in)
		fclose(in);
	if (waitpid(pid, &status, 0) < 0)
		storm_sim_fatal("waitpid");
	line = room ? strchr(text, '\n') : NULL;
	if (line) {
		*line = 0;
		snprintf(v.why, sizeof(v.why), "%s", text + 1);
		v.figures = strdup(line + 1);
		v.ok = *text == '+';
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) || !line) {
		v.ok = false;
		verdict_of_death(&v, status);
	}
	free(text);
	return v;
}

static bool verdict_fails(const struct scenario *s, void *arg)
{
	struct verdict v = verdict_of_run(s);

	(void) arg;
	free(v.figures);
	return !v.ok;
}

/* Print a violation with what is needed to reproduce it. */
static void verdict_print(const struct scenario *s, const struct verdict *v,
			  const char *file)
{
	struct scenario *less = opt.keep ?
					scenario_copy(s) :
					shrink_scenario(s, verdict_fails, NULL);
	struct verdict again = verdict_of_run(less);
	json_object *o = scenario_json(less);

	fprintf(stderr, "storm_sim: %s: seed %llu, %u nodes: %s\n", file,
		(unsigned long long) s->seed, s->nodes, v->why);
	fprintf(stderr,
		"storm_sim: a shorter scenario that fails (%u nodes, %u operations, %u faults: %s):\n%s\n",
		less->nodes, less->ops, less->faults,
		again.ok ? "not every time" : again.why,
		json_object_to_json_string_ext(
			o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED));
	json_object_put(o);
	free(again.figures);
	scenario_free(less);
}

static bool run_one(const struct scenario *s, const char *file, bool *first)
{
	struct verdict v = verdict_of_run(s);

	if (opt.brief)
		printf("%s: seed %llu, %u nodes: %s\n", file,
		       (unsigned long long) s->seed, s->nodes,
		       v.ok ? "ok" : v.why);
	else if (v.figures)
		printf("%s%s", *first ? "[\n" : ",\n", v.figures);
	if (!opt.brief && v.figures)
		*first = false;
	if (!v.ok)
		verdict_print(s, &v, file);
	free(v.figures);
	return v.ok;
}

static bool run_file(const struct scenario *s, const char *file, bool *first)
{
	bool ok = true;

	for (uint32_t n = 0; n < (opt.nnodes ? opt.nnodes : 1); n++)
		for (uint64_t i = 0; i < opt.seeds; i++) {
			struct scenario *c = scenario_copy(s);

			c->seed = (opt.seed ? opt.seed : s->seed) + i;
			if (opt.nnodes)
				c->nodes = opt.nodes[n];
			scenario_settle(c);
			ok = run_one(c, file, first) && ok;
			scenario_free(c);
		}
	return ok;
}

/* ------------------------------------------------------------------- options --- */

static uint64_t option_number(const char *what, const char *s, const char *more,
			      uint64_t max, char **end)
{
	unsigned long long v;

	errno = 0;
	v = strtoull(s, end, 10);
	if (*end == s || (**end && !strchr(more, **end)) || errno ||
	    *s == '-' || v > max || !v) {
		fprintf(stderr,
			"storm_sim: --%s: \"%s\" is not a number from 1 to %llu\n",
			what, s, (unsigned long long) max);
		exit(2);
	}
	return v;
}

static void option_nodes(char *list)
{
	char *end = list;

	for (opt.nnodes = 0; opt.nnodes < NODES_MAX; list = end + 1) {
		opt.nodes[opt.nnodes++] = (uint32_t) option_number(
			"nodes", list, ",", STORM_NODES_MAX, &end);
		if (!*end)
			return;
	}
	fprintf(stderr, "storm_sim: --nodes: more than %d numbers\n",
		NODES_MAX);
	exit(2);
}

static void option_parse(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "brief", no_argument, NULL, 'b' },
		{ "keep", no_argument, NULL, 'k' },
		{ "limit", required_argument, NULL, 'l' },
		{ "messages", no_argument, NULL, 'm' },
		{ "nodes", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' },
		{ "seeds", required_argument, NULL, 'S' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 }
	};
	char *end;
	int c;

	while ((c = getopt_long(argc, argv, "bkl:mn:s:S:hV", longs, NULL)) !=
	       -1) {
		switch (c) {
		case 'b':
			opt.brief = true;
			break;
		case 'k':
			opt.keep = true;
			break;
		case 'l':
			opt.limit = (uint32_t) option_number("limit", optarg,
							     "", 1000000, &end);
			break;
		case 'm':
			opt.messages = true;
			break;
		case 'n':
			option_nodes(optarg);
			break;
		case 's':
			opt.seed = option_number("seed", optarg, "", 1ULL << 52,
						 &end);
			break;
		case 'S':
			opt.seeds = option_number("seeds", optarg, "",
						  1ULL << 32, &end);
			break;
		case 'h':
			storm_sim_usage(stdout);
			exit(0);
		case 'V':
			puts("storm_sim " STORM_VERSION);
			exit(0);
		default:
			fputs("Try 'storm_sim --help' for more information.\n",
			      stderr);
			exit(2);
		}
	}
	if (optind == argc) {
		fputs("storm_sim: no scenario: give the name of a file, see storm_sim(1)\n",
		      stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	bool ok = true, first = true;

	option_parse(argc, argv);
	for (int i = optind; i < argc; i++) {
		struct scenario *s = scenario_load(argv[i]);

		if (!s)
			return 2;
		ok = run_file(s, argv[i], &first) && ok;
		scenario_free(s);
	}
	if (!opt.brief)
		puts(first ? "[ ]" : "\n]");
	return ok ? 0 : 1;
}
