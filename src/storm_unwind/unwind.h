/*
 * unwind.h - the processes of a job's tasks on this node, and their threads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_UNWIND_H
#define STORM_UNWIND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "src/storm_stack/stack_set.h"

#define UNWIND_PROCESSES 4096 /* of a node; the rest is counted */
#define UNWIND_THREADS 1024   /* of a process; the rest is counted */

struct unwind_thread {
	pid_t tid;
	struct user_regs_struct regs;
};

/* A process that runs for a task.  A zeroed one has no thread. */
struct unwind_process {
	pid_t pid;
	uint32_t rank;
	char label[STACK_WORD + 1]; /* the step; a run of storm run's behind it */
	char program[STACK_WORD + 1];
	int mem; /* its memory, or -1 */
	struct unwind_thread *
		threads; /* that stand; the first is the process's, if it runs */
	uint32_t count;
	uint32_t unseen; /* threads beyond UNWIND_THREADS */
	char why[160];	 /* it cannot be walked: why; or "" */
};

struct unwind_job {
	const char *job, *step; /* numbers as text; step NULL: all of them */
	struct unwind_process *all;
	uint32_t count;
	uint32_t over; /* more than UNWIND_PROCESSES */
};

/* unwind_find.c: fill all and count.  Only processes of this user's, of the job's control
 * group where Slurm makes one, and whose variables name the job.  False: no memory. */
bool unwind_find(struct unwind_job *j);
void unwind_forget(struct unwind_job *j);

/* unwind_hold.c: stop each thread of each process by PTRACE_SEIZE, and read its registers.
 * Returns within about 0.5 s.  A process of which a thread does not stop has its reason
 * in why.  The kernel lets all go on when the caller ends, whatever ends it. */
void unwind_hold(struct unwind_job *j);
/* Has this thread ended, and is only remembered?  Its process may run on. */
bool unwind_is_over(pid_t tid);
/* Let all go on. */
void unwind_release(struct unwind_job *j);

/* unwind_walk.c: write the lines of stack_line.h for the processes from `first` on into fd:
 * a P before each, and an S for each thread.  It reads files that the user made, so it runs
 * in a child. */
void unwind_walk(const struct unwind_job *j, uint32_t first, int fd);

#endif
