/*
 * stack_show.h - what storm stack prints.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STACK_SHOW_H
#define STORM_STACK_SHOW_H

#include <stdio.h>

#include "stack_ask.h"

/* A line for each stack.  threads: also those of other threads than the first of a
 * process; otherwise they are counted. */
void stack_show_text(FILE *f, const struct stack_set *s, bool threads);
/* One object of JSON, in a line. */
void stack_show_json(FILE *f, const struct stack_job *j,
		     const struct stack_answer *a);
/* A graph for dot(1): who calls whom, with the number of tasks at each edge. */
void stack_show_dot(FILE *f, const struct stack_set *s);

#endif
