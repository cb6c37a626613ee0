/*
 * journal.h - a line of the journal of runs: a run that is over, as JSON.  No I/O.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_JOURNAL_H
#define STORM_JOURNAL_H

#include "run_usage.h"
#include "runs.h"

/* A text that grows; zero it. */
struct journal_text {
	char *buf;
	size_t len, room;
	bool failed; /* no memory: some is missing */
};

/* A string with its quotes.  A byte that is no UTF-8 becomes \udcXX, as Python reads it
 * back with surrogateescape: so none is lost. */
void journal_put_string(struct journal_text *t, const char *text);

/* What it executes and where, as members of an object.  The caller frees it.  NULL: no
 * memory. */
char *journal_command(const struct run_what *w);

/* Times are ms since 1970. */
struct journal_run {
	const char *job, *step;
	const char *command; /* journal_command()'s */
	const char *nodes;   /* a list of names, or "" */
	uint64_t cpus;
	uint64_t queued, began, ended; /* began 0: it has not */
	const struct run_usage *usage; /* of each node of it; NULL: of none */
	const char *(*name)(void *arg, uint32_t node);
	void *arg;
};

/* The whole line, with its end, of *len bytes; the caller frees it.  NULL: no memory. */
char *journal_line(const struct journal_run *j, const struct user_run *run,
		   size_t *len);

#endif
