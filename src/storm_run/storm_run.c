/*
 * storm_run.c - storm run: start tasks inside a job by the job's launchers, and wait for
 * them.  It starts the launchers if there are none.  It links no library: what it needs
 * to start is part of every launch (doc/launchers.md).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "run_begin.h"
#include "run_connect.h"
#include "run_input.h"
#include "run_multi_file.h"
#include "run_options.h"
#include "run_pty.h"
#include "run_request.h"
#include "run_stdio.h"
#include "src/libstorm/base/clock.h"
#include "storm_run.h"

/* A second ^C within this time kills. */
#define AGAIN (1 * STORM_SEC)

/* ------------------------------------------------------------------ the request --- */

/* Send what is to be executed, and where its output goes.  0, or the exit
 * status. */
static int run_send(int sock, const struct run_options *asked,
		    const struct run_programs *programs)
{
	static char cwd[PATH_MAX];
	struct run_what what = { .argv = asked->argv,
				 .programs = *programs, /* stay the caller's */
				 .cwd = cwd,
				 .mpi = asked->mpi,
				 .bind = asked->bind,
				 .bind_list = asked->bind_list,
				 .bind_verbose = asked->bind_verbose,
				 .no_gpus = asked->no_gpus };
	const int fd[RUN_SOCK_FDS] = { run_stdio_fd(0), run_stdio_fd(1),
				       run_stdio_fd(2) };

	if (!run_request_cwd(asked->cwd, &cwd))
		return RUN_FAILED;
	run_stdio_tell(asked, &what);
	run_input_tell(asked, &what);
	if (asked->pty && !run_pty_tell(&what)) {
		run_say("--pty: the terminal: %s", strerror(errno));
		return RUN_FAILED;
	}
	return run_request_send(sock, &asked->ask, &what, fd);
}

/* ------------------------------------------------------------------- waiting --- */

enum { ASK_AGAIN = -2 }; /* beside RUN_GOES_ON */

/* So many heads may die before they have a run; then the run may be the reason. */
#define HEADS 3

static const struct run_options *run_asked;
static bool run_waits; /* for CPUs, and nobody was told */
static char run_waits_for[200];
static bool run_heard; /* the head has the run, and may have begun it */
static int run_heads;  /* that have died before that */
static int run_head, run_signals = -1;
static sigset_t run_before; /* what was blocked before run_catch() */
static int run_killed; /* a signal that ends tasks and was passed on, or 0 */
static bool run_drops; /* and nobody reads their output */
static bool run_deaf[STDERR_FILENO + 1]; /* its reader is gone */
static bool run_lost;			 /* output was not written */

/* Pass a signal on to all tasks. */
static void run_pass_signal(void)
{
	static uint64_t interrupted;
	uint8_t frame[RUN_FRAME_HEADER + 1];
	struct signalfd_siginfo si;
	uint64_t now = storm_now();

	if (read(run_signals, &si, sizeof(si)) != sizeof(si))
		return;
	if (si.ssi_signo == SIGCONT || si.ssi_signo == SIGWINCH) {
		if (si.ssi_signo == SIGCONT)
			run_pty_resume(run_head);
		else
			run_pty_send_size(run_head);
		return;
	}
	if (si.ssi_signo != SIGUSR1 && si.ssi_signo != SIGUSR2)
		run_killed = (int) si.ssi_signo;
	run_frame_head(frame, RUN_SIGNAL, 1);
	frame[RUN_FRAME_HEADER] = (uint8_t) si.ssi_signo;
	if (si.ssi_signo == SIGINT) {
		if (interrupted && now < interrupted + AGAIN)
			frame[RUN_FRAME_HEADER] = SIGKILL;
		interrupted = now;
	}
	run_sock_send(run_head, frame, sizeof(frame), NULL);
}

/* It cannot be written to: tasks elsewhere get SIGPIPE, as one here does that writes to
 * a pipe without a reader.  All else is a loss. */
static void run_stop_output(int fd)
{
	uint8_t frame[RUN_FRAME_HEADER + 1];

	if (errno != EPIPE) {
		run_say(fd == STDOUT_FILENO ? "error: standard output: %s" :
					      "error: standard error: %s",
			strerror(errno));
		run_lost = true;
	}
	run_deaf[fd] = true;
	run_frame_head(frame, RUN_DEAF, 1);
	frame[RUN_FRAME_HEADER] = (uint8_t) fd;
	run_sock_send(run_head, frame, sizeof(frame), NULL);
}

/* A pipe that poll(2) calls writable takes so much at once. */
#define PIECE 4096
#define DROP 1000 /* ms */

/* Other writers to the same pipe come between lines, unless one is longer. */
static size_t run_piece(const uint8_t *buf, size_t len)
{
	const uint8_t *end;

	if (len <= PIECE)
		return len;
	end = memrchr(buf, '\n', PIECE);
	return end ? (size_t) (end - buf) + 1 : PIECE;
}

/* A reader that has stopped does not keep signals from the tasks, and not the end of
 * tasks that a signal has ended from being told. */
