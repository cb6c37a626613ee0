/*
 * each_runs.c - each command is a run of the job's launchers, with a connection to the head of
 * its own: for tasks of several CPUs or nodes, and ranks of MPI.  See each_way.h.
 *
 * A place has one run at a time.  The head begins them in the order in which they were asked
 * for, when they fit into the job.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "each_command.h"
#include "each_env.h"
#include "each_place.h"
#include "each_private.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/base/patience.h"
#include "src/storm_run/run_connect.h"
#include "src/storm_run/run_options.h"
#include "src/storm_run/run_request.h"

#define EACH_US 1000		    /* ns */
#define EACH_GRACE (500 * STORM_MS) /* from SIGTERM to SIGKILL */
#define EACH_RUNS_MAX 4096
#define EACH_FILES 64	      /* descriptors for all else */
#define EACH_WAKES UINT32_MAX /* of epoll: not a place */

struct each_one {
	struct each_place place;
	int sock; /* -1: none */
	struct run_reader in;
	const struct each_job *job;
	uint64_t began, until; /* storm_now(); until 0: without an end */
	struct pull_end end;
	char said[300]; /* the head's first word of it: why it ends */
};

static struct {
	struct run_job job;
	char journal[PATH_MAX];
	struct run_ask ask;
	struct each_env env;
	struct each_one *one; /* of each place */
	uint32_t places, most;
	int epoll, wakes, null;
	bool failed, over; /* it was said why; no more comes */
	uint64_t since; /* what waits does so since then; or 0: it was said */
	char waits_for[200];
} runs;

/* ----------------------------------------------------------------- what is asked --- */

/* hear() is to be called. */
static void each_runs_wake(void)
{
	const uint64_t one = 1;

	if (write(runs.wakes, &one, sizeof(one)) < 0)
		return; /* the counter is full: it wakes anyway */
}

static void each_runs_fail(void)
{
	runs.failed = true;
	each_runs_wake();
}

/* False: it was said why not. */
static bool each_runs_send(int sock, const struct each_job *j, uint32_t slot)
{
	static char cwd[PATH_MAX];
	char *text = each_with_slot(j->text, j->len, slot);
	char *argv[] = { (char *) each_shell(), (char *) "-c", text, NULL };
	struct run_what what = { .argv = argv,
				 .env = runs.env.all,
				 .cwd = cwd,
				 .stream = { "", "", "" },
				 .mpi = each.o->mpi,
				 .bind_list = "",
				 .tells = true };
	const int fd[RUN_SOCK_FDS] = { runs.null, runs.null, runs.null };
	bool sent = false;

	each_env_task(&runs.env, j->task.seq, slot);
	if (!text)
		run_say("no memory");
	else
		sent = run_request_cwd(j->dir, &cwd) &&
		       !run_request_send(sock, &runs.ask, &what, fd);
	free(text);
	return sent;
}

static void each_runs_close(struct each_one *r)
{
	/* epoll forgets it */
	if (r->sock >= 0)
		close(r->sock);
	r->sock = -1;
	run_reader_fini(&r->in);
	r->in = (struct run_reader) { 0 };
}

static void each_runs_ask(uint32_t k)
{
	struct each_one *r = &runs.one[k];
	struct epoll_event ev = { .events = EPOLLIN, .data.u32 = k };

	each_place_ask(&r->place);
	r->sock = run_connect(&runs.job, true);
	if (r->sock < 0 || !each_runs_send(r->sock, r->job, k + 1)) {
		each_runs_fail();
		return;
	}
	if (!epoll_ctl(runs.epoll, EPOLL_CTL_ADD, r->sock, &ev))
		return;
	run_say("%s", strerror(errno));
	each_runs_fail();
}

static void each_runs_give(uint32_t k, const struct each_job *j)
{
	struct each_one *r = &runs.one[k];
	struct each_place place = { .heads = r->place.heads };

	*r = (struct each_one) { .place = place,
				 .sock = -1,
				 .job = j,
				 .end = { .seq = j->task.seq } };
	if (!runs.failed)
		each_runs_ask(k);
}

static void each_runs_signal(const struct each_one *r, int sig)
{
	uint8_t frame[RUN_FRAME_HEADER + 1];

	run_frame_head(frame, RUN_SIGNAL, 1);
	frame[RUN_FRAME_HEADER] = (uint8_t) sig;
	run_sock_send(r->sock, frame, sizeof(frame), NULL);
}

/* SIGTERM, and SIGKILL a while later. */
static void each_runs_end_one(struct each_one *r, uint64_t now)
{
	each_runs_signal(r, r->end.killed ? SIGKILL : SIGTERM);
	r->end.killed = true;
	r->until = now + EACH_GRACE;
}

static void each_runs_kill(void)
{
	uint64_t now = storm_now();

	for (uint32_t k = 0; k < runs.places; k++) {
		struct each_one *r = &runs.one[k];

		if (r->place.state == PLACE_BEGUN && !r->end.killed)
			each_runs_end_one(r, now);
	}
}

