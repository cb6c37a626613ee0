/*
 * show_options.h - the command line that storm status, map, why, jobs and top have in
 * common, and what other commands share of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SHOW_OPTIONS_H
#define STORM_SHOW_OPTIONS_H

#include <stdbool.h>

/* Exit codes. */
enum { SHOW_FINE = 0, SHOW_WRONG = 1, SHOW_USAGE = 2 };

struct show_options {
	const char *list;  /* -w: nodes; NULL: all */
	const char *delay; /* -d, as it was given; NULL: it was not */
	bool all;	   /* -a */
	bool once;	   /* -1 */
	bool json;
};

/* Read the options; letters: those that the command has, as for getopt(3).  Arguments
 * begin at optind then.  False: the program ends with *code, as the version or the usage was
 * printed, or an option is wrong. */
bool show_options(int argc, char **argv, const char *letters, const char *usage,
		  struct show_options *out, int *code);

/* What getopt_long(3) has returned is none of a command's own options: print the version
 * for 'V' and the usage for 'h'.  Anything else is wrong, which getopt_long() has said.
 * Returns the program's exit code. */
int show_usual(int c, const char *usage);
/* Are there no arguments behind the options?  False: there are, which was said. */
bool show_no_argument(int argc, char **argv, const char *command);

/* How wide standard output is. */
unsigned int show_columns(void);

#endif
