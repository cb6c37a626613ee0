/*
 * unwind_collect.c - see unwind_collect.h.  A child that hangs in a file, or dies of it, costs the
 * stack of that process: another child goes on behind it.
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
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/storm_common/proc_state.h"
#include "unwind_collect.h"

#define ALL_LIMIT (1500 * STORM_MS)
#define ONE_LIMIT (500 * STORM_MS) /* for one process */
#define MEMORY (UINT64_C(4) << 30) /* with what it maps of files */

struct collect {
	const struct unwind_job *job;
	struct stack_set *to;
	struct stack_tallies *tallies;
	uint32_t next;	 /* process, whose P has not come yet */
	uint64_t since;	 /* the last P came */
	uint64_t cpu;	 /* that the child had used then, ns */
	clockid_t clock; /* of the child's CPU time */
	char line[STACK_LINE];
	size_t len;
	bool full; /* no memory */
};

static void collect_limit(int what, uint64_t most)
{
	struct rlimit l;

	if (getrlimit(what, &l))
		_exit(1);
	l.rlim_cur = storm_min(most, l.rlim_max);
	l.rlim_max = l.rlim_cur;
	if (setrlimit(what, &l))
		_exit(1);
}

/* It writes no file, starts no process, and is the first that the kernel ends for
 * memory. */
static void collect_confine(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (write(fd, "1000", 4) < 0)
			errno = 0; /* the site's limit counts then */
		close(fd);
	}
	collect_limit(RLIMIT_CORE, 0);
	collect_limit(RLIMIT_FSIZE, 0);
	collect_limit(RLIMIT_NPROC, 0);
	collect_limit(RLIMIT_CPU, 2);
#ifndef __SANITIZE_ADDRESS__
	collect_limit(RLIMIT_AS, MEMORY);
#endif
}

static pid_t collect_start(struct collect *c, int *out)
{
	pid_t self = getpid(), child;
	int p[2];

	if (pipe2(p, O_CLOEXEC))
		return -1;
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != self)
			_exit(1);
		collect_confine();
		unwind_walk(c->job, c->next, p[1]);
		_exit(0);
	}
	close(p[1]);
	*out = p[0];
	if (child < 0)
		close(p[0]);
	return child;
}

static void collect_add(struct collect *c, const struct stack_rec *rec)
{
	const struct stack_one *kept;

	c->full |= stack_set_keep(c->to, rec, &kept) != STORM_OK;
	/* a child that says what none says is not believed here */
	if (kept && rec->count == 1 && storm_idset_size(&rec->ranks) == 1)
		c->full |= stack_tally_add(c->tallies, kept,
					   rec->ranks.r[0].first) != STORM_OK;
}

/* The nth process has no stack, or no whole one. */
static void collect_fault(struct collect *c, uint32_t nth, const char *why)
{
	static struct stack_rec rec; /* large */
	const struct unwind_process *p = &c->job->all[nth];
	struct storm_range only = { p->rank, p->rank };

	rec.kind = STACK_FAULT;
	strcpy(rec.label, p->label);
	strcpy(rec.program, p->program);
	stack_clean(rec.text, sizeof(rec.text), why);
	rec.count = 1;
	rec.ranks = (struct storm_idset) { &only, 1, 1 };
	stack_tally_next(c->tallies);
	collect_add(c, &rec);
}

static uint64_t collect_cpu(const struct collect *c)
{
	struct timespec t;

	if (clock_gettime(c->clock, &t))
		return UINT64_MAX;
	return (uint64_t) t.tv_sec * STORM_SEC + (uint64_t) t.tv_nsec;
}

/* On a busy node it may be the scheduler that takes the time, and not the process: the
 * child could run, and has not had half of the time. */
static bool collect_is_starved(const struct collect *c, pid_t child)
{
	uint64_t cpu = collect_cpu(c);
	char text[512], *state;

	proc_read(child, "stat", text, sizeof(text));
	state = strrchr(text, ')');
	return state && !strncmp(state, ") R", 3) && cpu >= c->cpu &&
	       cpu - c->cpu < ONE_LIMIT / 2;
}

/* One line.  False: the child says what none says. */
static bool collect_line(struct collect *c, const char *line)
{
	static struct stack_said said; /* large */

	switch (stack_line_read(line, &said)) {
	case LINE_NEXT:
		if (said.next != c->next || said.next >= c->job->count)
			return false;
		c->next++;
		stack_tally_next(c->tallies);
		c->since = storm_now();
		c->cpu = collect_cpu(c);
		return true;
	case LINE_STACK:
		collect_add(c, &said.rec);
		storm_idset_clear(&said.rec.ranks);
		return true;
	default:
		return false;
	}
}

/* Take what has come.  False: it is over, or what comes is none of ours. */
static bool collect_read(struct collect *c, int fd)
{
	ssize_t n = read(fd, c->line + c->len, sizeof(c->line) - c->len);
	char *from = c->line, *end;

	if (n <= 0)
		return n < 0 && errno == EINTR;
	c->len += (size_t) n;
	while ((end = memchr(from, '\n', c->len))) {
		*end = '\0';
		if (!collect_line(c, from))
			return false;
		c->len -= (size_t) (end + 1 - from);
		from = end + 1;
	}
	memmove(c->line, from, c->len);
	return c->len < sizeof(c->line);
}

/* Listen to a child until it ends, or has no time left.  Returns why the process that
 * it walks has no stack; NULL: the child is through. */
static const char *collect_listen(struct collect *c, int fd, pid_t child,
				  uint64_t until)
{
	static char why[80];
	bool late = false, said = true;
	int status;

	c->since = storm_now();
	c->cpu = 0;
	if (clock_getcpuclockid(child, &c->clock))
		c->clock = -1;
	while (said && !late) {
		uint64_t now = storm_now();
		uint64_t end = storm_min(c->since + ONE_LIMIT, until);
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (now >= end && now < until && collect_is_starved(c, child))
			end = storm_min(now + ONE_LIMIT / 10, until);
		late = now >= end;
		if (!late &&
		    poll(&p, 1, (int) ((end - now) / STORM_MS) + 1) > 0)
			said = collect_read(c, fd);
	}
	kill(child, SIGKILL);
	/* one that hangs in a file system ends later, without its parent */
	for (int k = 0; k < 50 && waitpid(child, &status, WNOHANG) == 0; k++)
		usleep(1000);
	if (late)
		return "its stack takes longer than 0.5 s, or the node longer than 1.5 s";
	if (c->next >= c->job->count && WIFEXITED(status) &&
	    !WEXITSTATUS(status))
		return NULL;
	snprintf(why, sizeof(why),
		 "the files of its program end the unwinder: %s %d",
		 WIFSIGNALED(status) ? "signal" : "exit code",
		 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return why;
}

bool unwind_collect(const struct unwind_job *j, struct stack_set *to,
		    struct stack_tallies *tallies)
{
	static struct collect c; /* large */
	uint64_t until = storm_now() + ALL_LIMIT;
	const char *why = "";

	c = (struct collect) { .job = j, .to = to, .tallies = tallies };
	while (why && c.next < j->count && storm_now() < until) {
		pid_t child;
		int fd;

		c.len = 0;
		child = collect_start(&c, &fd);
		if (child < 0)
			break;
		why = collect_listen(&c, fd, child, until);
		close(fd);
		if (why && c.next)
			collect_fault(&c, c.next - 1, why);
	}
	for (; c.next < j->count; c.next++)
		collect_fault(&c, c.next,
			      "no time was left for it on its node");
	return !c.full;
}
