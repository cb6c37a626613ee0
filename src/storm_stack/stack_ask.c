/*
 * stack_ask.c - see stack_ask.h.  The step is the user's own, so Slurm decides whether it may be,
 * and slurmd starts storm_unwind as this user, in the job's control group.
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

#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "stack_ask.h"
#include "stack_gather.h"
#include "stack_line.h"
#include "stack_settings.h"
#include "stack_steps.h"
#include "stack_strobe.h"

#define LOOK 100 /* ms, until the strobe */
#define END_LIMIT (3 * STORM_SEC)
#define LATE (2 * STORM_SEC) /* a node that comes so long after the others */
#define TURN (6 * STORM_SEC) /* nodes wait 8 s for the strobe */
#define ASK_EVERY STORM_SEC  /* slurmctld, whether another one looks */
#define SLOW STORM_SEC	     /* so long it may take to answer */
#define PORT_STRIDE 17	     /* jobs that follow each other are far apart */

struct stack_asking {
	const struct stack_job *job;
	struct stack_answer *out;
	unsigned int port;	     /* at which nodes listen; 0: none */
	struct stack_pieces *pieces; /* of each node */
	struct stack_desk desk;
	char line[2 * STACK_PIECE]; /* what has come of the next one */
	size_t len;
	bool full; /* no memory */
	struct storm_node
		*ready;	 /* that listen, in the order in which they came */
	uint32_t *nth;	 /* of these */
	uint32_t *place; /* of a node in ready, plus 1; 0: it does not listen */
	uint32_t listens, deaf; /* numbers of these, and of those that do not */
	struct stack_gather gather;
	struct stack_set texts; /* that were asked */
	bool struck;		/* the strobe was sent, or cannot be */
	uint64_t last;		/* ns; when the last one came */
	pid_t srun;
	bool waits;	   /* for another storm stack, which was said */
	uint64_t asked_at; /* ns; when slurmctld was asked for others; 0: it was not */
};

/* ------------------------------------------------------------------------- srun --- */

/* Variables of a batch script's step, and those for a user's own steps, are not for this
 * one. */
static void ask_scrub(void)
{
	extern char **environ;
	char **from = environ, **to = environ;

	for (; *from; from++)
		if ((strncmp(*from, "SLURM_", 6) &&
		     strncmp(*from, "SRUN_", 5)) ||
		    !strncmp(*from, "SLURM_CONF=", 11))
			*to++ = *from;
	*to = NULL;
}

/* In the child: become srun. */
__attribute__((noreturn)) static void ask_exec(const struct stack_asking *a,
					       pid_t parent, int out)
{
	static char program[] = PKGLIBEXECDIR "/storm_unwind";
	char jobid[32], nodes[16], id[16], port[16];
	char *argv[] = { "srun",
			 jobid,
			 "--overlap",
			 "-N",
			 nodes,
			 "--ntasks-per-node=1",
			 "--mem=0",
			 "--input=none",
			 "--kill-on-bad-exit=0",
			 "--no-kill",
			 "--mpi=none",
			 "--chdir=/",
			 "-J",
			 STACK_STEP_NAME,
			 program,
			 id,
			 port,
			 *a->job->step ? (char *) a->job->step : NULL,
			 NULL };

	snprintf(jobid, sizeof(jobid), "--jobid=%u", a->job->id);
	snprintf(nodes, sizeof(nodes), "%u", a->job->nodes);
	snprintf(id, sizeof(id), "%u", a->job->id);
	snprintf(port, sizeof(port), "%u", a->port);
	/* the step ends with the asker, whatever ends that */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(127);
	dup2(out, STDOUT_FILENO);
	ask_scrub();
	execvp(argv[0], argv);
	dprintf(STDERR_FILENO, "storm: srun: %s\n", strerror(errno));
	_exit(127);
}

static pid_t ask_start(const struct stack_asking *a, int *out)
{
	pid_t self = getpid(), child;
	int p[2];

	if (pipe2(p, O_CLOEXEC))
		return -1;
	child = fork();
	if (!child)
		ask_exec(a, self, p[1]);
	close(p[1]);
	if (child < 0)
		close(p[0]);
	*out = p[0];
	return child;
}

/* It ends by itself when the tasks have, and is ended otherwise. */
static void ask_end(pid_t srun, uint64_t until)
{
	const struct timespec pause = { .tv_nsec = 5 * STORM_MS };
	int sig = SIGTERM;

	while (waitpid(srun, NULL, WNOHANG) == 0) {
		if (storm_now() >= until) {
			kill(srun, sig);
			sig = SIGKILL;
			until = storm_now() + END_LIMIT;
		}
		nanosleep(&pause, NULL);
	}
}

