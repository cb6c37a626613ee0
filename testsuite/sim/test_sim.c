/*
 * test_sim.c - the protocol under seeded faults: each seed is a schedule
 * (schedule.c: what is done; faults.c: what goes wrong; run.c runs it), whose
 * history is judged (oracle.c, linear.c).  One in sixteen is a domain that
 * cannot be opened, and one has reports without end (reports.c).  A few single
 * stories come first (cases.c).
 *
 * usage: test_sim [SCHEDULES [FIRST-SEED [-v]]]
 *
 * Without a number a tenth of the whole, which STORM_LONG=1 runs.  Two
 * processes share them.  A violation names its seed, and -v shows one seed's
 * schedule and history.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "schedule.h"

#define WORKERS 2
#define WHOLE 10000
#define HANGS 120 /* s of a single schedule */

/* Of the whole, those that a tenth does not have and that failed once. */
static const uint64_t failed_once[] = {
	1340, /* a loss is known, and acted on a second later */
	2858, /* two nodes that forgot hear of their exclusion, one below the other */
	7245, /* a node dies at the opening, and the others are told nothing */
};

static void quiet(enum storm_log_level level, const char *msg)
{
	(void) level;
	(void) msg;
}

static bool one(uint64_t seed, bool verbose)
{
	struct schedule s;
	char why[ORACLE_WHY];
	bool ok;

	if (seed % 16 == 0) {
		case_refused(seed);
		return true;
	}
	if (seed % 16 == 8) {
		case_forgetting(seed);
		return true;
	}
	schedule_make(&s, seed);
	if (verbose)
		schedule_print(&s);
	ok = schedule_run(&s, verbose, why);
	if (!ok)
		fprintf(stderr, "seed %llu, %u nodes: %s\n",
			(unsigned long long) seed, s.conf.nodes, why);
	schedule_free(&s);
	return ok;
}

/* Every WORKERSth seed, from this one on; *at: which is under way. */
static void work(volatile uint64_t *at, uint64_t seed, uint64_t end)
{
	for (; seed < end; seed += WORKERS) {
		*at = seed;
		alarm(HANGS);
		if (!one(seed, false))
			exit(1);
	}
	exit(0);
}

static pid_t start(volatile uint64_t *at, uint64_t seed, uint64_t end)
{
	pid_t pid = fork();

	if (pid < 0) {
		perror("test_sim: fork");
		exit(1);
	}
	if (!pid)
		work(at, seed, end);
	return pid;
}

/* The first of them that fails ends them all. */
static bool all_well(pid_t *pid, volatile uint64_t *at)
{
	for (int left = WORKERS; left; left--) {
		int status, who;
		pid_t gone = wait(&status);

		for (who = 0; who < WORKERS && pid[who] != gone; who++)
			;
		if (who == WORKERS)
			return false;
		pid[who] = 0;
		if (!status)
			continue;
		fprintf(stderr,
			"test_sim: %s at seed %llu; again: test_sim 1 %llu -v\n",
			!WIFSIGNALED(status)	    ? "violation" :
			WTERMSIG(status) == SIGALRM ? "no end" :
						      "crash",
			(unsigned long long) at[who],
			(unsigned long long) at[who]);
		for (int i = 0; i < WORKERS; i++)
			if (pid[i])
				kill(pid[i], SIGKILL);
		return false;
	}
	return true;
}

static bool share(uint64_t n, uint64_t first)
{
	volatile uint64_t *at = mmap(NULL, WORKERS * sizeof(*at),
				     PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid[WORKERS];

	if (at == MAP_FAILED) {
		perror("test_sim: mmap");
		return false;
	}
	for (int i = 0; i < WORKERS; i++)
		pid[i] = start(&at[i], first + (uint64_t) i, first + n);
	return all_well(pid, at);
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1		  ? strtoull(argv[1], NULL, 10) :
		     getenv("STORM_LONG") ? WHOLE :
					    WHOLE / 10;
	uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	bool well;

	storm_log_set(quiet);
	if (n == 1) {
		alarm(HANGS);
		well = one(first, argc > 3);
	} else {
		case_idle();
		case_quiet();
		case_long_start();
		case_values();
		case_reporting();
		case_overdue();
		case_orphaned();
		case_two_dead();
		case_turn();
		case_slow_link();
		case_cut_paths();
		case_long_up();
		case_long_by_the_group();
		case_multicast_ends();
		case_silent_owner();
		case_forgotten_on_its_way();
		case_too_many_reports();
		well = true;
		for (size_t i = 0;
		     i < sizeof(failed_once) / sizeof(failed_once[0]); i++)
			well = one(failed_once[i], false) && well;
		well = well && share(n, first);
	}
	if (!well)
		return 1;
	printf("%llu schedules, no violation\n", (unsigned long long) n);
	return 0;
}
