/*
 * runs_tell.c - what the head says of a run's end.  See runs.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run_wire.h"
#include "runs.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

#define NAMES_SHOWN 8
#define LINE 1024

struct run_line {
	char text[LINE];
	size_t len;
};

__attribute__((format(printf, 2, 3))) static void
run_line_add(struct run_line *l, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(l->text + l->len, sizeof(l->text) - l->len, fmt, ap);
	va_end(ap);
	if (n > 0)
		l->len = storm_min(l->len + (size_t) n, sizeof(l->text) - 1);
}

/* The nodes of these ranks, the first of them by name. */
static void run_line_nodes(struct run_line *l, const struct user_run *run,
			   const struct storm_idset *ranks,
			   const char *(*name)(void *, uint32_t), void *arg)
{
	uint32_t nth = 0, shown = 0;

	for (uint32_t k = 0; k < run->nodes.count; k++)
		for (uint32_t n = run->nodes.r[k].first;
		     n <= run->nodes.r[k].last; n++, nth++) {
			bool here = false;

			for (uint32_t t = run->rank[nth];
			     !here && t < run->rank[nth + 1]; t++)
				here = storm_idset_has(ranks, t);
			if (here && shown++ < NAMES_SHOWN)
				run_line_add(l, "%s%s", shown > 1 ? "," : "",
					     name(arg, n));
		}
	if (shown > NAMES_SHOWN)
		run_line_add(l, " and %u more", shown - NAMES_SHOWN);
}

static void run_line_tasks(struct run_line *l, const struct storm_idset *ranks)
{
	run_line_add(l, storm_idset_size(ranks) > 1 ? "tasks " : "task ");
	for (uint32_t k = 0; k < ranks->count && k < NAMES_SHOWN; k++) {
		const struct storm_range *r = &ranks->r[k];

		run_line_add(l, "%s%u", k ? "," : "", r->first);
		if (r->last > r->first)
			run_line_add(l, "-%u", r->last);
	}
	if (ranks->count > NAMES_SHOWN)
		run_line_add(l, ",...");
}

static void run_line_pmix(struct run_line *l, int value)
{
	int sig = value - RUN_PMIX_ENDED;

	if (value == ENOENT)
		run_line_add(
			l,
			"--mpi=pmix is not installed there: it needs the package slurm-storm-pmix");
	else if (sig < 0)
		run_line_add(l, "cannot start storm_pmix: %s", strerror(value));
	else
		run_line_add(l, "storm_pmix has ended before they began: %s",
			     sig ? strsignal(sig) : "it gave up");
}

/* What its node lacks for a task, whatever that executes. */
static void run_line_of_node(struct run_line *l, enum run_cause cause,
			     int value)
{
	if (cause == RUN_NO_PMIX)
		run_line_pmix(l, value);
	else if (cause == RUN_NO_BIND && value == ENODEV) /* as srun */
		run_line_add(l, "CPU binding outside of job step allocation");
	else if (cause == RUN_NO_BIND)
		run_line_add(l, "cannot be bound to its CPUs: %s",
			     strerror(value));
	else if (cause == RUN_NO_MEMORY) /* as srun */
		run_line_add(l, "Out Of Memory");
	else if (cause == RUN_NO_HWLOC)
		run_line_add(
			l,
			"cannot be bound: hwloc cannot tell of which cores its CPUs are: %s",
			strerror(value));
	else if (cause == RUN_UNBOUND)
		run_line_add(
			l,
			"cannot be bound: Slurm has not bound the job to its own CPUs, see TaskPlugin in slurm.conf(5)");
	else
		run_line_add(l, "cannot start a task: %s", strerror(value));
}

static void run_line_cause(struct run_line *l, uint32_t code,
			   const struct run_what *what, const char *program)
{
	static const char *const stream[] = { "stdin", "stdout", "stderr" };

	enum run_cause cause;
	int value;

	if (!run_code_read(code, &cause, &value))
		run_line_add(l, "ended with code %#x, which is unknown", code);
	else if (cause == RUN_EXITED)
		run_line_add(l, "Exited with exit code %d", value);
	else if (cause == RUN_SIGNALED)
		run_line_add(l, "%s%s", strsignal(value & 0x7f),
			     value & 0x80 ? " (core dumped)" : "");
	else if (cause == RUN_NOT_STARTED)
		run_line_add(l, "cannot execute %s: %s", program,
			     strerror(value));
	else if (cause == RUN_NO_CWD)
		run_line_add(l, "cannot change to directory %s: %s", what->cwd,
			     strerror(value));
	else if (cause >= RUN_NO_STDIN && cause <= RUN_NO_STDERR)
		run_line_add(l, "Could not open %s file %s: %s",
			     stream[cause - RUN_NO_STDIN],
			     what->stream[cause - RUN_NO_STDIN],
			     strerror(value));
	else if (cause == RUN_OUTPUT_LOST || cause == RUN_INPUT_LOST)
		run_line_add(l, "%s is lost: %s",
			     cause == RUN_OUTPUT_LOST ? "output" : "input",
			     strerror(value));
	else if (cause == RUN_PMI_LOST)
		run_line_add(l, "PMI with other nodes is lost: %s",
			     strerror(value));
	else
		run_line_of_node(l, cause, value);
}