static void each_runs_recall(uint32_t k, uint32_t n)
{
	struct each_one *r = &runs.one[k];
	uint8_t frame[RUN_FRAME_HEADER];

	(void) n; /* it has one */
	r->place.recalled = true;
	if (r->place.state == PLACE_AWAY) {
		r->place.state = PLACE_IDLE;
		each_runs_close(r);
		each_back(k, r->end.seq);
		return;
	}
	run_frame_head(frame, RUN_RECALL, 0);
	run_sock_send(r->sock, frame, sizeof(frame), NULL);
}

/* ---------------------------------------------------------------- what is heard --- */

/* Places for more, which idle at first. */
static bool each_runs_grow(void)
{
	uint32_t begun = 0, want;
	struct each_one *more;

	for (uint32_t k = 0; k < runs.places; k++)
		begun += runs.one[k].place.state == PLACE_BEGUN;
	want = each_places(begun, each.o->delay_us > 0, runs.most);
	if (want <= runs.places)
		return true;
	more = reallocarray(runs.one, want, sizeof(*more));
	if (!more) {
		run_say("no memory");
		return false;
	}
	runs.one = more;
	for (uint32_t k = runs.places; k < want; k++) {
		more[k] = (struct each_one) { .sock = -1 };
		if (!each_came(k, 1, k ? 0 : each.job_cpus)) {
			run_say("no memory");
			return false;
		}
	}
	runs.places = want;
	return true;
}

static void each_runs_begun(uint32_t k)
{
	struct each_one *r = &runs.one[k];
	struct timespec wall;

	clock_gettime(CLOCK_REALTIME, &wall);
	r->end.start_us = (uint64_t) wall.tv_sec * 1000000 +
			  (uint64_t) wall.tv_nsec / EACH_US;
	r->began = storm_now();
	if (each.o->timeout_us)
		r->until = r->began + each.o->timeout_us * EACH_US;
	runs.since = 0;
	each_named(k, r->place.text, r->place.len);
	each_begun(k, r->end.seq, k + 1);
	if (each.killed)
		each_runs_end_one(r, r->began);
}

/* A word of the head's is one of its run, as srun's are of its step. */
static void each_runs_say(uint32_t k)
{
	struct each_one *r = &runs.one[k];
	const char *text = (const char *) r->place.text;
	int len = (int) r->place.len;
	char line[1000];

	if (!*r->said)
		snprintf(r->said, sizeof(r->said), "%.*s", len, text);
	if (r->place.state != PLACE_BEGUN) {
		run_say("%.*s", len, text);
		return;
	}
	snprintf(line, sizeof(line) - 1, "storm each: %.*s", len, text);
	strcat(line, "\n");
	each_written(k, r->end.seq, STDERR_FILENO, (uint8_t *) line,
		     strlen(line));
}

static void each_runs_ended(uint32_t k)
{
	struct each_one *r = &runs.one[k];

	r->end.time_us = (storm_now() - r->began) / EACH_US;
	r->end.status = r->place.status;
	each_ended(k, &r->end);
}

static void each_runs_lost(uint32_t k)
{
	static char said[sizeof(runs.one->said)];
	struct each_one *r = &runs.one[k];

	/* several runs can have had the node */
	if (*r->said && strcmp(said, r->said))
		run_say("%s", r->said);
	memcpy(said, r->said, sizeof(said));
	each_gone(k);
	each_came_again(k);
}

static void each_runs_away(void)
{
	if (!runs.since)
		runs.since = storm_now();
}

static void each_runs_do(uint32_t k, enum each_place_event event)
{
	struct each_one *r = &runs.one[k];
	const struct each_place *p = &r->place;

	if (event == PLACE_WAITS_FOR)
		snprintf(runs.waits_for, sizeof(runs.waits_for), "%.*s",
			 (int) p->len, (const char *) p->text);
	else if (event == PLACE_BEGINS)
		each_runs_begun(k);
	else if (event == PLACE_SAYS)
		each_runs_say(k);
	else if (event == PLACE_WRITES)
		each_written(k, r->end.seq, p->fd, p->text, p->len);
	else if (event == PLACE_IS_AWAY)
		each_runs_away();
	else if (event == PLACE_REFUSED)
		run_say("%.*s", (int) p->len, (const char *) p->text);
	else if (event == PLACE_STOPPED)
		run_say("error: the launchers have ended, and all tasks with them");
	runs.failed |= event == PLACE_REFUSED || event == PLACE_STOPPED;
	if (!each_place_is_free(event))
		return;
	each_runs_close(r);
	if (event == PLACE_ENDS)
		each_runs_ended(k);
	else if (event == PLACE_LOST)
		each_runs_lost(k);
	else if (event == PLACE_BACK)
		each_back(k, r->end.seq);
	else if (event == PLACE_ASKS_AGAIN)
		each_runs_ask(k);
}

