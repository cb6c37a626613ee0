/*
 * launcher.c - see launcher.h.  One loop owns everything; libstorm's thread hands it
 * what the head sends.  See launcher_private.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher.h"
#include "launcher_base.h"
#include "launcher_private.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/patience.h"

#define OPEN_LIMIT (60 * STORM_SEC) /* until the head has said something */
#define OPEN_LOOK 1000		    /* ms */
/* After SIGTERM and the last task, for reports to arrive: a launcher that stays keeps
 * its job's node. */
#define LINGER 200 /* ms */

static void launcher_signals(void)
{
	struct signalfd_siginfo si;

	while (read(launcher.signals, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGCHLD)
			launcher_reap();
		else /* Slurm's, for all that the step runs */
			launcher_kill(0, (int) si.ssi_signo);
		launcher.ending |= si.ssi_signo == SIGTERM;
	}
}

/* What to wait for, rebuilt each time. */
struct launcher_polls {
	struct pollfd *p;
	size_t count, room;
};

static void launcher_poll_add(struct launcher_polls *l, int fd, short events)
{
	if (l->count == l->room) {
		size_t room = l->room ? 2 * l->room : 16;
		void *more = realloc(l->p, room * sizeof(*l->p));

		if (!more) {
			storm_log(STORM_LOG_ERROR, "no memory to wait");
			_exit(1);
		}
		l->p = more;
		l->room = room;
	}
	l->p[l->count++] = (struct pollfd) { .fd = fd, .events = events };
}

static void launcher_poll_relay(struct launcher_polls *l,
				const struct relay *relay)
{
	short events;
	int fd = relay ? relay_fd(relay, &events) : -1;

	if (fd >= 0)
		launcher_poll_add(l, fd, events);
}

static void launcher_polls_fill(struct launcher_polls *l)
{
	short call_events;
	int call = launcher_call_fd(&call_events);

	l->count = 0;
	launcher_poll_add(l, launcher.event, POLLIN);
	launcher_poll_add(l, launcher.signals, POLLIN);
	launcher_poll_add(l, launcher.head, POLLIN);
	launcher_poll_add(l, launcher.munge.fd, POLLIN);
	launcher_poll_add(l, launcher_door_fd(), POLLIN);
	launcher_poll_add(l, call, call_events);
	launcher_poll_add(l, launcher_pmi_fd(), POLLIN);
	for (struct launched *run = launcher.runs; run; run = run->next) {
		launcher_poll_relay(l, run->relay);
		launcher_poll_relay(l, launcher_pmi_relay(run));
	}
	for (struct local_task *t = launcher.tasks; t; t = t->next) {
		for (int k = 0; k < 2; k++)
			if (t->pipe[k] >= 0 && relay_has_room(t->run->relay))
				launcher_poll_add(l, t->pipe[k], POLLIN);
		if (launcher_input_waits(t))
			launcher_poll_add(l, t->input, POLLOUT);
	}
}

/* How many ms to wait for events; -1: until there is one. */
static int launcher_patience(void)
{
	int wait = launcher.ending  ? LINGER / 4 :
		   !launcher.member ? OPEN_LOOK :
				      -1;

	for (struct launched *run = launcher.runs; run; run = run->next) {
		struct relay *pmi = launcher_pmi_relay(run);
		int again = run->relay ? relay_again(run->relay) : -1;

		wait = storm_sooner(wait, again);
		wait = storm_sooner(wait, pmi ? relay_again(pmi) : -1);
		wait = storm_sooner(wait, launcher_fold_wait(run));
	}
	for (const struct local_task *t = launcher.tasks; t; t = t->next)
		wait = storm_sooner(wait, launcher_lines_wait(t));
	return storm_sooner(wait, launcher_door_patience());
}

static short launcher_came(const struct launcher_polls *l, int fd)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->p[i].fd == fd)
			return l->p[i].revents;
	return 0;
}

static void launcher_relay_serve(const struct launcher_polls *l,
				 struct relay *relay)
{
	short events;
	int fd = relay ? relay_fd(relay, &events) : -1;

