/*
 * each_run.c - see each_run.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "each_private.h"
#include "each_record.h"
#include "each_resume.h"
#include "each_run.h"
#include "each_screen.h"
#include "each_source.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/base/patience.h"
#include "src/storm_run/run_begin.h"

/* ------------------------------------------------------------------ giving work --- */

static void each_send_task(struct each_puller *p, struct each_job *j)
{
	each.way->give((uint32_t) (p - each.tasks.puller), j);
	each_tasks_give(p, &j->task);
	if (each.o->delay_us)
		each.next = storm_now() + each.o->delay_us * 1000;
}

/* No task of runs is given ahead of need, and none with -j or a delay. */
static bool each_is_bare(void)
{
	return each.way->alone || each.o->delay_us ||
	       each.o->jobs.kind != EACH_ALL_CPUS;
}

/* A task and its puller.  NULL: there is none; *p NULL: no puller wants one. */
static struct each_job *each_next(struct each_puller **p)
{
	struct each_task *task =
		each_tasks_again(&each.tasks, each_is_bare(), p);
	struct each_job *j;

	if (task)
		return task->what;
	*p = each_tasks_wants(&each.tasks, each_is_bare());
	j = *p ? each_jobs_next() : NULL;
	if (!j)
		return NULL;
	j->task.what = j;
	each.made++;
	*each.last = j;
	each.last = &j->next;
	return j;
}

/* Take back what waits at a busy puller, or at all of them. */
static void each_recall(bool all)
{
	struct each_puller *p;
	uint32_t n;

	while ((p = each_tasks_recall(&each.tasks, all, &n))) {
		each.way->recall((uint32_t) (p - each.tasks.puller), n);
		if (!all)
			return;
	}
}

/* Are as many under way as -j allows? */
static bool each_is_full(void)
{
	return each.o->jobs.kind != EACH_ALL_CPUS &&
	       each_tasks_under_way(&each.tasks) >=
		       each_slots(each.o, each.cpus);
}

static bool each_is_early(void)
{
	return each.o->delay_us && storm_now() < each.next;
}

static void each_give(void)
{
	struct each_puller *p;
	struct each_job *j;

	while (each.verdict == EACH_GO_ON && !each_is_early() &&
	       !each_is_full()) {
		j = each_next(&p);
		if (!j && p)
			each_recall(false);
		if (!j)
			return;
		each_send_task(p, j);
	}
}

/* What holds now: begin tasks, or end them, or all. */
static void each_act(void)
{
	bool bad, over = each_jobs_over(&bad);

	if (bad && over && !each.broken) {
		each.broken = true;
		each_stop(EACH_SOON);
	}
	each_give();
	if (each.verdict != EACH_GO_ON)
		each_recall(true);
	if (each.verdict == EACH_NOW && !each.killed) {
		each.killed = true;
		each.way->kill();
	}
	if (!each.closed && !each_tasks_under_way(&each.tasks) &&
	    (each.verdict != EACH_GO_ON || (over && !each.tasks.again.first))) {
		each.closed = true;
		each.way->end();
	}
	each.way->send();
}

/* --------------------------------------------------------------------- signals --- */

/* HUP starts no more, INT the first time likewise; others end what runs. */
static void each_signal(void)
{
	struct signalfd_siginfo si;
	int sig;

	if (read(each.signals, &si, sizeof(si)) != sizeof(si))
		return;
	sig = (int) si.ssi_signo;
	if (sig == SIGTERM || each.signal == SIGINT) {
		each_stop(EACH_NOW);
	} else if (each.verdict == EACH_GO_ON) {
		run_say("no more tasks begin; %llu run on%s",
			(unsigned long long) each_tasks_under_way(&each.tasks),
			sig == SIGINT ? ", ^C again ends them" : "");
		each_stop(EACH_SOON);
	}
	each.signal = sig == SIGHUP && each.signal ? each.signal : sig;
}

/* A reader does not read: its writer is told so. */
static bool each_signal_stops(void)
{
	each_signal();
	if (each.verdict == EACH_NOW && !each.killed) {
		each.killed = true;
		each.way->kill();
		each.way->send();
	}
	return each.verdict == EACH_NOW;
}