static void each_runs_serve(uint32_t k)
{
	struct each_one *r = &runs.one[k];
	int none[RUN_SOCK_FDS], sock = r->sock;
	int got = run_sock_receive(sock, &r->in, &none);
	enum run_kind kind;
	struct storm_in body;

	while (!runs.failed && r->sock == sock &&
	       run_reader_next(&r->in, &kind, &body) > 0)
		each_runs_do(k, each_place_hear(&r->place, kind, &body));
	if (!runs.failed && r->sock == sock && got < 0) {
		enum each_place_event event = each_place_closed(&r->place);

		each_runs_close(r);
		each_runs_do(k, event);
	}
}

static bool each_runs_hear(int *status)
{
	struct epoll_event ev[64];
	int n = runs.failed ? 0 : epoll_wait(runs.epoll, ev, 64, 0);

	for (int k = 0; k < n && !runs.failed; k++)
		if (ev[k].data.u32 != EACH_WAKES &&
		    runs.one[ev[k].data.u32].sock >= 0)
			each_runs_serve(ev[k].data.u32);
	runs.failed |= !runs.failed && !each_runs_grow();
	*status = runs.failed ? EACH_FAILED : 0;
	return !runs.failed && !runs.over;
}

/* ------------------------------------------------------------------------- time --- */

static int each_runs_timeout(void)
{
	uint64_t now = storm_now(), next = UINT64_MAX;

	if (runs.since)
		next = runs.since + SAY_WAITS * STORM_MS;
	for (uint32_t k = 0; k < runs.places; k++) {
		const struct each_one *r = &runs.one[k];

		if (r->place.state == PLACE_BEGUN && r->until)
			next = storm_min(next, r->until);
	}
	return storm_patience(next == UINT64_MAX ? next :
			      next > now	 ? next - now :
						   0);
}

static void each_runs_say_waits(void)
{
	bool away = false, waits = false;

	for (uint32_t k = 0; k < runs.places; k++) {
		away |= runs.one[k].place.state == PLACE_AWAY;
		waits |= runs.one[k].place.waits;
	}
	if (away)
		run_say_next();
	else if (waits)
		run_say_waits(runs.waits_for, &runs.ask);
	else
		run_say_unanswered();
}

static void each_runs_patience(void)
{
	uint64_t now = storm_now();

	if (runs.since && now >= runs.since + SAY_WAITS * STORM_MS) {
		runs.since = 0;
		each_runs_say_waits();
	}
	for (uint32_t k = 0; k < runs.places; k++) {
		struct each_one *r = &runs.one[k];

		if (r->place.state != PLACE_BEGUN || !r->until ||
		    now < r->until)
			continue;
		r->end.late |= !r->end.killed;
		each_runs_end_one(r, now);
	}
}

/* ------------------------------------------------------------------------ begin --- */

/* A run has a descriptor here. */
static uint32_t each_runs_most(void)
{
	struct rlimit l = { .rlim_cur = RLIM_INFINITY };

	getrlimit(RLIMIT_NOFILE, &l);
	if (l.rlim_cur < EACH_FILES * 2)
		return 1;
	return (uint32_t) storm_min((rlim_t) EACH_RUNS_MAX,
				    l.rlim_cur - EACH_FILES);
}

static bool each_runs_open(const char *journal)
{
	const struct each_options *o = each.o;
	struct epoll_event ev = { .events = EPOLLIN, .data.u32 = EACH_WAKES };

	if (journal && *journal && !run_request_cwd(journal, &runs.journal))
		return false;
	if (!run_job_find(&runs.job))
		return false;
	runs.ask = (struct run_ask) { .nodes = o->nodes,
				      .tasks = o->tasks,
				      .cpus = o->cpus > 1 ? o->cpus : 0,
				      .with = "",
				      .without = "",
				      .journal = runs.journal };
	if (!o->nodes && !o->tasks)
		runs.ask.tasks = 1;
	run_fit_nodes(&runs.ask);
	if (!each_env_init(&runs.env)) {
		run_say("no memory");
		return false;
	}
	each_env_client(&runs.env, (uint32_t) getpid());
	runs.most = each_runs_most();
	runs.null = open("/dev/null", O_RDWR | O_CLOEXEC);
	runs.wakes = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	runs.epoll = epoll_create1(EPOLL_CLOEXEC);
	runs.since = storm_now();
	if (runs.null >= 0 && runs.wakes >= 0 && runs.epoll >= 0 &&
	    !epoll_ctl(runs.epoll, EPOLL_CTL_ADD, runs.wakes, &ev))
		return each_runs_grow();
	run_say("%s", strerror(errno));
	return false;
}

static int each_runs_fd(void)
{
	return runs.epoll;
}

/* All is sent at once. */
static bool each_runs_waits(void)
{
	return false;
}

static void each_runs_flush(void)
{
}

static void each_runs_end(void)
{
	runs.over = true;
	each_runs_wake();
}

const struct each_way each_runs = {
	.alone = true,
	.open = each_runs_open,
	.fd = each_runs_fd,
	.waits = each_runs_waits,
	.timeout = each_runs_timeout,
	.patience = each_runs_patience,
	.hear = each_runs_hear,
	.give = each_runs_give,
	.recall = each_runs_recall,
	.kill = each_runs_kill,
	.end = each_runs_end,
	.send = each_runs_flush,
};
