/*
 * keeper.c - see keeper.h.  Slurm has authenticated both ends of srun's pipes, so the
 * addresses that launchers print are theirs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "head.h"
#include "keeper.h"
#include "launcher.h"
#include "launcher_base.h"
#include "run_sock.h"
#include "runs.h"
#include "src/libstorm/base/clock.h"
#include "task.h"

/* Ports of jobs: above those that the kernel gives out (ip_local_port_range). */
#define PORT_FIRST 61000
#define PORTS 4000
#define PORT_TRIES 8
#define PORT_STRIDE 17 /* jobs that follow each other are far apart */
#define END_LIMIT (3 * STORM_SEC)
#define FORMER_LIMIT (60 * STORM_SEC)

static struct {
	const char *socket;
	struct run_step step;
	pid_t srun; /* 0: it has ended */
	pid_t head; /* a child, where it is not in the step; or 0 */
	int out;    /* what launchers print */
	int conn;   /* to the head */
	int signals;
	bool ended; /* the head has said that it ends */
	bool locked;
} keeper = { .out = -1, .conn = -1, .signals = -1 };

/* What the job is, by its environment. */
static bool keeper_init(char *why, size_t size)
{
	const char *nodes = getenv("SLURM_JOB_NUM_NODES");
	const char *cpus = getenv("SLURM_JOB_CPUS_PER_NODE");
	const char *job = getenv("SLURM_JOB_ID");
	unsigned long n = nodes ? strtoul(nodes, NULL, 10) : 0;
	struct run_step *s = &keeper.step;

	if (!job || !n || n > STORM_NODES_MAX || !cpus) {
		snprintf(
			why, size,
			"SLURM_JOB_ID, SLURM_JOB_NUM_NODES or SLURM_JOB_CPUS_PER_NODE is not set: run it in a batch script");
		return false;
	}
	s->job = (uint32_t) strtoul(job, NULL, 10);
	/* the client is on the job's first host; or on no host of the job, and
	 * the head is no launcher's child */
	s->local = getenv("SLURMD_NODENAME") ? 0 : STORM_NO_NODE;
	s->count = (uint32_t) n;
	s->cpus = calloc(n, sizeof(*s->cpus));
	s->nodes = calloc(n, sizeof(*s->nodes));
	if (!s->cpus || !s->nodes) {
		snprintf(why, size, "no memory");
		return false;
	}
	if (getrandom(s->key, RUN_KEY, 0) != RUN_KEY) {
		snprintf(why, size, "getrandom: %s", strerror(errno));
		return false;
	}
	if (runs_cpus_read(cpus, s->count, s->cpus))
		return true;
	snprintf(why, size, "SLURM_JOB_CPUS_PER_NODE=%s does not fit %u nodes",
		 cpus, s->count);
	return false;
}

/* A keeper holds a lock for its life: the next one begins when the step of the one
 * before has ended. */
static bool keeper_lock(char *why, size_t size)
{
	const struct timespec pause = { .tv_nsec = 10 * STORM_MS };
	uint64_t until = storm_now() + FORMER_LIMIT;
	char path[RUN_SOCK_PATH];
	bool said = false;
	int fd;

	run_sock_beside(keeper.socket, "keep", &path);
	while ((fd = run_sock_lock(path, false)) < 0 && errno == EWOULDBLOCK &&
	       storm_now() < until) {
		if (!said)
			storm_log(STORM_LOG_INFO,
				  "the launchers before have not ended yet");
		said = true;
		nanosleep(&pause, NULL);
	}
	keeper.locked = fd >= 0;
	if (keeper.locked)
		return true; /* it is never closed */
	snprintf(why, size, "%s: %s", path,
		 errno == EWOULDBLOCK ? "the launchers before have not ended" :
					strerror(errno));
	return false;
}

/* Slurm signals the whole job, and tasks have time until they are killed: the step
 * gets its own signal, and must not end with ours. */
static const int keeper_ignores[] = { SIGHUP,  SIGINT,	SIGQUIT, SIGTERM,
				      SIGUSR1, SIGUSR2, SIGPIPE };
#define KEEPER_IGNORES (sizeof(keeper_ignores) / sizeof(*keeper_ignores))

