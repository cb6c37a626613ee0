/*
 * keeper_step.c - see keeper_step.h.  Slurm has authenticated both ends of srun's pipes, so
 * the addresses that launchers print are theirs.
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
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "head.h"
#include "keeper_step.h"
#include "launcher.h"
#include "launcher_base.h"
#include "src/libstorm/base/clock.h"
#include "srun_words.h"
#include "task.h"

#define PORT_TRIES 8   /* of LauncherPorts */
#define PORT_STRIDE 17 /* jobs that follow each other are far apart */
#define END_LIMIT (3 * STORM_SEC)

static struct {
	struct run_step *step;
	const char *head; /* as keeper_step_start() has both */
	uint16_t call;
	pid_t srun; /* 0: it has ended */
	int out;    /* what launchers print */
	bool fault; /* the first one has no head any more */
	off_t said; /* where in stderr, a file, its words begin */
	char taken_on[STORM_NAME_MAX + 1]; /* where a port was taken last */
} started = { .out = -1 };

/* --------------------------------------------------------------------- srun --- */

/* Variables of the batch script's own step choose sizes and binding for srun, too, and
 * those that a user gives to srun are for the user's steps: with SRUN_CPUS_PER_TASK the
 * launchers would have few CPUs, with SRUN_EXPORT_ENV no key.  GPUs of this node are none
 * of others. */
static void step_scrub(void)
{
	static const char *const gpus[] = { TASK_GPU_NAMES };
	extern char **environ;
	char **from = environ, **to = environ;

	for (size_t i = 0; i < sizeof(gpus) / sizeof(*gpus); i++)
		unsetenv(gpus[i]);
	for (; *from; from++)
		if ((strncmp(*from, "SLURM_", 6) &&
		     strncmp(*from, "SRUN_", 5)) ||
		    !strncmp(*from, "SLURM_CONF=", 11) ||
		    !strncmp(*from, "SLURM_JOB_ID=", 13) ||
		    !strncmp(*from, "SLURM_JOBID=", 12))
			*to++ = *from;
	*to = NULL;
}

/* In the child: become srun. */
__attribute__((noreturn)) static void step_exec(pid_t parent, unsigned int port,
						int out)
{
	static const int ignored[] = { KEEPER_IGNORES };
	static char program[] = PKGLIBEXECDIR "/storm_launcher";
	/* of a heterogeneous job the component in which its script is; what is
	 * given twice counts once */
	char *part = getenv("SLURM_HET_SIZE") ? "--het-group=0" : "--overlap";
	char nodes[16], number[16], call[16], key[RUN_KEY_TEXT];
	char *argv[] = { "srun",
			 "--overlap",
			 part,
			 "-N",
			 nodes,
			 "--ntasks-per-node=1",
			 "--mem=0",
			 "--input=none",
			 "--kill-on-bad-exit=0",
			 "--no-kill",
			 "--cpu-bind=none",
			 "--chdir=/",
			 "-J",
			 "storm-launcher",
			 program,
			 (char *) started.head,
			 number,
			 call,
			 NULL };
	sigset_t none;

	snprintf(nodes, sizeof(nodes), "%u", started.step->count);
	snprintf(number, sizeof(number), "%u", port);
	snprintf(call, sizeof(call), "%u", started.call);
	/* the step ends with the keeper, whatever ends that; the kernel tells
	 * nothing of a keeper that has ended before */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(127);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(out, STDOUT_FILENO);
	step_scrub();
	run_key_text(started.step->key, &key);
	setenv(RUN_KEY_VARIABLE, key, 1);
	execvp(argv[0], argv);
	dprintf(STDERR_FILENO, "srun: %s\n", strerror(errno));
	_exit(127);
}

static bool step_fork(unsigned int port)
{
	pid_t self = getpid();
	int p[2];

	if (pipe2(p, O_CLOEXEC))
		return false;
	started.fault = false;
	started.said = lseek(STDERR_FILENO, 0, SEEK_END);
	started.srun = fork();
	if (!started.srun)
		step_exec(self, port, p[1]);
	close(p[1]);
	if (started.srun < 0) {
		started.srun = 0;
		close(p[0]);
		return false;
	}
	started.out = p[0];
	return true;
}

