/*
 * unwind_collect.h - has children walk the stacks, in bounded time and memory, whatever the files
 * of the programs are like, and merges what they say.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_UNWIND_COLLECT_H
#define STORM_UNWIND_COLLECT_H

#include "src/storm_stack/stack_code.h"
#include "unwind.h"

/* Walk all processes of a job that are held, and add their stacks to the set, or why there
 * is none, and to the tallies which rank has which.  Takes about 1.5 s at most.  False: no
 * memory. */
bool unwind_collect(const struct unwind_job *j, struct stack_set *to,
		    struct stack_tallies *tallies);

#endif
