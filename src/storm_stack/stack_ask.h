/*
 * stack_ask.h - has storm_unwind run on each node of a job, by an overlapping step of srun's, and
 * merges what comes back.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STACK_ASK_H
#define STORM_STACK_ASK_H

#include "stack_job.h"
#include "stack_line.h"
#include "stack_set.h"

struct stack_answer {
	struct stack_set stacks;
	struct storm_idset nodes; /* that are done: places in the job's list */
	uint64_t processes;
	struct stack_unseen unseen;
	uint64_t merged;   /* nodes whose stacks came up the tree */
	uint64_t stood_us; /* the longest of them */
	uint64_t bytes;	   /* that came by srun's pipe */
	char apart[160];   /* why they did not stand together; "": they did */
};

/* Ask once.  until: CLOCK_MONOTONIC ns; then it ends without those who have not answered.
 * False: no node has answered; srun and this say why on stderr.  The caller clears out
 * by stack_answer_clear() in each case. */
bool stack_ask(const struct stack_job *j, uint64_t until,
	       struct stack_answer *out);
void stack_answer_clear(struct stack_answer *a);

#endif