bool keeper_step_ended(void)
{
	int status;

	if (started.srun &&
	    waitpid(started.srun, &status, WNOHANG) == started.srun) {
		started.srun = 0;
		storm_log(STORM_LOG_INFO, "srun has ended: %s %d",
			  WIFSIGNALED(status) ? "signal" : "exit code",
			  WIFSIGNALED(status) ? WTERMSIG(status) :
						WEXITSTATUS(status));
	}
	return !started.srun;
}

/* Launchers print nothing more, unless the first one loses its head before the domain is
 * open; but a full pipe would stop them. */
static void keeper_step_drain(void)
{
	char piece[512];
	ssize_t n = started.out < 0 ? 0 :
				      read(started.out, piece, sizeof(piece));

	started.fault |= n > 0 &&
			 memmem(piece, (size_t) n, LAUNCHER_READY " 0 ",
				strlen(LAUNCHER_READY " 0 "));
	if (n > 0 || (n < 0 && errno == EINTR))
		return;
	if (started.out >= 0)
		close(started.out);
	started.out = -1;
}

bool keeper_step_wait(int signals, struct pollfd *p, size_t count, int wait)
{
	struct pollfd all[count + 2];
	struct signalfd_siginfo si;
	bool came = false;
	int n;

	if (keeper_step_ended())
		return false;
	memcpy(all, p, count * sizeof(*p));
	all[count] = (struct pollfd) { signals, POLLIN, 0 };
	all[count + 1] = (struct pollfd) { started.out, POLLIN, 0 };
	n = poll(all, count + 2, wait);
	for (size_t k = 0; k < count; k++) {
		p[k].revents = n > 0 ? all[k].revents : 0;
		came |= p[k].revents;
	}
	while (read(signals, &si, sizeof(si)) == sizeof(si))
		;
	if (n > 0 && all[count + 1].revents)
		keeper_step_drain();
	/* what has come may be the head's last words */
	return (came || !started.fault) && !keeper_step_ended();
}

void keeper_step_stop(bool by_itself)
{
	const struct timespec pause = { .tv_nsec = 5 * STORM_MS };
	uint64_t until = storm_now() + (by_itself ? END_LIMIT : 0);
	bool asked = false;

	while (!keeper_step_ended()) {
		struct pollfd p = { .fd = started.out, .events = POLLIN };

		if (poll(&p, 1, 0) > 0)
			keeper_step_drain();
		if (storm_now() >= until) {
			kill(started.srun, asked ? SIGKILL : SIGTERM);
			asked = true;
			until = storm_now() + END_LIMIT;
		}
		nanosleep(&pause, NULL);
	}
	if (started.out >= 0)
		close(started.out);
	started.out = -1;
}

/* -------------------------------------------------------------------- lines --- */

enum step_line { LINE_READY, LINE_PORT_TAKEN, LINE_BAD, LINE_OTHER };

/* A launcher listens, or cannot.  A TaskProlog of the site may print, too. */
static enum step_line step_line(const char *line)
{
	char name[STORM_NAME_MAX + 1], ip[64];
	unsigned int proc, port, gpus;
	struct storm_node *n;

	if (strncmp(line, LAUNCHER_READY " ", strlen(LAUNCHER_READY " ")))
		return LINE_OTHER;
	if (sscanf(line, LAUNCHER_READY " %u %255s %63s %u %u", &proc, name, ip,
		   &port, &gpus) != 5 ||
	    proc >= started.step->count || port > UINT16_MAX)
		return LINE_BAD;
	if (!port) {
		strcpy(started.taken_on, name);
		return LINE_PORT_TAKEN;
	}
	n = &started.step->nodes[proc];
	if (n->name || storm_addr_set(&n->addr, ip, (uint16_t) port))
		return LINE_BAD;
	started.step->gpus[proc] = gpus;
	n->name = strdup(name);
	return n->name ? LINE_READY : LINE_BAD;
}

