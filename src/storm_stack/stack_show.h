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
void stack_show_text(FILE *f, const struct stack_answer *a, bool threads);
/* One object of JSON, in a line. */
void stack_show_json(FILE *f, const struct stack_job *j,
		     const struct stack_answer *a);
/* A tree for dot(1): who calls whom, with the ranks at each call.  threads: as above.  False: no
 * memory, and nothing is printed. */
bool stack_show_dot(FILE *f, const struct stack_job *j,
		    const struct stack_answer *a, bool threads);

/* What all of these have in common. */

/* As "0-4,7". */
void stack_show_ranks(FILE *f, const struct storm_idset *s);
/* What stands between quotes.  The text is printable ASCII. */
void stack_show_escaped(FILE *f, const char *text, size_t len);

#define STACK_RESTS 3
#define STACK_REST 96 /* bytes of a line, with its end */
/* The kth line about what is not in the stacks, below STACK_RESTS.  False: there is nothing to
 * say. */
bool stack_rest(const struct stack_answer *a, unsigned int k,
		char (*out)[STACK_REST]);

#endif