void run_cause_text(enum run_cause cause, int value, char *out, size_t size)
{
	struct run_line l = { .len = 0 };

	run_line_of_node(&l, cause, value);
	snprintf(out, size, "%s", l.text);
}

/* Ends of tasks are told to say(). */
struct run_told {
	const struct user_run *run;
	const struct run_what *what;
	const char *(*name)(void *arg, uint32_t node);
	void (*say)(void *arg, const char *line);
	void *arg;
};

static void run_tell_end(const struct run_told *to, uint32_t code,
			 const struct storm_idset *ranks, const char *program)
{
	struct run_line l = { .len = 0 };

	run_line_add(&l, "error: ");
	run_line_nodes(&l, to->run, ranks, to->name, to->arg);
	run_line_add(&l, ": ");
	run_line_tasks(&l, ranks);
	run_line_add(&l, ": ");
	run_line_cause(&l, code, to->what, program);
	to->say(to->arg, l.text);
}

/* Tasks that could not execute their programs, by these. */
static void run_tell_programs(const struct run_told *to,
			      const struct run_ended *e)
{
	const struct run_programs *p = &to->what->programs;
	struct storm_idset *sets = run_programs_split(p, &e->tasks);

	for (uint32_t k = 0; sets && k < p->count; k++) {
		if (sets[k].count)
			run_tell_end(to, e->code, &sets[k], p->list[k].argv[0]);
		storm_idset_clear(&sets[k]);
	}
	if (!sets)
		run_tell_end(to, e->code, &e->tasks, to->what->argv[0]);
	free(sets);
}

/* Nodes without the package of a kind of binding. */
static void run_tell_hwloc(const struct run_told *to,
			   const struct storm_idset *ranks)
{
	static const char *const word[RUN_BINDS] = {
		[RUN_BIND_CORES] = "cores",
		[RUN_BIND_LDOMS] = "ldoms",
		[RUN_BIND_SOCKETS] = "sockets",
	};
	const char *unit = word[to->what->bind];
	struct run_line l = { .len = 0 };

	run_line_add(&l,
		     "error: --cpu-bind=%s: slurm-storm-hwloc is missing on ",
		     unit ? unit : "...");
	run_line_nodes(&l, to->run, ranks, to->name, to->arg);
	to->say(to->arg, l.text);
}

void run_tell(const struct user_run *run, const struct run_what *what,
	      const char *(*name)(void *arg, uint32_t node),
	      void (*say)(void *arg, const char *line), void *arg)
{
	const struct run_told to = { run, what, name, say, arg };

	for (const struct run_ended *e = run->ended; e; e = e->next) {
		enum run_cause cause = RUN_EXITED;
		int value = 0;

		if (!e->code)
			continue;
		run_code_read(e->code, &cause, &value);
		if (cause == RUN_NOT_STARTED)
			run_tell_programs(&to, e);
		else if (cause == RUN_NO_HWLOC && value == ENOENT)
			run_tell_hwloc(&to, &e->tasks);
		else
			run_tell_end(&to, e->code, &e->tasks, "");
	}
}

/* As srun(1) has it. */
static void run_tell_state(const struct storm_idset *ranks, const char *state,
			   void (*say)(void *arg, const char *line), void *arg)
{
	struct run_line l = { .len = 0 };

	if (!ranks->count)
		return;
	run_line_tasks(&l, ranks);
	run_line_add(&l, ": %s", state);
	say(arg, l.text);
}

void run_tell_tasks(const struct user_run *run,
		    void (*say)(void *arg, const char *line), void *arg)
{
	struct storm_range r = { 0, run->tasks - 1 };
	const struct storm_idset all = { &r, 1, 1 };
	struct storm_idset left = { 0 };

	if (!storm_idset_minus(&all, &run->done, &left))
		run_tell_state(&left, "running", say, arg);
	run_tell_state(&run->done, "exited", say, arg);
	storm_idset_clear(&left);
}

void run_tell_left(const struct user_run *run, unsigned int seconds,
		   const char *(*name)(void *arg, uint32_t node),
		   void (*say)(void *arg, const char *line), void *arg)
{
	struct storm_range r = { 0, run->tasks - 1 };
	const struct storm_idset all = { &r, 1, 1 };
	struct storm_idset left = { 0 };
	struct run_line l = { .len = 0 };

	if (storm_idset_minus(&all, &run->done, &left) || !left.count)
		return;
	run_line_add(&l, "error: ");
	run_line_nodes(&l, run, &left, name, arg);
	run_line_add(&l, ": ");
	run_line_tasks(&l, &left);
	run_line_add(&l, ": no end is reported %u s after SIGKILL", seconds);
	storm_idset_clear(&left);
	say(arg, l.text);
}