static void step_forget_nodes(void)
{
	for (uint32_t k = 0; k < started.step->count; k++) {
		free((char *) started.step->nodes[k].name);
		started.step->nodes[k].name = NULL;
	}
}

/* Lines until all have said that they listen.  false with *taken: some cannot. */
static bool step_lines(bool *taken, char *why, size_t size)
{
	FILE *f = fdopen(dup(started.out), "re");
	enum step_line what = LINE_OTHER;
	uint32_t ready = 0;
	char *line = NULL;
	size_t room = 0;

	while (f && ready < started.step->count &&
	       (what == LINE_READY || what == LINE_OTHER) &&
	       getline(&line, &room, f) >= 0) {
		what = step_line(line);
		ready += what == LINE_READY;
	}
	*taken = what == LINE_PORT_TAKEN;
	if (what == LINE_BAD)
		snprintf(why, size, "a launcher cannot be used: %.*s",
			 (int) strcspn(line, "\n"), line);
	free(line);
	if (f)
		fclose(f);
	return ready == started.step->count;
}

/* What srun has said since it began, as srun_words.h has it. */
static bool step_errors(char *out, size_t size)
{
	static char text[16384];
	ssize_t n = started.said < 0 ? -1 :
				       pread(STDERR_FILENO, text,
					     sizeof(text) - 1, started.said);

	text[n > 0 ? n : 0] = '\0';
	return srun_errors(text, out, size);
}

static void step_last_words(char *out, size_t size)
{
	static char text[1024];
	const off_t room = sizeof(text) - 1;
	off_t end = lseek(STDERR_FILENO, 0, SEEK_END);
	ssize_t n = pread(STDERR_FILENO, text, (size_t) room,
			  end > room ? end - room : 0);

	text[n > 0 ? n : 0] = '\0';
	srun_last_words(text, out, size);
}

void keeper_step_explain(char *why, size_t size)
{
	char words[400], first[200];

	/* srun says what it has lost before it has Slurm kill the rest; slurmctld
	 * can do so first */
	if (!step_errors(words, sizeof(words))) {
		keeper_step_stop(true);
		step_errors(words, sizeof(words));
	}
	if (!*words)
		return;
	if (srun_has_lost(words)) {
		snprintf(why, size, "the launchers' step has ended: %s", words);
		return;
	}
	snprintf(first, sizeof(first), "%s", why);
	snprintf(why, size, "%s; srun says: %s", first, words);
}

bool keeper_step_start(struct run_step *step, const char *head, uint16_t call,
		       char *why, size_t size)
{
	const struct storm_conf *conf = launcher_conf();
	unsigned int first = conf->launcher_port_first;
	unsigned int ports = conf->launcher_port_last - first + 1u;
	unsigned int from, port = 0;
	const char *node = getenv("SLURM_NODEID");
	char words[400];
	bool taken = true;

	/* keepers on several nodes that begin at once do not take each other's */
	from = (step->job * PORT_STRIDE +
		(node ? (unsigned int) strtoul(node, NULL, 10) : 0) *
			PORT_TRIES) %
	       ports;
	started.step = step;
	started.head = head;
	started.call = call;
	*why = '\0';
	for (unsigned int k = 0; taken && k < PORT_TRIES && k < ports; k++) {
		port = first + (from + k) % ports;
		if (!step_fork(port)) {
			snprintf(why, size, "srun: %s", strerror(errno));
			return false;
		}
		if (step_lines(&taken, why, size))
			return true;
		if (strstr(why, HEAD_KILLED))
			keeper_step_explain(why, size);
		keeper_step_stop(false);
		step_forget_nodes();
	}
	if (*why)
		return false;
	if (taken) {
		snprintf(
			why, size,
			"ports %u to %u of LauncherPorts=%u-%u are taken, the last on %s: end what has them, or give launchers others in storm.conf",
			first + from, port, first, conf->launcher_port_last,
			started.taken_on);
		return false;
	}
	if (!step_errors(words, sizeof(words)))
		step_last_words(words, sizeof(words));
	snprintf(why, size, "srun starts no launchers: %s", words);
	return false;
}
