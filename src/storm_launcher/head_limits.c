/*
 * head_limits.c - what ends runs early: their time is over, a task has failed or has ended
 * long ago.  Then tasks get SIGTERM, and later SIGKILL, as those of srun(1) do; what even
 * this has not ended is named.  See head_private.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <signal.h>
#include <time.h>

#include "head_private.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"

#define GRACE (30 * STORM_SEC) /* from SIGTERM to SIGKILL: Slurm's KillWait */
#define KILL_LIMIT 10 /* s, until what SIGKILL has not ended is named */
#define LOOK 1000     /* ms */

/* ------------------------------------------------------------------- killed --- */

/* SIGKILL ends no task whose file system hangs, or that is another user's by now (sudo).
 * Nor does it come to one whose launcher hangs in the start of another one.  A run
 * keeps their CPUs, but a head that is to end does not wait for them: Slurm ends
 * control groups, as root. */
static void head_name_left(struct user_run *run)
{
	if (!run->named)
		run_tell_left(run, KILL_LIMIT, head_node_name, head_say_line,
			      run->client);
	run->named = true;
	if (!head.runs.closing)
		return;
	head_say_line(
		run->client,
		"error: the launchers end, and leave these tasks to Slurm");
	runs_abort(run);
}

/* Is this one killed, and not yet given up? */
static bool head_is_dying(const struct user_run *run)
{
	return run->dying && !(run->named && !head.runs.closing);
}

/* --------------------------------------------------------------------- early --- */

static void head_say_terminating(struct user_run *run)
{
	head_say(run->client, "Terminating run %llu",
		 (unsigned long long) run->number);
}

/* As slurmstepd says it of a step. */
static void head_say_timeout(struct user_run *run)
{
	char at[32];
	time_t now = time(NULL);
	struct tm tm;

	strftime(at, sizeof(at), "%Y-%m-%dT%H:%M:%S", localtime_r(&now, &tm));
	head_say(run->client,
		 "error: *** RUN %llu CANCELLED AT %s DUE TO TIME LIMIT ***",
		 (unsigned long long) run->number, at);
}

static void head_end_softly(struct user_run *run)
{
	run->ends = true;
	run->grace = GRACE;
	head_cast_kill(run, SIGCONT);
	head_cast_kill(run, SIGTERM);
}

/* Its first task has ended so long ago. */
static void head_end_waited(struct user_run *run)
{
	run->ends = true;
	head_say(run->client, "First task exited %us ago", run->wait);
	run_tell_tasks(run, head_say_line, run->client);
	head_say_terminating(run);
	head_cast_kill(run, SIGKILL);
}

void head_end_mpi(struct user_run *run, int status)
{
	if (run->state != RUN_RUNS || run->killed || run->ends)
		return;
	if (!run->status)
		run->status = 1;
	head_say_terminating(run);
	if (!status) {
		head_end_softly(run);
		return;
	}
	run->aborted = status;
	run->ends = true;
	head_cast_kill(run, SIGKILL);
}

void head_end_early(void)
{
	for (struct user_run *run = head.runs.first; run; run = run->next) {
		if (run->state != RUN_RUNS || run->killed || run->ends)
			continue;
		if ((run->kill_bad && run_has_failed(run)) ||
		    run_has_cause(run, RUN_PMI_LOST) ||
		    run_has_cause(run, RUN_NO_PMIX) ||
		    run_has_cause(run, RUN_NO_HWLOC)) {
			head_say_terminating(run);
			head_end_softly(run);
		} else if (run->wait && run->ended && !run->waits) {
			run->waits = run->wait * STORM_SEC;
		}
	}
}

/* --------------------------------------------------------------------- times --- */

/* Is this much time over, of a limit that has it?  left 0: there is none. */
static bool head_count_down(uint64_t *left, uint64_t passed)
{
	if (!*left)
		return false;
	*left = *left > passed ? *left - passed : 0;
	return !*left;
}

static void head_expire_run(struct user_run *run, uint64_t passed)
{
	bool over = head_count_down(&run->limit, passed) && !run->ends;
	bool waited = head_count_down(&run->waits, passed) && !run->ends;

	if (run->dying) {
		run->dying += passed;
		if (run->dying >= KILL_LIMIT * STORM_SEC)
			head_name_left(run);
	} else if (head_count_down(&run->grace, passed)) {
		head_cast_kill(run, SIGKILL);
	} else if (over) {
		head_say_timeout(run);
		head_end_softly(run);
	} else if (waited) {
		head_end_waited(run);
	}
}

/* Time in which the job stood does not count: its tasks did nothing in it, either. */
void head_expire_limits(void)
{
	static uint64_t before;
	uint64_t now = storm_now();
	uint64_t passed = storm_min(now - before, 2 * LOOK * STORM_MS);

	for (struct user_run *run = head.runs.first; run; run = run->next) {
		if (run->state == RUN_RUNS)
			head_expire_run(run, passed);
		head_count_down(&run->doubt, passed);
	}
	before = now;
}

static uint64_t head_sooner(uint64_t wait, uint64_t left)
{
	return left && left < wait ? left : wait;
}

int head_limits_wait(int ms)
{
	uint64_t wait = UINT64_MAX;

	for (const struct user_run *run = head.runs.first; run;
	     run = run->next) {
		wait = head_sooner(wait, run->doubt);
		if (run->state != RUN_RUNS)
			continue;
		wait = head_sooner(wait, run->limit);
		wait = head_sooner(wait, run->waits);
		wait = head_sooner(wait, run->grace);
		if (head_is_dying(run))
			wait = head_sooner(wait, LOOK * STORM_MS);
	}
	if (wait == UINT64_MAX)
		return ms;
	wait = storm_min(LOOK, wait / STORM_MS + 1);
	return ms < 0 || wait < (uint64_t) ms ? (int) wait : ms;
}
