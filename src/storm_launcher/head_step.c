/*
 * head_step.c - see head_step.h.
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
#include <sys/wait.h>
#include <unistd.h>

#include "head_step.h"
#include "launcher.h"
#include "runs.h"
#include "src/libstorm/base/clock.h"

/* Ports of jobs: above those that the kernel gives out (ip_local_port_range). */
#define PORT_FIRST 61000
#define PORTS 4000
#define PORT_TRIES 8
#define PORT_STRIDE 17 /* jobs that follow each other are far apart */
#define END_LIMIT (3 * STORM_SEC)

bool head_step_init(struct head_step *s, char *why, size_t size)
{
	const char *nodes = getenv("SLURM_JOB_NUM_NODES");
	const char *cpus = getenv("SLURM_JOB_CPUS_PER_NODE");
	const char *job = getenv("SLURM_JOB_ID");
	unsigned long n = nodes ? strtoul(nodes, NULL, 10) : 0;

	memset(s, 0, sizeof(*s));
	s->out = -1;
	if (!job || !n || n > STORM_NODES_MAX || !cpus) {
		snprintf(
			why, size,
			"SLURM_JOB_ID, SLURM_JOB_NUM_NODES or SLURM_JOB_CPUS_PER_NODE is not set: run it in a batch script");
		return false;
	}
	s->count = (uint32_t) n;
	s->cpus = calloc(n, sizeof(*s->cpus));
	s->nodes = calloc(n, sizeof(*s->nodes));
	s->job = strdup(job);
	if (!s->cpus || !s->nodes || !s->job) {
		snprintf(why, size, "no memory");
		return false;
	}
	if (runs_cpus_read(cpus, s->count, s->cpus))
		return true;
	snprintf(why, size, "SLURM_JOB_CPUS_PER_NODE=%s does not fit %u nodes",
		 cpus, s->count);
	return false;
}

/* --------------------------------------------------------------------- srun --- */

/* Variables of the batch script's own step choose sizes and binding for srun, too. */
static void head_step_scrub(void)
{
	extern char **environ;
	char **from = environ, **to = environ;

	for (; *from; from++)
		if (strncmp(*from, "SLURM_", 6) ||
		    !strncmp(*from, "SLURM_CONF=", 11) ||
		    !strncmp(*from, "SLURM_JOB_ID=", 13) ||
		    !strncmp(*from, "SLURM_JOBID=", 12))
			*to++ = *from;
	*to = NULL;
}

/* In the child: become srun. */
__attribute__((noreturn)) static void head_step_exec(const struct head_step *s,
						     const char *socket,
						     unsigned int port, int out)
{
	char nodes[16], number[16];
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
			 PKGLIBEXECDIR "/storm_launcher",
			 (char *) socket,
			 number,
			 NULL };
	sigset_t none;

	snprintf(nodes, sizeof(nodes), "%u", s->count);
	snprintf(number, sizeof(number), "%u", port);
	/* the step ends with the head, whatever ends that */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(out, STDOUT_FILENO);
	head_step_scrub();
	execvp(argv[0], argv);
	dprintf(STDERR_FILENO, "srun: %s\n", strerror(errno));
	_exit(127);
}

static bool head_step_fork(struct head_step *s, const char *socket,
			   unsigned int port)
{
	pid_t head = getpid();
	int p[2];

	if (pipe2(p, O_CLOEXEC))
		return false;
	s->srun = fork();
	if (!s->srun) {
		if (getppid() != head)
			_exit(127);
		head_step_exec(s, socket, port, p[1]);
	}
	close(p[1]);
	if (s->srun < 0) {
		s->srun = 0;
		close(p[0]);
		return false;
	}
	s->out = p[0];
	return true;
}

bool head_step_ended(struct head_step *s)
{
	if (s->srun && waitpid(s->srun, &s->status, WNOHANG) == s->srun)
		s->srun = 0;
	return !s->srun;
}

