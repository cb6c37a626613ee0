/*
 * storm.c - the command storm: a front for programs in libexec, one for each
 * subcommand.  It needs nothing of Slurm, as storm check must run without.  run is here:
 * to execute one program more would be a sixth of a launch on one node.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/storm_run/run_say.h"
#include "src/storm_run/storm_run.h"

enum { FINE = 0, USAGE = 2 };

static const struct storm_verb {
	const char *name, *program;
	bool passed_on; /* the program has several subcommands */
} verbs[] = {
	{ "check", "storm_check", false },
	{ "each", "storm_each", false },
	{ "hold", "storm_hold", true },
	{ "release", "storm_hold", true },
	{ "jobs", "storm_jobs", false },
	{ "map", "storm_map", false },
	{ "metrics", "storm_metrics", false },
	{ "stack", "storm_stack", false },
	{ "status", "storm_status", false },
	{ "top", "storm_top", false },
	{ "why", "storm_why", false },
};

static const char usage[] =
	"Usage: storm check [OPTIONS]\n"
	"       storm hold|release [OPTIONS] JOB[,JOB...]\n"
	"       storm run [OPTIONS] PROGRAM [ARGUMENTS]\n"
	"       storm ps\n"
	"       storm each [OPTIONS] COMMAND ::: ARGUMENTS\n"
	"       storm jobs [OPTIONS] [JOB...]\n"
	"       storm map [OPTIONS]\n"
	"       storm metrics [OPTIONS]\n"
	"       storm stack [OPTIONS] JOB[.STEP]\n"
	"       storm status [OPTIONS]\n"
	"       storm top [OPTIONS]\n"
	"       storm why [OPTIONS] [JOB[.STEP]]\n"
	"check: what STORM needs on this host, and the network to agents.\n"
	"hold, release: take the turns of a running job from it; give them back.\n"
	"run: start tasks inside a job, without a step for each.\n"
	"ps: what runs so in this job, and what waits.\n"
	"each: a command for each argument, in GNU parallel's words.\n"
	"jobs: who shares cores with whom, and by which turns.\n"
	"map: each node as one character.\n"
	"metrics: what the agents of all nodes say, for Prometheus.\n"
	"stack: where the tasks of a job are, equal stacks in one line.\n"
	"status: what the agents of all nodes say, by one question.\n"
	"top: who runs in which turn on which nodes, live.\n"
	"why: why a launch was slow, or Slurm launched a step in STORM's place.\n"
	"\n"
	"  -V, --version  print the version\n"
	"  -h, --help     print this summary; after a subcommand, that one's\n";

/* Become a program in libexec. */
static int storm_become(const char *program, char **argv)
{
	/* the only one that has a package of its own */
	const char *install = strcmp(program, "storm_metrics") ?
				      "install STORM again" :
				      "install slurm-storm-monitoring";
	char path[PATH_MAX];

	snprintf(path, sizeof(path), PKGLIBEXECDIR "/%s", program);
	execv(path, argv);
	fprintf(stderr, "storm: cannot run %s: %s: %s\n", path, strerror(errno),
		install);
	return USAGE;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";

	if (!strcmp(verb, "-h") || !strcmp(verb, "--help")) {
		fputs(usage, stdout);
		return FINE;
	}
	/* srun has become storm run: resident_srun.h */
	if (argc && !strcmp(argv[0], "srun"))
		run_say_as(argv[0]);
	if (!strcmp(verb, "run"))
		return storm_run(argc - 1, argv + 1);
	if (!strcmp(verb, "ps"))
		return storm_ps(argc - 1, argv + 1);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strcmp(verb, verbs[i].name))
			return storm_become(verbs[i].program,
					    argv + !verbs[i].passed_on);
	/* options may stand before hold and release, which know their version */
	if (*verb == '-')
		return storm_become("storm_hold", argv);
	fputs("storm: check, each, hold, jobs, map, metrics, ps, release, run, stack, status, top or why; see storm --help\n",
	      stderr);
	return USAGE;
}