static bool each_catch(void)
{
	static const int all[] = { SIGINT, SIGTERM, SIGHUP };
	sigset_t set;

	run_begin_signals(all, sizeof(all) / sizeof(*all), &set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	each.signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return each.signals >= 0;
}

/* -------------------------------------------------------------------- the loop --- */

static int each_timeout(void)
{
	int wait = storm_sooner(each.way->timeout(), each_show());
	uint64_t now;

	if (!each.o->delay_us || each.verdict != EACH_GO_ON ||
	    (now = storm_now()) >= each.next)
		return wait;
	now = (each.next - now) / STORM_MS + 1;
	return storm_sooner(wait, (int) now);
}

static int each_loop(void)
{
	int status;

	for (;;) {
		struct pollfd p[] = {
			{ each.way->fd(), POLLIN, 0 },
			{ each.signals, POLLIN, 0 },
			{ each.feed, POLLIN, 0 },
		};

		each_act();
		if (each.way->waits())
			p[0].events |= POLLOUT;
		/* full pullers are not to be fed */
		if (each_is_full() ||
		    !each_tasks_wants(&each.tasks, each_is_bare()))
			p[2].fd = -1;
		if (poll(p, 3, each_timeout()) < 0)
			continue;
		each.way->patience();
		if (p[1].revents)
			each_signal();
		if ((p[0].revents & ~POLLOUT) && !each.way->hear(&status))
			return status;
	}
}

/* The way is over: are all tasks? */
static int each_status(int run)
{
	bool bad, over = each_jobs_over(&bad) && !each.first;

	if (each.signal == SIGINT || each.signal == SIGTERM)
		return 128 + each.signal;
	if (!each.closed && run != EACH_FAILED && each.bases)
		run_say("error: no node is left to run tasks");
	else if (!each.closed && each.narrow)
		run_say("error: no node has %u CPUs for a task", each.o->cpus);
	if (each.broken || each_output_lost() || !each.closed ||
	    (!over && each.verdict == EACH_GO_ON))
		return EACH_FAILED;
	return each_halt_exit(&each.halt);
}

/* ------------------------------------------------------------------- the begin --- */

/* CPUs of the job, by what Slurm says of this node. */
static uint32_t each_guess(void)
{
	const char *cpus = getenv("SLURM_CPUS_ON_NODE");
	const char *nodes = getenv("SLURM_JOB_NUM_NODES");
	long n = cpus ? atol(cpus) : 0, m = nodes ? atol(nodes) : 0;

	return n > 0 && n < 65536 && m > 0 && m < 65536 ? (uint32_t) (n * m) :
							  1;
}

static bool each_open(struct each_options *o)
{
	struct each_resume *resume = NULL;
	struct each_sources *sources;
	int64_t total;

	each.job_cpus = each_guess();
	o->slots = each_slots(o, each.job_cpus);
	sources = each_sources_open(o);
	if (!sources)
		return false;
	total = o->halt.percent || o->bar || o->eta ?
			each_sources_count(sources) :
			(int64_t) each_sources_total(sources);
	if (total < 0)
		return false;
	each_halt_init(&each.halt, &o->halt, (uint64_t) total);
	if (o->resume || o->resume_failed) {
		resume = each_resume_read(o->joblog, o->resume_failed);
		if (!resume)
			return false;
	}
	each.total = (uint64_t) total;
	if (resume)
		each.total -= storm_min(each.total, each_resume_count(resume));
	if (!each_record_open(o, resume) || !each_catch())
		return false;
	each.feed = each_jobs_open(o, sources, resume);
	return each.feed >= 0;
}

int each_run(struct each_options *o)
{
	int status;

	each.o = o;
	each.way = each_are_runs(o) ? &each_runs : &each_pullers;
	each.tasks.retries = o->retries;
	each.tasks.crash_limit = o->crash_limit;
	each.tasks.shared = each.way->alone;
	if (!each_open(o))
		return EACH_FAILED;
	each_output_init(o, each.signals, each_signal_stops);
	each_screen_open(o);
	if (!each.way->open(o->journal ? o->journal :
					 getenv("STORM_RUN_JOURNAL")))
		return EACH_FAILED;
	status = each_loop();
	each_screen_close();
	return each_status(status);
}