	if (relay)
		relay_serve(relay, fd < 0 ? 0 : launcher_came(l, fd));
}

static void launcher_turn(struct launcher_polls *l)
{
	launcher_polls_fill(l);
	if (poll(l->p, l->count, launcher_patience()) < 0)
		return;
	if (l->p[0].revents)
		launcher_hear_all();
	if (launcher.head >= 0 && l->p[2].revents)
		launcher_files_receive();
	if (l->p[1].revents)
		launcher_signals();
	if (l->p[3].revents)
		storm_worker_finish(&launcher.munge, NULL);
	launcher_door_serve(l->p[4].revents, l->p[5].revents);
	for (struct local_task *t = launcher.tasks; t; t = t->next)
		if (t->run->relay)
			launcher_task_read(t);
	launcher_pmi_serve(l->p[6].revents);
	launcher_begin_rest();
	for (struct launched *run = launcher.runs; run; run = run->next) {
		launcher_fold_serve(run);
		launcher_relay_serve(l, run->relay);
		launcher_relay_serve(l, launcher_pmi_relay(run));
		if (launcher_pmi_must_end(run))
			launcher_kill(run->start.number, SIGKILL);
	}
	launcher_input_serve();
	launcher_pty_serve();
	launcher_tasks_report();
}

/* The head has opened the domain, or has time to, and has not closed it. */
static bool launcher_is_open(uint64_t until)
{
	if (launcher.member)
		return !launcher.over;
	if (storm_now() < until)
		return true;
	storm_log(STORM_LOG_ERROR,
		  "the head has not opened the domain in %llu s",
		  OPEN_LIMIT / STORM_SEC);
	return false;
}

/* Slurm ends the step, and nothing is left to do. */
static bool launcher_is_done(void)
{
	static uint64_t until;

	if (!launcher.ending || launcher.tasks)
		return false;
	if (!until)
		until = storm_now() + LINGER * STORM_MS;
	return storm_now() >= until;
}

/* NULL, or what fails.  The head comes before there is a thread, which a fork would not
 * copy. */
static const char *launcher_begin_all(const char *proc, const char *socket,
				      uint16_t port, uint16_t call)
{
	const char *fault = NULL;

	if (!strcmp(proc, "0"))
		fault = launcher_begin_head(socket, call);
	return fault ? fault : launcher_begin_serving(port);
}

int launcher_serve(const char *socket, uint16_t port, uint16_t call)
{
	uint64_t until = storm_now() + OPEN_LIMIT;
	const char *proc = getenv("SLURM_PROCID"), *fault;
	struct launcher_polls polls = { 0 };

	launcher.name = getenv("SLURMD_NODENAME");
	launcher.step = getenv("SLURM_STEP_ID");
	launcher.head = -1;
	if (!proc || !launcher.name || !launcher.step ||
	    !run_key_read(getenv(RUN_KEY_VARIABLE), launcher.key)) {
		storm_log(STORM_LOG_ERROR,
			  "not in a step of Slurm: storm run starts it");
		return 1;
	}
	launcher_log_as(launcher.name);
	launcher_hwloc_start();
	launcher_many_files();
	if (!launcher_port_free(port)) {
		launcher_say_taken(proc);
		return 1;
	}
	fault = launcher_begin_all(proc, socket, port, call);
	if (fault && !launcher.node && !launcher_port_free(port)) {
		launcher_say_taken(proc); /* just now */
		return 1;
	}
	if (fault)
		return launcher_say_fault(proc, fault);
	launcher_say_ready(proc);
	while (launcher_is_open(until) && !launcher.headless &&
	       !launcher_is_done())
		launcher_turn(&polls);
	/* a keeper that waits for its call would do so until all others give up */
	if (launcher.headless && !launcher.member)
		launcher_say_fault(proc, launcher.headless);
	free(polls.p);
	launcher_door_close();
	launcher_kill(0, SIGKILL);
	launcher_pmix_stop();
	launcher_end_head();
	return 0;
}