static void run_write(int fd, const uint8_t *buf, size_t len)
{
	while (len && !run_deaf[fd]) {
		struct pollfd p[] = { { run_stdio_fd(fd), POLLOUT, 0 },
				      { run_signals, POLLIN, 0 } };
		ssize_t n;

		int came = run_drops ? 0 : poll(p, 2, run_killed ? DROP : -1);

		if (!came && !run_drops)
			run_say("error: output is lost: nobody reads it");
		run_drops |= !came;
		run_lost |= run_drops;
		if (run_drops)
			return;
		if (came > 0 && p[1].revents)
			run_pass_signal();
		if (came < 0 || !p[0].revents)
			continue;
		n = write(run_stdio_fd(fd), buf, run_piece(buf, len));
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			run_stop_output(fd);
		if (n <= 0)
			continue;
		buf += n;
		len -= (size_t) n;
	}
}

/* The run has its number. */
static bool run_is_numbered(struct storm_in *body)
{
	static bool known;
	uint64_t run = storm_get64(body);
	char step[32];

	if (known)
		return true;
	known = true;
	snprintf(step, sizeof(step), "%.*s", (int) (body->end - body->p),
		 (const char *) body->p);
	return run_stdio_open_numbered(run_asked, run, step);
}

/* As those of slurmd and srun, errors say that they are some. */
static void run_repeat(const struct storm_in *body)
{
	int len = (int) (body->end - body->p);

	if (len >= 6 && !memcmp(body->p, "error:", 6))
		run_say("%.*s", len, (const char *) body->p);
	else
		run_inform("%.*s", len, (const char *) body->p);
}

/* RUN_GOES_ON, ASK_AGAIN, or the exit status. */
static int run_hear(enum run_kind kind, struct storm_in *body)
{
	size_t len = (size_t) (body->end - body->p);
	int rc;

	switch (kind) {
	case RUN_OUTPUT:
		if (len && (*body->p == 1 || *body->p == 2))
			run_write(*body->p, body->p + 1, len - 1);
		return RUN_GOES_ON;
	case RUN_SAY:
		run_repeat(body);
		return RUN_GOES_ON;
	case RUN_REFUSED:
		run_say("%.*s", (int) len, (const char *) body->p);
		return RUN_FAILED;
	case RUN_ROOM:
		run_input_room(body);
		if (run_asked->pty)
			run_pty_begin(run_head);
		return RUN_GOES_ON;
	case RUN_END:
		rc = storm_get8(body);
		return run_lost && !rc ? RUN_FAILED : rc;
	case RUN_AGAIN:
		return ASK_AGAIN;
	case RUN_READY:
		return 0;
	case RUN_PARENT:
		snprintf(run_waits_for, sizeof(run_waits_for), "%.*s",
			 (int) (body->end - body->p), (const char *) body->p);
		return RUN_GOES_ON;
	case RUN_QUEUED:
		run_heard = true;
		run_waits = storm_get8(body);
		return run_is_numbered(body) ? RUN_GOES_ON : RUN_FAILED;
	default:
		return RUN_GOES_ON;
	}
}

/* Frames that are there. */
static int run_hear_all(int sock, struct run_reader *r)
{
	int none[RUN_SOCK_FDS], rc = RUN_GOES_ON,
				got = run_sock_receive(sock, r, &none);
	enum run_kind kind;
	struct storm_in body;

	while (rc == RUN_GOES_ON && run_reader_next(r, &kind, &body) > 0)
		rc = run_hear(kind, &body);
	if (rc == RUN_GOES_ON && got < 0 && !run_heard && run_heads++ < HEADS)
		return ASK_AGAIN;
	if (rc == RUN_GOES_ON && got < 0) {
		run_say("error: the launchers have ended, and all tasks with them");
		rc = RUN_FAILED;
	}
	return rc;
}

