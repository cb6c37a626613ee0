/*
 * check_run.h - run a program, and read what it prints line by line.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHECK_RUN_H
#define STORM_CHECK_RUN_H

#include <stddef.h>

/*
 * argv[0] is looked for in PATH.  line() gets each line of its stdout, with its end.
 * *last becomes the last line of its stderr that is not empty.  Its exit status; 126:
 * it could not be started, or a signal ended it.
 */
int check_run(const char *const *argv, void (*line)(char *), char *last,
	      size_t size);

#endif
