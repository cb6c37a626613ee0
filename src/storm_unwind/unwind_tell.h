/*
 * unwind_tell.h - how a node's stacks come to storm stack: by reports up the tree of its domain,
 * which have codes for texts, or all of them by srun's pipe.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_UNWIND_TELL_H
#define STORM_UNWIND_TELL_H

#include "src/storm_stack/stack_code.h"

/* Print a line of the nth node in pieces.  Returns their bytes. */
size_t unwind_print(uint32_t nth, const char *line);
/* Print all: those that most threads have first, as many as the node's share has room for.  Sorts
 * the set. */
void unwind_print_all(uint32_t nth, struct stack_set *s,
		      const struct stack_node *node);
/* Report all to the asker, and print the texts that it asks for.  Returns when it has the last
 * question.  False: the session has ended before that, or there is none, so that
 * unwind_print_all() is to do it.  It sorts t. */
bool unwind_tell(uint32_t nth, const struct stack_set *s,
		 struct stack_tallies *t, const struct stack_node *node);

#endif