/* ------------------------------------------------------------------------ lines --- */

/* The strobe is for those that listen; the others look by themselves. */
static void ask_strike(struct stack_asking *a)
{
	a->struck = true;
	if (a->deaf || !a->listens)
		snprintf(a->out->apart, sizeof(a->out->apart),
			 "%u node%s cannot listen, as the port is taken",
			 a->deaf, a->deaf == 1 ? "" : "s");
	if (a->listens &&
	    stack_strobe(a->ready, a->listens, a->job->id, &a->gather,
			 a->out->apart, sizeof(a->out->apart)))
		stack_desk_widen(&a->desk);
}

static void ask_ready(struct stack_asking *a, uint32_t nth,
		      const struct stack_said *said)
{
	struct storm_node *n = &a->ready[a->listens];

	if (a->struck || a->place[nth] || a->listens + a->deaf >= a->job->nodes)
		return;
	a->last = storm_now();
	if (!said->at.port)
		a->deaf++;
	else if ((n->name = strdup(said->node.name))) {
		n->addr = said->at;
		a->nth[a->listens++] = nth;
		a->place[nth] = a->listens;
	}
}

/* Have all come, or has the last one to come been alone for long? */
static bool ask_is_due(const struct stack_asking *a)
{
	uint32_t come = a->listens + a->deaf;

	return !a->struck && come &&
	       (come == a->job->nodes || storm_now() > a->last + LATE);
}

/* Two that began at once have not seen each other.  The step that began first looks first, since
 * a process has one tracer at most.  Nothing is read while slurmctld is asked: if that is slow, it is
 * not asked again, and both look. */
static bool ask_has_turn(struct stack_asking *a)
{
	uint64_t now = storm_now();
	struct stack_other other;

	if (now > a->last + TURN)
		return true;
	if (a->asked_at && now < a->asked_at + ASK_EVERY)
		return false;
	if (!stack_steps_other(a->job->id, a->srun, &other))
		return true;
	a->asked_at = storm_now();
	if (a->asked_at > now + SLOW)
		return true;
	if (!a->waits)
		stack_steps_tell(a->job->id, &other, "this one waits");
	a->waits = true;
	return false;
}

/* A node prints all by itself, and is through. */
static void ask_node(struct stack_asking *a, uint32_t nth,
		     const struct stack_node *n)
{
	if (storm_idset_has(&a->out->nodes, nth) ||
	    storm_idset_add(&a->out->nodes, nth, nth))
		return;
	a->out->processes += n->tasks;
	a->out->stood_us = storm_max(a->out->stood_us, n->stood_us);
	if (a->place[nth])
		stack_gather_by_lines(&a->gather, a->place[nth] - 1);
}

static void ask_line(struct stack_asking *a, uint32_t nth, const char *line)
{
	static struct stack_said said; /* large */

	switch (stack_line_read(line, &said)) {
	case LINE_STACK:
		a->full |= stack_set_add(&a->out->stacks, &said.rec) !=
			   STORM_OK;
		storm_idset_clear(&said.rec.ranks);
		return;
	case LINE_TEXT:
		a->full |= stack_gather_text(&a->gather, &said, strlen(line),
					     &a->texts) != STORM_OK;
		return;
	case LINE_OVER:
		a->out->stacks.over += said.over;
		return;
	case LINE_UNSEEN:
		a->out->unseen.threads += said.unseen.threads;
		a->out->unseen.processes += said.unseen.processes;
		return;
	case LINE_READY:
		ask_ready(a, nth, &said);
		return;
	case LINE_NODE:
		ask_node(a, nth, &said.node);
		return;
	default:
		return;
	}
}

/* A line of srun's.  A TaskProlog of the site may print, too. */
static void ask_piece(struct stack_asking *a, const char *line)
{
	const char *body, *whole;
	uint32_t nth;

	if (!stack_piece_read(line, a->job->nodes, &nth, &body))
		return;
	whole = stack_piece_add(&a->desk, &a->pieces[nth], body);
	if (!whole)
		return;
	ask_line(a, nth, whole);
	stack_pieces_clear(&a->desk, &a->pieces[nth]);
}

/* Take what has come.  False: srun's pipe is at its end. */
static bool ask_read(struct stack_asking *a, int fd)
{
	ssize_t n = read(fd, a->line + a->len, sizeof(a->line) - a->len);
	char *from = a->line, *end;

	if (n <= 0)
		return n < 0 && errno == EINTR;
	a->out->bytes += (size_t) n;
	a->len += (size_t) n;
	while ((end = memchr(from, '\n', a->len))) {
		*end = '\0';
		ask_piece(a, from);
		a->len -= (size_t) (end + 1 - from);
		from = end + 1;
	}
	memmove(a->line, from, a->len);
	/* no line of ours is so long */
	if (a->len == sizeof(a->line))
		a->len = 0;
	return true;
}