/* From here on signals are the tasks'. */
static void run_catch(void)
{
	/* the last two are of a terminal */
	static const int all[] = { SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
				   SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH };
	const size_t none = run_asked && run_asked->pty ? 0 : 2;
	sigset_t set;

	run_begin_signals(all, sizeof(all) / sizeof(*all) - none, &set);
	sigprocmask(SIG_BLOCK, &set, &run_before);
	signal(SIGPIPE, SIG_IGN);
	run_signals = signalfd(run_signals, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* No head has the run now: a signal ends the client, but for those that do not end a
 * run which waits.  One that has come already counts, too. */
static void run_uncatch(void)
{
	sigset_t set = run_before;

	if (run_signals < 0)
		return; /* none was caught */
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_SETMASK, &set, NULL);
}

/* It was silent for SAY_WAITS. */
static void run_say_silent(bool *said)
{
	if (run_waits)
		run_say_waits(run_waits_for, &run_asked->ask);
	else if (!run_heard && !*said)
		run_say_unanswered();
	*said |= !run_heard;
	run_waits = false;
}

static int run_wait(int sock)
{
	static bool said;
	struct pollfd p[] = { { .fd = sock, .events = POLLIN },
			      { .fd = run_signals, .events = POLLIN },
			      { .fd = -1, .events = POLLIN } };
	struct run_reader r = { 0 };
	int rc = RUN_GOES_ON;

	run_head = sock;
	run_heard = false;
	run_input_begin(sock);
	while (rc == RUN_GOES_ON) {
		bool patient = !run_waits && (run_heard || said);
		int n;

		p[2].fd = run_input_fd();
		n = poll(p, 3, run_input_wait(patient ? -1 : SAY_WAITS));
		if (!n && !patient)
			run_say_silent(&said);
		if (n <= 0)
			continue;
		if (p[0].revents)
			rc = run_hear_all(sock, &r);
		if (rc == RUN_GOES_ON && p[1].revents)
			run_pass_signal();
		if (rc == RUN_GOES_ON && p[2].revents)
			run_input_read();
	}
	run_pty_end();
	run_reader_fini(&r);
	return rc;
}

/* Until the head has ended. */
static void run_wait_for_end(int sock)
{
	uint8_t piece[512];
	ssize_t n;

	while ((n = recv(sock, piece, sizeof(piece), 0)) > 0 ||
	       (n < 0 && errno == EINTR))
		;
}

/* Until the next head can be there. */
static void run_wait_for_next(int sock)
{
	static bool said;
	struct pollfd p = { .fd = sock, .events = POLLIN };

	run_uncatch();
	if (!said && !poll(&p, 1, SAY_WAITS)) {
		run_say_next();
		said = true;
	}
	run_wait_for_end(sock);
}

static int run_tasks(const struct run_job *j, struct run_options *o)
{
	static char journal[PATH_MAX];
	struct run_programs programs = { 0 };

	run_asked = o;
	if (o->multi && !run_multi_file(o->argv, &o->ask, &programs))
		return RUN_FAILED;
	run_fit_nodes(&o->ask);
	if (o->journal && *o->journal) {
		if (!run_request_cwd(o->journal, &journal))
			return RUN_FAILED;
		o->ask.journal = journal;
	}
	if (!run_stdio_open(o))
		return RUN_FAILED;
	for (;;) {
		int sock = run_connect(j, true), rc;

		if (sock < 0)
			return RUN_FAILED;
		/* a head that stands may let it wait here */
		rc = run_send(sock, o, &programs);
		run_catch();
		if (!rc)
			rc = run_wait(sock);
		/* the signal has met the head's word, and nobody got it */
		if (rc == ASK_AGAIN && run_killed)
			rc = 128 + run_killed;
		if (rc == ASK_AGAIN)
			run_wait_for_next(sock);
		close(sock);
		if (rc != ASK_AGAIN)
			return rc;
	}
}

/* A frame that is a word alone. */
static bool run_send_word(int sock, enum run_kind kind)
{
	uint8_t frame[RUN_FRAME_HEADER];

	run_frame_head(frame, kind, 0);
	return !run_sock_send(sock, frame, sizeof(frame), NULL);
}

static int run_start_alone(const struct run_job *j)
{
	for (;;) {
		int sock = run_connect(j, true), rc;

		if (sock < 0)
			return RUN_FAILED;
		/* the last word of a head that ends tells, too */
		run_send_word(sock, RUN_STAY);
		rc = run_wait(sock);
		if (rc == ASK_AGAIN)
			run_wait_for_next(sock);
		close(sock);
		if (rc != ASK_AGAIN)
			return rc;
	}
}

/* Until the launchers' step has ended, too. */
static void run_wait_for_keeper(const struct run_job *j)
{
	char path[RUN_SOCK_PATH];
	int fd;

	run_sock_beside(j->path, "keep", &path);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	while (fd >= 0 && flock(fd, LOCK_SH) && errno == EINTR)
		;
	if (fd >= 0)
		close(fd);
}

static int run_stop(const struct run_job *j)
{
	int sock = run_connect(j, false);

	if (sock < 0) /* there are none, or it was said why */
		return run_nobody_there() ? 0 : RUN_FAILED;
	if (run_send_word(sock, RUN_STOP))
		run_wait_for_end(sock);
	close(sock);
	run_wait_for_keeper(j);
	return 0;
}

static int run_do(int argc, char **argv)
{
	struct run_options o = { 0 };
	struct run_job j;
	int rc = run_parse(argc, argv, &o);

	if (rc != RUN_GOES_ON)
		return rc;
	if (!run_job_find(&j))
		return RUN_FAILED;
	if (o.stop)
		return run_stop(&j);
	if (o.start)
		return run_start_alone(&j);
	return run_tasks(&j, &o);
}

/* What is no task's: 1, or what srun's variable says. */
static int run_failure(void)
{
	const char *text = getenv("SLURM_EXIT_ERROR");
	int status = text ? atoi(text) : 1;

	if (status > 0 && status < 256)
		return status;
	run_say("error: SLURM_EXIT_ERROR=%s is no exit status", text);
	return 1;
}

int storm_run(int argc, char **argv)
{
	static char name[] = "storm run"; /* getopt_long(3) says it */
	int rc;

	run_begin_files();
	if (argc)
		argv[0] = name;
	rc = run_do(argc, argv);
	return rc == RUN_FAILED ? run_failure() : rc;
}
