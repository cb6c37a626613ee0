/*
 * run_options.c - see run_options.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "run_options.h"
#include "storm_config.h"

static const char usage[] =
	"Usage: storm run [OPTIONS] PROGRAM [ARGUMENTS]\n"
	"Start tasks in this job by launchers that stay on its nodes.  The first storm run\n"
	"of a job starts them.\n"
	"\n"
	"  -N, --nodes=N   on so many nodes [one for each task, at most all]\n"
	"  -n, --ntasks=N  so many tasks [one for each node]\n"
	"      --stop      end the launchers, and what they run\n"
	"  -V, --version   print the version\n"
	"  -h, --help      print this summary\n"
	"\n"
	"Exit status: the highest one of the tasks; 128 and more: a signal.  1 also if the\n"
	"run was lost or refused, 2 if the command line is wrong.\n";
__attribute__((format(printf, 1, 2))) void run_say(const char *fmt, ...)
{
	va_list ap;

	fputs("storm run: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

/* As srun has them: the options' values are numbers from 1. */
static bool run_number(const char *text, const char *what, uint32_t *out)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text >= '0' && *text <= '9' && !*end && n && n < UINT32_MAX / 2) {
		*out = (uint32_t) n;
		return true;
	}
	run_say("\"%s\" is no number of %s", text, what);
	return false;
}

int run_parse(int argc, char **argv, struct run_options *o)
{
	enum { STOP = 256 };
	static const struct option options[] = {
		{ "nodes", required_argument, NULL, 'N' },
		{ "ntasks", required_argument, NULL, 'n' },
		{ "stop", no_argument, NULL, STOP },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "+N:n:Vh", options, NULL)) >= 0) {
		if (c == 'N' && run_number(optarg, "nodes", &o->ask.nodes))
			continue;
		if (c == 'n' && run_number(optarg, "tasks", &o->ask.tasks))
			continue;
		if (c == 'V') {
			puts("storm " STORM_VERSION);
			return 0;
		}
		if (c == 'h') {
			fputs(usage, stdout);
			return 0;
		}
		if (c != STOP)
			return RUN_USAGE;
		o->stop = true;
	}
	o->argv = argv + optind;
	if (o->stop || optind < argc)
		return RUN_GOES_ON;
	run_say("no program is given; see storm run --help");
	return RUN_USAGE;
}
