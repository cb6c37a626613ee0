/*
 * each_options.h - what storm each is asked for, in GNU parallel's words; and how it
 * speaks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EACH_OPTIONS_H
#define STORM_EACH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "each_halt.h"
#include "src/storm_launcher/run_wire.h"
#include "src/storm_run/run_say.h"

enum { EACH_FAILED = 255, EACH_USAGE = 255 }; /* exit statuses, as parallel's */
enum { EACH_GOES_ON = -1 };		      /* there is none yet */

/* When output of a task comes. */
enum each_group {
	EACH_GROUPED,	  /* all of it, when the task has ended */
	EACH_LINE_BUFFER, /* whole lines, as they come */
	EACH_UNGROUPED,	  /* as it is written */
};

/* One separator of the command line with the words after it; or -a. */
struct each_input {
	bool files;	    /* :::: or -a: each word is the name of a file */
	bool linked;	    /* :::+ or ::::+ */
	char *const *words; /* in argv, or in the options */
	size_t count;
};

/* -X and -m: several arguments for one command. */
enum each_many { EACH_ONE, EACH_CONTEXT, EACH_MANY };

/* The replacement strings that can be given another name: -I and its like. */
enum each_name {
	EACH_ARG,	 /* {} */
	EACH_BASE,	 /* {/} */
	EACH_DIR,	 /* {//} */
	EACH_PLAIN,	 /* {.} */
	EACH_BASE_PLAIN, /* {/.} */
	EACH_SEQ,	 /* {#} */
	EACH_SLOT,	 /* {%} */
	EACH_NAMES,
};

/* Tasks at once: -j. */
struct each_jobs {
	enum { EACH_ALL_CPUS, EACH_COUNT, EACH_PERCENT, EACH_LESS } kind;
	uint32_t number;
};

struct each_options {
	/* what is run.  Without words the rows are commands. */
	char *const *command;
	size_t command_words;
	bool quote; /* -q */
	const char *names[EACH_NAMES];

	/* its arguments */
	struct each_input *inputs; /* without one: lines of stdin */
	size_t input_count;
	const char *delimiter; /* what ends an item: delimiter_len bytes */
	size_t delimiter_len;
	const char *colsep; /* a regular expression; NULL: no columns */
	bool trim_left, trim_right;
	bool link, no_empty, shuf;
	enum each_many many;
	bool many_spread; /* -X or -m: as many as fit, and the last ones shared */
	uint32_t max_args; /* of one command at most; 0: not given */
	bool no_args; /* --max-args=0: rows count, and are not in the command */
	/* Before each_sources_open() the runtime may set how many tasks run at once: -X
	 * and -m share what is left among them.  0: not known. */
	uint32_t slots;

	/* where and how */
	struct each_jobs jobs;
	uint32_t cpus; /* -c: for each task, or each of its ranks; 1 or more */
	uint32_t tasks,
		nodes; /* -n, -N: ranks and nodes of each task; 0: not given */
	enum run_mpi mpi;
	const char *
		wd; /* may have replacement strings: each_text(); NULL: as here */
	uint32_t retries; /* how often a task is started at most; 1 or more */
	uint32_t crash_limit; /* pullers that it may take down; 1 or more */
	uint64_t timeout_us, delay_us; /* 0: none */
	struct each_halt_rule halt;

	/* what is seen */
	bool dry_run, verbose, keep_order, bar, eta, progress;
	enum each_group group;
	const char *
		tag; /* --tagstring, or "{}" of --tag: each_text(); NULL: none */
	const char *results; /* each_text(), if each_has_names() */

	/* the log of tasks */
	const char *joblog; /* without its '+' */
	bool joblog_appends, resume, resume_failed;
	const char *journal; /* storm run's; NULL: none */
};

/* EACH_GOES_ON, or the exit status: it was said why.  What it points to is in argv, or
 * stays until the process ends. */
int each_parse(int argc, char **argv, struct each_options *o);

/* Is each task a run of the launchers? */
bool each_are_runs(const struct each_options *o);

/* How many tasks run at once if there are so many CPUs: 1 or more. */
uint32_t each_slots(const struct each_options *o, uint32_t cpus);

#endif
