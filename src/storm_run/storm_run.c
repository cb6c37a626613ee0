/*
 * storm_run.c - storm run: start tasks inside a job by the job's launchers, and wait for
 * them.  It starts the launchers if there are none.  It links no library: what it needs
 * to start is part of every launch (doc/launchers.md).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/libstorm/base/clock.h"
#include "src/storm_launcher/run_sock.h"
#include "storm_config.h"

enum { FAILED = 1, USAGE = 2 };

/* A second ^C within this time kills. */
#define AGAIN (1 * STORM_SEC)

/* What waits longer says so. */
#define SAY_WAITS 1000 /* ms */
#define SAY_STARTS 3000

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

struct run_options {
	struct run_ask ask;
	bool stop;
};

struct run_job {
	const char *id;
	char path[RUN_SOCK_PATH];
};

__attribute__((format(printf, 1, 2))) static void run_say(const char *fmt, ...)
{
	va_list ap;

	fputs("storm run: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

/* ------------------------------------------------------------- the launchers --- */

/* In the child: become the keeper of launchers.  It has the lock, too: a client that is
 * killed now must not let the next one start launchers beside these. */
__attribute__((noreturn)) static void run_become_keeper(const struct run_job *j,
							int tell, int lock)
{
	char log[RUN_SOCK_PATH];
	int null = open("/dev/null", O_RDWR);
	int out;

	run_sock_beside(j->path, "log", &log);
	out = open(log, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW,
		   0600);
	setsid();
	if (null < 0 || out < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 ||
	    dup2(out, 2) < 0 || chdir("/")) {
		dprintf(tell, "%s: %s", log, strerror(errno));
		_exit(FAILED);
	}
	/* out of the way of each other's places */
	tell = fcntl(tell, F_DUPFD, 5);
	lock = fcntl(lock, F_DUPFD, 5);
	if (tell < 0 || lock < 0 || dup2(tell, 3) < 0 || dup2(lock, 4) < 0)
		_exit(FAILED);
	/* the client's descriptors are not the keeper's: a pipe's reader would
	 * wait for their end */
	close_range(5, ~0U, 0);
	execl(PKGLIBEXECDIR "/storm_launcher", "storm_launcher", "--keep",
	      j->path, "3", "4", (char *) NULL);
	dprintf(3, PKGLIBEXECDIR "/storm_launcher: %s: install STORM again",
		strerror(errno));
	_exit(FAILED);
}

/* srun waits for ever where Slurm lets the step wait, and says so in the log. */
static void run_say_slow(const struct run_job *j)
{
	char log[RUN_SOCK_PATH], text[500] = "", *line;
	int fd;
	off_t end;
	ssize_t n;

	run_sock_beside(j->path, "log", &log);
	fd = open(log, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	end = lseek(fd, 0, SEEK_END);
	n = pread(fd, text, sizeof(text) - 1,
		  end < (off_t) sizeof(text) ? 0 :
					       end - (off_t) sizeof(text) + 1);
	if (fd >= 0)
		close(fd);
	while (n > 0 && text[n - 1] == '\n')
		text[--n] = '\0';
	line = strrchr(text, '\n');
	run_say("waits for srun to start the launchers: %s",
		line  ? line + 1 :
		*text ? text :
			"it has said nothing yet");
}

/* What the keeper says: "ready", or why not. */
static bool run_keeper_answers(const struct run_job *j, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char text[700] = "";
	size_t len = 0;
	ssize_t n;

	if (!poll(&p, 1, SAY_STARTS))
		run_say_slow(j);
	while ((n = read(fd, text + len, sizeof(text) - 1 - len)) > 0 ||
	       (n < 0 && errno == EINTR))
		len += n > 0 ? (size_t) n : 0;
	if (!strcmp(text, "ready\n"))
		return true;
	run_say("the launchers cannot be started: %s",
		*text ? text : "their keeper has died");
	return false;
}

/* The first name of SLURM_JOB_NODELIST, as n[1-4,7] or n1,m2, is it this one? */
static bool run_is_first_of(const char *name, const char *list)
{
	size_t n = strcspn(list, "[,");
	const char *rest = list + n + (list[n] == '[');
	size_t digits = list[n] == '[' ? strspn(rest, "0123456789") : 0;

	return strlen(name) == n + digits && !strncmp(name, list, n) &&
	       !strncmp(name + n, rest, digits);
}

/* Elsewhere there may be a head already, on the job's first host. */
static bool run_may_start(void)
{
	const char *here = getenv("SLURMD_NODENAME");
	const char *list = getenv("SLURM_JOB_NODELIST");

	if (!here || !list || run_is_first_of(here, list))
		return true;
	run_say("this is node %s, and only the first node of %s can be asked yet",
		here, list);
	return false;
}

/* An ordinary step ends with its tasks, and all that they started.  Numbers of
 * others, as of an interactive one, are at the end of 32 bits. */
static bool run_in_step(void)
{
	const char *step = getenv("SLURM_STEP_ID");

	return step && *step && strtoul(step, NULL, 10) < 0xfffffff0;
}

static bool run_start_launchers(const struct run_job *j, int lock)
{
	uint64_t begun = storm_now();
	int p[2];
	pid_t pid;
	bool good;

	if (pipe2(p, O_CLOEXEC)) {
		run_say("%s", strerror(errno));
		return false;
	}
	pid = fork();
	if (!pid)
		run_become_keeper(j, p[1], lock);
	close(p[1]);
	if (pid < 0) {
		run_say("%s", strerror(errno));
		close(p[0]);
		return false;
	}
	good = run_keeper_answers(j, p[0]);
	close(p[0]);
	if (good && run_in_step())
		run_say("the launchers end with step %s.%s, in which this is; those that the batch script starts stay",
			j->id, getenv("SLURM_STEP_ID"));
	if (good)
		run_say("started launchers on %s nodes in %llu ms; later runs find them there",
			getenv("SLURM_JOB_NUM_NODES"),
			(unsigned long long) ((storm_now() - begun) /
					      STORM_MS));
	return good;
}

static bool run_nobody_there(void)
{
	return errno == ENOENT || errno == ECONNREFUSED;
}

/* -1 with errno 0: it was said why. */
static int run_connect_or_start(const struct run_job *j, int lock, bool start)
{
	int sock = run_sock_connect(j->path);

	if (sock >= 0 || !run_nobody_there() || !start)
		return sock;
	if (run_start_launchers(j, lock))
		return run_sock_connect(j->path);
	errno = 0;
	return -1;
}

/* The lock of the one that starts launchers; or -1, and it was said why. */
static int run_lock(const char *path)
{
	const struct timespec pause = { .tv_nsec = 20 * STORM_MS };
	uint64_t until = storm_now() + SAY_WAITS * STORM_MS;
	int lock;

	while ((lock = run_sock_lock(path, false)) < 0 &&
	       errno == EWOULDBLOCK && storm_now() < until)
		nanosleep(&pause, NULL);
	if (lock < 0 && errno == EWOULDBLOCK) {
		run_say("waits for launchers that another storm run starts");
		lock = run_sock_lock(path, true);
	}
	if (lock < 0)
		run_say("%s: %s", path, strerror(errno));
	return lock;
}

/* One client starts the launchers; others wait for it, also one that starts none. */
static int run_start_or_wait(const struct run_job *j, bool start)
{
	char path[RUN_SOCK_PATH];
	int lock, sock, err;

	run_sock_beside(j->path, "lock", &path);
	lock = run_lock(path);
	if (lock < 0) {
		errno = 0;
		return -1;
	}
	sock = run_connect_or_start(j, lock, start);
	err = errno;
	unlink(path);
	close(lock);
	errno = err;
	return sock;
}

/* A connection to the head, which is started if there is none; or -1.  Without start
 * errno tells then whether nobody is there; 0: this host cannot know. */
static int run_connect(const struct run_job *j, bool start)
{
	int sock = run_sock_connect(j->path), err;

	if (sock < 0 && run_nobody_there()) {
		if (run_may_start())
			sock = run_start_or_wait(j, start);
		else
			errno = 0;
	}
	err = errno;
	if (sock < 0 && err && (start || !run_nobody_there()))
		run_say("%s: %s", j->path,
			err == EPERM ? "another user's program is there" :
				       strerror(err));
	errno = err;
	return sock;
}

/* ------------------------------------------------------------------ the request --- */

static void run_limits(struct run_what *w)
{
	for (int k = 0; k < RUN_LIMITS; k++) {
		struct rlimit l = { RLIM_INFINITY, RLIM_INFINITY };

		getrlimit(k, &l);
		w->limit[k] = l.rlim_cur;
	}
}

/* Programs that read it would take it for empty.  Tasks of srun have a pipe of srun's,
 * and seldom mean it. */
static void run_say_input(void)
{
	struct stat st;

	if (!run_in_step() && !fstat(STDIN_FILENO, &st) &&
	    (S_ISFIFO(st.st_mode) || S_ISREG(st.st_mode) ||
	     S_ISSOCK(st.st_mode)))
		run_say("tasks do not get standard input, but /dev/null; </dev/null says that it is meant");
}

/* Send what is to be executed, and where its output goes.  0, or the exit
 * status. */
static int run_send(int sock, const struct run_ask *ask, char **argv)
{
	extern char **environ;
	static char cwd[PATH_MAX];
	struct run_what what = { .argv = argv, .env = environ, .cwd = cwd };
	const int fd[RUN_SOCK_FDS] = { STDOUT_FILENO, STDERR_FILENO };
	size_t len;
	uint8_t *buf;
	struct storm_out o;
	int rc;

	if (!getcwd(cwd, sizeof(cwd))) {
		run_say("the current directory: %s", strerror(errno));
		return FAILED;
	}
	what.umask = umask(0);
	umask((mode_t) what.umask);
	run_limits(&what);
	len = RUN_ASK_LEN + run_what_len(&what);
	if (len > RUN_FRAME_MAX) {
		run_say("arguments and environment have %zu bytes, %u are possible",
			len, RUN_FRAME_MAX);
		return FAILED;
	}
	buf = malloc(RUN_FRAME_HEADER + len);
	if (!buf) {
		run_say("no memory");
		return FAILED;
	}
	run_frame_head(buf, RUN_ASK, len);
	o = (struct storm_out) { buf + RUN_FRAME_HEADER,
				 buf + RUN_FRAME_HEADER + len, false };
	run_ask_put(&o, ask);
	run_what_put(&o, &what);
	rc = run_sock_send(sock, buf, RUN_FRAME_HEADER + len, fd);
	free(buf);
	/* a head that ends may have closed it: its last word tells */
	return rc && errno != EPIPE && errno != ECONNRESET ? FAILED : 0;
}

/* ------------------------------------------------------------------- waiting --- */

enum { GOES_ON = -1, ASK_AGAIN = -2 };

/* So many heads may die before they have a run; then the run may be the reason. */
#define HEADS 3

static bool run_waits; /* for CPUs, and nobody was told */
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

/* A reader that has stopped does not keep signals from the tasks, and not the end of
 * tasks that a signal has ended from being told. */
static void run_write(int fd, const uint8_t *buf, size_t len)
{
	while (len && !run_deaf[fd]) {
		struct pollfd p[] = { { fd, POLLOUT, 0 },
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
		n = write(fd, buf, len < PIECE ? len : PIECE);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			run_stop_output(fd);
		if (n <= 0)
			continue;
		buf += n;
		len -= (size_t) n;
	}
}

/* GOES_ON, ASK_AGAIN, or the exit status. */
static int run_hear(enum run_kind kind, struct storm_in *body)
{
	size_t len = (size_t) (body->end - body->p);
	int rc;

	switch (kind) {
	case RUN_OUTPUT:
		if (len && (*body->p == 1 || *body->p == 2))
			run_write(*body->p, body->p + 1, len - 1);
		return GOES_ON;
	case RUN_SAY:
	case RUN_REFUSED:
		run_say("%.*s", (int) len, (const char *) body->p);
		return kind == RUN_SAY ? GOES_ON : FAILED;
	case RUN_END:
		rc = storm_get8(body);
		return run_lost && !rc ? FAILED : rc;
	case RUN_AGAIN:
		return ASK_AGAIN;
	case RUN_QUEUED:
		run_heard = true;
		run_waits = storm_get8(body);
		return GOES_ON;
	default:
		return GOES_ON;
	}
}

/* Frames that are there. */
static int run_hear_all(int sock, struct run_reader *r)
{
	int none[RUN_SOCK_FDS], rc = GOES_ON,
				got = run_sock_receive(sock, r, &none);
	enum run_kind kind;
	struct storm_in body;

	while (rc == GOES_ON && run_reader_next(r, &kind, &body) > 0)
		rc = run_hear(kind, &body);
	if (rc == GOES_ON && got < 0 && !run_heard && run_heads++ < HEADS)
		return ASK_AGAIN;
	if (rc == GOES_ON && got < 0) {
		run_say("error: the launchers have ended, and all tasks with them");
		rc = FAILED;
	}
	return rc;
}

/* From here on signals are the tasks'. */
static void run_catch(void)
{
	static const int all[] = { SIGINT,  SIGTERM, SIGHUP,
				   SIGQUIT, SIGUSR1, SIGUSR2 };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct sigaction now;

		/* nohup, or the background of a shell without job control */
		if (!sigaction(all[i], NULL, &now) && now.sa_handler != SIG_IGN)
			sigaddset(&set, all[i]);
	}
	sigprocmask(SIG_BLOCK, &set, &run_before);
	signal(SIGPIPE, SIG_IGN);
	run_signals = signalfd(run_signals, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* No head has the run now: a signal ends the client, but for those that do not end a
 * run which waits.  One that has come already counts, too. */
static void run_uncatch(void)
{
	sigset_t set = run_before;

	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_SETMASK, &set, NULL);
}

static int run_wait(int sock)
{
	struct pollfd p[] = { { .fd = sock, .events = POLLIN },
			      { .fd = run_signals, .events = POLLIN } };
	struct run_reader r = { 0 };
	int rc = GOES_ON;

	run_head = sock;
	run_heard = false;
	while (rc == GOES_ON) {
		int n = poll(p, 2, run_waits ? SAY_WAITS : -1);

		if (!n && run_waits) {
			run_say("waits for CPUs: other runs of this job have them");
			run_waits = false;
		}
		if (n <= 0)
			continue;
		if (p[0].revents)
			rc = run_hear_all(sock, &r);
		if (rc == GOES_ON && p[1].revents)
			run_pass_signal();
	}
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
		run_say("waits for the end of this job's launchers: a node is lost, or they are stopped, and runs that began before go on");
		said = true;
	}
	run_wait_for_end(sock);
}

static int run_tasks(const struct run_job *j, const struct run_ask *ask,
		     char **argv)
{
	for (;;) {
		int sock = run_connect(j, true), rc;

		if (sock < 0)
			return FAILED;
		/* a head that stands may let it wait here */
		rc = run_send(sock, ask, argv);
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
	uint8_t frame[RUN_FRAME_HEADER];
	int sock = run_connect(j, false);

	if (sock < 0) /* there are none, or it was said why */
		return run_nobody_there() ? 0 : FAILED;
	run_frame_head(frame, RUN_STOP, 0);
	if (!run_sock_send(sock, frame, sizeof(frame), NULL))
		run_wait_for_end(sock);
	close(sock);
	run_wait_for_keeper(j);
	return 0;
}

/* -------------------------------------------------------------------- options --- */

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

/* GOES_ON, or the exit status. */
static int run_parse(int argc, char **argv, struct run_options *o)
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
			return USAGE;
		o->stop = true;
	}
	if (o->stop || optind < argc)
		return GOES_ON;
	run_say("no program is given; see storm run --help");
	return USAGE;
}

/* A socket must not take the place of a standard descriptor that is closed. */
static void run_fill_standard(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	static char name[] = "storm run"; /* getopt_long(3) says it */
	struct run_options o = { 0 };
	struct run_job j = { .id = getenv("SLURM_JOB_ID") };
	char why[256];
	int rc;

	run_fill_standard();
	if (argc)
		argv[0] = name;
	rc = run_parse(argc, argv, &o);

	if (rc != GOES_ON)
		return rc;
	if (!j.id || !*j.id || strspn(j.id, "0123456789") != strlen(j.id)) {
		run_say("not inside a job: use salloc or sbatch first");
		return FAILED;
	}
	if (!run_sock_path(j.id, &j.path, why, sizeof(why))) {
		run_say("%s", why);
		return FAILED;
	}
	if (o.stop)
		return run_stop(&j);
	run_say_input();
	return run_tasks(&j, &o.ask, argv + optind);
}
