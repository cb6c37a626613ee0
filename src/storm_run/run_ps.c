/*
 * run_ps.c - storm ps: what this job's launchers run, and what waits there.  See
 * storm_run.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run_connect.h"
#include "run_options.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/shown.h"
#include "src/storm_launcher/run_list.h"
#include "storm_config.h"
#include "storm_run.h"

static const char usage[] =
	"Usage: storm ps\n"
	"Show the runs of this job: what storm run has started, and what waits.\n"
	"\n"
	"  RUN      its number, as %s of -o has it\n"
	"  STATE    runs; waits: for CPUs; ends: it is to be killed\n"
	"  TIME     since it began; while it waits, since it was asked for\n"
	"  TASKS    so many, and LEFT: of these have not ended\n"
	"  CPUS     that it has, or waits for\n"
	"\n"
	"  -V, --version, -h, --help   print the version, or this summary\n"
	"\n"
	"Exit status: 0; 1 if the launchers cannot be asked, 2 if the command line is wrong.\n";

/* H:MM:SS, of any length. */
static void run_ps_time(uint64_t ns, char (*out)[32])
{
	uint64_t s = ns / STORM_SEC;

	snprintf(*out, sizeof(*out), "%" PRIu64 ":%02u:%02u", s / 3600,
		 (unsigned int) (s / 60 % 60), (unsigned int) (s % 60));
}

static bool run_ps_line(struct storm_in *body)
{
	static const char *const state[] = { [RUN_LIST_WAITS] = "waits",
					     [RUN_LIST_RUNS] = "runs",
					     [RUN_LIST_ENDS] = "ends" };
	struct run_listed l;
	char time[32];

	if (!run_listed_get(body, &l))
		return false;
	run_ps_time(l.age, &time);
	printf("%-8" PRIu64 " %-6s %9s %7u %7u %7" PRIu64 " %-16s %s\n",
	       l.number, state[l.state], time, l.tasks, l.tasks - l.ended,
	       l.cpus, *l.nodes ? l.nodes : "-", STORM_SHOWN(l.command));
	return true;
}

/* What the job has not is not shown. */
static void run_ps_stocks(const struct run_stocks *all)
{
	printf("CPUs: %" PRIu64 ", of which %" PRIu64 " are free\n", all->cpus,
	       all->free_cpus);
	if (all->gpus)
		printf("GPUs: %" PRIu64 ", of which %" PRIu64 " are free\n",
		       all->gpus, all->free_gpus);
	if (all->mem)
		printf("MB of memory: %" PRIu64 ", of which %" PRIu64
		       " are free\n",
		       all->mem, all->free_mem);
}

static int run_ps_unread(void)
{
	run_say("the launchers' answer cannot be read: they are of another version of STORM");
	return RUN_FAILED;
}

/* RUN_GOES_ON, or the exit status. */
static int run_ps_hear(enum run_kind kind, struct storm_in *body)
{
	struct run_stocks all;

	switch (kind) {
	case RUN_LIST:
		if (!run_stocks_get(body, &all))
			return run_ps_unread();
		run_ps_stocks(&all);
		printf("%-8s %-6s %9s %7s %7s %7s %-16s %s\n", "RUN", "STATE",
		       "TIME", "TASKS", "LEFT", "CPUS", "NODES", "COMMAND");
		return RUN_GOES_ON;
	case RUN_LISTED:
		if (run_ps_line(body))
			return RUN_GOES_ON;
		return run_ps_unread();
	case RUN_REFUSED:
		run_say("%.*s", (int) (body->end - body->p),
			(const char *) body->p);
		return RUN_FAILED;
	case RUN_END:
		return 0;
	default:
		return RUN_GOES_ON;
	}
}

static int run_ps_ask(int sock)
{
	uint8_t frame[RUN_FRAME_HEADER];
	struct run_reader r = { 0 };
	struct storm_in body;
	enum run_kind kind;
	int rc = RUN_GOES_ON;

	run_frame_head(frame, RUN_LIST, 0);
	/* one that refuses has said so, and may be gone */
	(void) run_sock_send(sock, frame, sizeof(frame), NULL);
	while (rc == RUN_GOES_ON && run_sock_wait(sock, &r, &kind, &body))
		rc = run_ps_hear(kind, &body);
	run_reader_fini(&r);
	if (rc == RUN_GOES_ON)
		run_say("the launchers have ended");
	return rc == RUN_GOES_ON ? RUN_FAILED : rc;
}

int storm_ps(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";
	struct run_job j;
	int sock, rc;

	run_say_as("storm ps");
	if (!strcmp(word, "-h") || !strcmp(word, "--help")) {
		fputs(usage, stdout);
		return 0;
	}
	if (!strcmp(word, "-V") || !strcmp(word, "--version")) {
		puts("storm " STORM_VERSION);
		return 0;
	}
	if (argc > 1) {
		run_say("it takes no \"%s\"; see storm ps --help", word);
		return RUN_USAGE;
	}
	if (!run_job_find(&j))
		return RUN_FAILED;
	sock = run_connect(&j, false);
	if (sock < 0) {
		if (!run_nobody_there())
			return RUN_FAILED;
		run_say("no launchers are there: the first storm run starts them");
		return 0;
	}
	rc = run_ps_ask(sock);
	close(sock);
	return fflush(stdout) ? RUN_FAILED : rc;
}