static bool keeper_take_signals(void)
{
	sigset_t set;

	for (size_t i = 0; i < KEEPER_IGNORES; i++)
		signal(keeper_ignores[i], SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_SETMASK, &set, NULL);
	keeper.signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return keeper.signals >= 0;
}

/* --------------------------------------------------------------------- srun --- */

/* Variables of the batch script's own step choose sizes and binding for srun, too; and
 * GPUs of this node are none of others. */
static void keeper_scrub(void)
{
	static const char *const gpus[] = { TASK_GPU_NAMES };
	extern char **environ;
	char **from = environ, **to = environ;

	for (size_t i = 0; i < sizeof(gpus) / sizeof(*gpus); i++)
		unsetenv(gpus[i]);
	for (; *from; from++)
		if (strncmp(*from, "SLURM_", 6) ||
		    !strncmp(*from, "SLURM_CONF=", 11) ||
		    !strncmp(*from, "SLURM_JOB_ID=", 13) ||
		    !strncmp(*from, "SLURM_JOBID=", 12))
			*to++ = *from;
	*to = NULL;
}

/* In the child: become srun. */
__attribute__((noreturn)) static void keeper_exec(pid_t parent,
						  unsigned int port, int out)
{
	static char program[] = PKGLIBEXECDIR "/storm_launcher";
	bool inside = keeper.step.local != STORM_NO_NODE;
	char nodes[16], number[16], key[RUN_KEY_TEXT];
	char *argv[] = { "srun",
			 "--overlap",
			 "-N",
			 nodes,
			 "--ntasks-per-node=1",
			 "--mem=0",
			 "--input=none",
			 "--kill-on-bad-exit=0",
			 "--cpu-bind=none",
			 "--chdir=/",
			 "-J",
			 "storm-launcher",
			 program,
			 inside ? (char *) keeper.socket : KEEPER_NO_HEAD,
			 number,
			 NULL };
	sigset_t none;

	snprintf(nodes, sizeof(nodes), "%u", keeper.step.count);
	snprintf(number, sizeof(number), "%u", port);
	/* the step ends with the keeper, whatever ends that; the kernel tells
	 * nothing of a keeper that has ended before */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(127);
	for (size_t i = 0; i < KEEPER_IGNORES; i++)
		signal(keeper_ignores[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(out, STDOUT_FILENO);
	keeper_scrub();
	run_key_text(keeper.step.key, &key);
	setenv(RUN_KEY_VARIABLE, key, 1);
	execvp(argv[0], argv);
	dprintf(STDERR_FILENO, "srun: %s\n", strerror(errno));
	_exit(127);
}

static bool keeper_fork(unsigned int port)
{
	pid_t self = getpid();
	int p[2];

	if (pipe2(p, O_CLOEXEC))
		return false;
	keeper.srun = fork();
	if (!keeper.srun)
		keeper_exec(self, port, p[1]);
	close(p[1]);
	if (keeper.srun < 0) {
		keeper.srun = 0;
		close(p[0]);
		return false;
	}
	keeper.out = p[0];
	return true;
}

static bool keeper_srun_ended(void)
{
	int status;

	if (keeper.srun &&
	    waitpid(keeper.srun, &status, WNOHANG) == keeper.srun) {
		keeper.srun = 0;
		storm_log(STORM_LOG_INFO, "srun has ended: %s %d",
			  WIFSIGNALED(status) ? "signal" : "exit code",
			  WIFSIGNALED(status) ? WTERMSIG(status) :
						WEXITSTATUS(status));
	}
	return !keeper.srun;
}

/* Launchers print nothing more; but a full pipe would stop them. */
static void keeper_drain(void)
{
	char piece[512];
	ssize_t n = keeper.out < 0 ? 0 : read(keeper.out, piece, sizeof(piece));

	if (n > 0 || (n < 0 && errno == EINTR))
		return;
	if (keeper.out >= 0)
		close(keeper.out);
	keeper.out = -1;
}

/* End srun, and wait for it.  A step that ends by itself has time for that. */
static void keeper_stop(bool by_itself)
{
	const struct timespec pause = { .tv_nsec = 5 * STORM_MS };
	uint64_t until = storm_now() + (by_itself ? END_LIMIT : 0);
	bool asked = false;

	while (!keeper_srun_ended()) {
		struct pollfd p = { .fd = keeper.out, .events = POLLIN };

		if (poll(&p, 1, 0) > 0)
			keeper_drain();
		if (storm_now() >= until) {
			kill(keeper.srun, asked ? SIGKILL : SIGTERM);
			asked = true;
			until = storm_now() + END_LIMIT;
		}
		nanosleep(&pause, NULL);
	}
	if (keeper.out >= 0)
		close(keeper.out);
	keeper.out = -1;
}

/* -------------------------------------------------------------------- lines --- */

enum keeper_line { LINE_READY, LINE_PORT_TAKEN, LINE_BAD, LINE_OTHER };

/* A launcher listens, or cannot.  A TaskProlog of the site may print, too. */
static enum keeper_line keeper_line(const char *line)
{
	char name[STORM_NAME_MAX + 1], ip[64];
	unsigned int proc, port;
	struct storm_node *n;

	if (strncmp(line, LAUNCHER_READY " ", strlen(LAUNCHER_READY " ")))
		return LINE_OTHER;
	if (sscanf(line, LAUNCHER_READY " %u %255s %63s %u", &proc, name, ip,
		   &port) != 4 ||
	    proc >= keeper.step.count || port > UINT16_MAX)
		return LINE_BAD;
	if (!port)
		return LINE_PORT_TAKEN;
	n = &keeper.step.nodes[proc];
	if (n->name || storm_addr_set(&n->addr, ip, (uint16_t) port))
		return LINE_BAD;
	n->name = strdup(name);
	return n->name ? LINE_READY : LINE_BAD;
}

static void keeper_forget_nodes(void)
{
	for (uint32_t k = 0; k < keeper.step.count; k++) {
		free((char *) keeper.step.nodes[k].name);
		keeper.step.nodes[k].name = NULL;
	}
}

/* Lines until all have said that they listen.  false with *taken: some cannot. */
static bool keeper_lines(bool *taken, char *why, size_t size)
{
	FILE *f = fdopen(dup(keeper.out), "re");
	enum keeper_line what = LINE_OTHER;
	uint32_t ready = 0;
	char *line = NULL;
	size_t room = 0;

	while (f && ready < keeper.step.count &&
	       (what == LINE_READY || what == LINE_OTHER) &&
	       getline(&line, &room, f) >= 0) {
		what = keeper_line(line);
		ready += what == LINE_READY;
	}
	*taken = what == LINE_PORT_TAKEN;
	if (what == LINE_BAD)
		snprintf(why, size, "a launcher cannot be used: %.*s",
			 (int) strcspn(line, "\n"), line);
	free(line);
	if (f)
		fclose(f);
	return ready == keeper.step.count;
}

/* The last of what srun has said: stderr is a file. */
static void keeper_last_words(char *out, size_t size)
{
	off_t end = lseek(STDERR_FILENO, 0, SEEK_END);
	off_t from = end > (off_t) size - 1 ? end - (off_t) size + 1 : 0;
	ssize_t n = pread(STDERR_FILENO, out, size - 1, from);

	out[n > 0 ? n : 0] = '\0';
	for (char *p = out; *p; p++)
		if (*p == '\n')
			*p = p[1] ? '|' : '\0';
}

/* Start the launchers, and wait until all of them listen. */
static bool keeper_start(char *why, size_t size)
{
	unsigned int job = keeper.step.job;
	char words[400];
	bool taken = true;

	*why = '\0';
	for (unsigned int k = 0; taken && k < PORT_TRIES; k++) {
		unsigned int port =
			PORT_FIRST + (job * PORT_STRIDE + k) % PORTS;

		if (!keeper_fork(port)) {
			snprintf(why, size, "srun: %s", strerror(errno));
			return false;
		}
		if (keeper_lines(&taken, why, size))
			return true;
		keeper_stop(false);
		keeper_forget_nodes();
	}
	if (*why)
		return false;
	if (taken) {
		snprintf(why, size,
			 "ports %u to %u of this job are taken on some node",
			 PORT_FIRST + job * PORT_STRIDE % PORTS,
			 PORT_FIRST + job * PORT_STRIDE % PORTS + PORT_TRIES -
				 1);
		return false;
	}
	keeper_last_words(words, sizeof(words));
	snprintf(why, size, "srun starts no launchers: %s", words);
	return false;
}

/* --------------------------------------------------------------------- head --- */

static bool keeper_send_step(void)
{
	size_t len = run_step_len(&keeper.step);
	uint8_t *buf = malloc(RUN_FRAME_HEADER + len);
	struct storm_out o;
	int rc;

	if (!buf)
		return false;
	run_frame_head(buf, RUN_STEP, len);
	o = (struct storm_out) { buf + RUN_FRAME_HEADER,
				 buf + RUN_FRAME_HEADER + len, false };
	run_step_put(&o, &keeper.step);
	rc = run_sock_send(keeper.conn, buf, RUN_FRAME_HEADER + len, NULL);
	free(buf);
	return !rc;
}

/* It says that it serves clients, or why it cannot. */
static bool keeper_head_answers(char *why, size_t size)
{
	struct run_reader r = { 0 };
	struct storm_in body;
	enum run_kind kind;
	bool some = run_sock_wait(keeper.conn, &r, &kind, &body);
	bool ready = some && kind == RUN_READY;

	if (!ready)
		snprintf(why, size, "the head has died");
	if (some && kind == RUN_REFUSED)
		snprintf(why, size, "%.*s", (int) (body.end - body.p),
			 (const char *) body.p);
	run_reader_fini(&r);
	return ready;
}

/* Tell the head, which is a launcher's child or ours, where launchers are. */
static bool keeper_reach_head(char *why, size_t size)
{
	char path[RUN_SOCK_PATH];
	int unused = -1;

	if (keeper.step.local == STORM_NO_NODE) {
		keeper.head = head_start(keeper.socket, &unused);
		if (unused >= 0)
			close(unused);
	}
	run_sock_beside(keeper.socket, "new", &path);
	keeper.conn = run_sock_connect(path);
	if (keeper.conn < 0) {
		snprintf(why, size, "the head: %s: %s", path, strerror(errno));
		return false;
	}
	if (keeper_send_step())
		return keeper_head_answers(why, size);
	snprintf(why, size, "the head: %s", strerror(errno));
	return false;
}

/* It closes the connection when it ends.  One that dies says nothing before. */
static bool keeper_head_ended(struct run_reader *r)
{
	struct storm_in body;
	enum run_kind kind;
	int none[RUN_SOCK_FDS];
	int got = run_sock_receive(keeper.conn, r, &none);

	while (run_reader_next(r, &kind, &body) > 0)
		keeper.ended |= kind == RUN_END;
	return got < 0;
}

static void keeper_stay(void)
{
	struct run_reader r = { 0 };
	struct signalfd_siginfo si;
	bool over = false;

	while (!over && !keeper_srun_ended()) {
		struct pollfd p[] = { { keeper.signals, POLLIN, 0 },
				      { keeper.conn, POLLIN, 0 },
				      { keeper.out, POLLIN, 0 } };

		if (poll(p, 3, -1) < 0)
			continue;
		while (read(keeper.signals, &si, sizeof(si)) == sizeof(si))
			;
		if (p[2].revents)
			keeper_drain();
		over = p[1].revents && keeper_head_ended(&r);
	}
	run_reader_fini(&r);
}

/* The client's lock file is left to nobody if the client is gone. */
static void keeper_tell(int tell, int lock, const char *what)
{
	char path[RUN_SOCK_PATH];

	run_sock_beside(keeper.socket, "lock", &path);
	if (dprintf(tell, "%s", what) < 0)
		unlink(path);
	close(lock);
	close(tell);
}

int keeper_serve(const char *socket, int tell, int lock)
{
	char why[600] = "no signals";
	bool good;

	fcntl(tell, F_SETFD, FD_CLOEXEC);
	fcntl(lock, F_SETFD, FD_CLOEXEC);
	launcher_log_as("keeper");
	keeper.socket = socket;
	good = keeper_take_signals() && keeper_lock(why, sizeof(why)) &&
	       keeper_init(why, sizeof(why)) &&
	       keeper_start(why, sizeof(why)) &&
	       keeper_reach_head(why, sizeof(why));
	keeper_tell(tell, lock, good ? KEEPER_READY : why);
	if (good)
		keeper_stay();
	/* a head whose step has ended hears it by this */
	if (keeper.conn >= 0)
		close(keeper.conn);
	keeper_stop(keeper.ended);
	if (keeper.head)
		waitpid(keeper.head, NULL, 0);
	/* no other head can be there before the lock is free */
	if (keeper.locked)
		run_sock_remove(keeper.socket, good);
	return !good;
}