static void ask_listen(struct stack_asking *a, int fd, uint64_t until)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t now, next;

	while ((now = storm_now()) < until) {
		int n;

		next = a->struck ? stack_gather_step(&a->gather) :
				   now + LOOK * STORM_MS;
		next = storm_min(next, until);
		n = poll(&p, 1,
			 next > now ? (int) ((next - now) / STORM_MS) + 1 : 0);

		if (n > 0 && !ask_read(a, fd))
			return;
		if (n < 0 && errno != EINTR)
			return;
		if (ask_is_due(a) && ask_has_turn(a))
			ask_strike(a);
	}
}

/* What came up the tree, if it came whole.  Otherwise the nodes have printed all. */
static void ask_take(struct stack_asking *a)
{
	struct stack_gather *g = &a->gather;
	const struct storm_idset *done = &g->heard.sums[SUM_DONE][0];
	struct stack_set lines;
	uint64_t threads;

	stack_gather_end(g);
	if (g->stage != GATHER_DONE)
		return;
	for (uint32_t k = 0; k < a->listens; k++)
		if (storm_idset_has(done, k))
			a->full |= storm_idset_add(&a->out->nodes, a->nth[k],
						   a->nth[k]) != STORM_OK;
	a->out->merged = storm_idset_size(done);
	a->out->processes += stack_heard_sum(&g->heard, SUM_PROCESSES);
	a->out->unseen.threads +=
		stack_heard_sum(&g->heard, SUM_UNSEEN_THREADS);
	a->out->unseen.processes +=
		stack_heard_sum(&g->heard, SUM_UNSEEN_PROCESSES);
	a->out->stood_us = storm_max(a->out->stood_us, g->stood_us);
	/* first what was asked for: lines may be too many */
	a->full |= stack_set_join(&a->texts, &a->out->stacks) != STORM_OK;
	lines = a->out->stacks;
	a->out->stacks = a->texts;
	a->texts = lines;
	threads = stack_heard_sum(&g->heard, SUM_THREADS);
	if (threads > g->heard.kept)
		a->out->stacks.over += threads - g->heard.kept;
}

/* One of LauncherPorts, another one each time. */
static unsigned int ask_port(uint32_t job)
{
	struct storm_settings set;
	uint16_t first, last;

	stack_settings(&set, &first, &last);
	return first + (job * PORT_STRIDE + (unsigned int) getpid()) %
			       (last - first + 1u);
}

static void ask_clear(struct stack_asking *a)
{
	for (uint32_t k = 0; a->pieces && k < a->job->nodes; k++)
		stack_pieces_clear(&a->desk, &a->pieces[k]);
	free(a->pieces);
	for (uint32_t k = 0; k < a->listens; k++)
		free((char *) a->ready[k].name);
	free(a->ready);
	free(a->nth);
	free(a->place);
	stack_gather_clear(&a->gather);
	stack_set_clear(&a->texts);
}

bool stack_ask(const struct stack_job *j, uint64_t until,
	       struct stack_answer *out)
{
	static struct stack_asking a; /* large */
	pid_t srun;
	int fd;

	memset(out, 0, sizeof(*out));
	a = (struct stack_asking) { .job = j, .out = out };
	a.port = ask_port(j->id);
	stack_desk_init(&a.desk, j->nodes);
	a.pieces = calloc(j->nodes, sizeof(*a.pieces));
	a.ready = calloc(j->nodes, sizeof(*a.ready));
	a.nth = calloc(j->nodes, sizeof(*a.nth));
	a.place = calloc(j->nodes, sizeof(*a.place));
	stack_gather_init(&a.gather);
	srun = a.pieces && a.ready && a.nth && a.place ? ask_start(&a, &fd) :
							 -1;
	if (srun < 0) {
		fprintf(stderr, "storm: srun: %s\n", strerror(errno));
		ask_clear(&a);
		return false;
	}
	a.srun = srun;
	ask_listen(&a, fd, until);
	ask_take(&a);
	close(fd);
	ask_end(srun, until);
	ask_clear(&a);
	/* each is of a thread at least */
	out->stacks.over += a.desk.lost;
	if (a.full)
		fputs("storm: no memory: some stacks are missing\n", stderr);
	return storm_idset_size(&out->nodes) > 0;
}

void stack_answer_clear(struct stack_answer *a)
{
	stack_set_clear(&a->stacks);
	storm_idset_clear(&a->nodes);
	memset(a, 0, sizeof(*a));
}
