/*
 * run_stdio.h - where the tasks' output goes: to the descriptors of storm run, to a file
 * that it opens, or to files that tasks open.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_STDIO_H
#define STORM_RUN_STDIO_H

#include "run_options.h"

/* Descriptors 1 and 2 of the tasks, here. */
int run_stdio_fd(int k);
/* Open what can be opened before the run has a number.  False: it was said why. */
bool run_stdio_open(const struct run_options *o);
/* What launchers are told of it. */
void run_stdio_tell(const struct run_options *o, struct run_what *w);
/* The run has a number, in the launchers' step.  False: it was said why. */
bool run_stdio_open_numbered(const struct run_options *o, uint64_t run,
			     const char *step);

#endif
