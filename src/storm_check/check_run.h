/*
 * check_run.h - runs a program, and reads what it prints line by line.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHECK_RUN_H
#define STORM_CHECK_RUN_H

#include <stddef.h>

/*
 * Run argv, whose program is looked for in PATH.  line() gets each line of its
 * stdout, with the line's end.  last, of size bytes, gets the last line of its
 * stderr that is not empty.  Returns its exit status; 126: it could not be
 * started, or a signal ended it.
 */
int check_run(const char *const *argv, void (*line)(char *), char *last,
	      size_t size);

#endif