void head_step_drain(struct head_step *s)
{
	char piece[512];
	ssize_t n = s->out < 0 ? 0 : read(s->out, piece, sizeof(piece));

	if (n > 0 || (n < 0 && errno == EINTR))
		return;
	if (s->out >= 0)
		close(s->out);
	s->out = -1;
}

void head_step_stop(struct head_step *s)
{
	const struct timespec pause = { .tv_nsec = 5 * STORM_MS };
	uint64_t until = storm_now() + END_LIMIT;
	bool asked = false;

	while (!head_step_ended(s)) {
		head_step_drain(s);
		if (storm_now() > until) {
			kill(s->srun, asked ? SIGKILL : SIGTERM);
			asked = true;
			until = storm_now() + END_LIMIT;
		}
		nanosleep(&pause, NULL);
	}
	if (s->out >= 0)
		close(s->out);
	s->out = -1;
}

/* -------------------------------------------------------------------- lines --- */

enum head_line { LINE_READY, LINE_PORT_TAKEN, LINE_BAD };

/* A launcher listens, or cannot. */
static enum head_line head_step_line(struct head_step *s, const char *line)
{
	char name[STORM_NAME_MAX + 1], ip[64];
	unsigned int proc, port;
	struct storm_node *n;

	if (sscanf(line, LAUNCHER_READY " %u %255s %63s %u", &proc, name, ip,
		   &port) != 4 ||
	    proc >= s->count || port > UINT16_MAX)
		return LINE_BAD;
	if (!port)
		return LINE_PORT_TAKEN;
	n = &s->nodes[proc];
	if (n->name || storm_addr_set(&n->addr, ip, (uint16_t) port))
		return LINE_BAD;
	n->name = strdup(name);
	return n->name ? LINE_READY : LINE_BAD;
}

static void head_step_forget(struct head_step *s)
{
	for (uint32_t k = 0; k < s->count; k++) {
		free((char *) s->nodes[k].name);
		s->nodes[k].name = NULL;
	}
}

/* Lines until all have said that they listen.  false with *taken: some cannot. */
static bool head_step_lines(struct head_step *s, bool *taken, char *why,
			    size_t size)
{
	FILE *f = fdopen(dup(s->out), "re");
	uint32_t ready = 0;
	char *line = NULL;
	size_t room = 0;

	*taken = false;
	while (f && ready < s->count && getline(&line, &room, f) >= 0) {
		enum head_line what = head_step_line(s, line);

		*taken = what == LINE_PORT_TAKEN;
		if (what == LINE_BAD)
			snprintf(why, size,
				 "srun says what no launcher does: %.*s",
				 (int) strcspn(line, "\n"), line);
		if (what != LINE_READY)
			break;
		ready++;
	}
	free(line);
	if (f)
		fclose(f);
	return ready == s->count;
}

/* The last of what srun has said: stderr is a file. */
static void head_step_last_words(char *out, size_t size)
{
	off_t end = lseek(STDERR_FILENO, 0, SEEK_END);
	off_t from = end > (off_t) size - 1 ? end - (off_t) size + 1 : 0;
	ssize_t n = pread(STDERR_FILENO, out, size - 1, from);

	out[n > 0 ? n : 0] = '\0';
	for (char *p = out; *p; p++)
		if (*p == '\n')
			*p = p[1] ? '|' : '\0';
}

bool head_step_start(struct head_step *s, const char *socket, char *why,
		     size_t size)
{
	unsigned int job = (unsigned int) strtoul(s->job, NULL, 10);
	char words[400];
	bool taken = true;

	*why = '\0';
	for (unsigned int k = 0; taken && k < PORT_TRIES; k++) {
		unsigned int port =
			PORT_FIRST + (job * PORT_STRIDE + k) % PORTS;

		if (!head_step_fork(s, socket, port)) {
			snprintf(why, size, "srun: %s", strerror(errno));
			return false;
		}
		if (head_step_lines(s, &taken, why, size))
			return true;
		kill(s->srun, SIGTERM);
		head_step_stop(s);
		head_step_forget(s);
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
	head_step_last_words(words, sizeof(words));
	snprintf(why, size, "srun starts no launchers: %s", words);
	return false;
}
