/*
 * step_gang.h - slurmstepd's side of gang scheduling.  It puts a step's tasks
 * into a group that the agent can stop, and writes the step's record
 * (gang_step.h).  SPANK's hooks call it, because batch and interactive steps
 * have them, too.  It does nothing if this node does no gang scheduling.  After
 * a failure, which is logged once, the step runs all the time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_GANG_H
#define STORM_STEP_GANG_H

#include <stdbool.h>
#include <stdint.h>

/* What SPANK knows of a step. */
struct step_gang {
	uint32_t job, step, het, uid;
	bool script;   /* batch or interactive: sruns may be in it */
	bool debugged; /* a debugger starts it, and alone stops and
				   continues its tasks */
	bool yields;   /* its user wants it to give way, not to be stopped */
	uint32_t tasks;
};

/* The step begins: make its group, and its door if jobs share the node.  As
 * root, before tasks are forked. say(text) logs. */
void step_gang_begin(const char *node, const struct step_gang *s,
		     void (*say)(const char *));
/* Put this task into the group.  As root, in each task before exec.  After the
 * last one the step is complete. */
void step_gang_enter(void);
/* Give the agent, and each agent that follows it, the account of how the tasks
 * wait (src/storm_wait/wait_page.h).  The caller keeps fd.  As root, before
 * tasks are forked. */
void step_gang_account(int fd);
/* Wait for the job's turn (step_door.h).  In each task, just before exec. */
void step_gang_wait(void);
/* All tasks are forked, and Slurm has put one more into its group.  As root, in
 * slurmstepd, once for each task.  If Slurm's groups are used, the step is
 * complete after the last one.  Then the step's guard starts (step_guard.h). */
void step_gang_forked(void);
/* The step's processes have ended: remove record, group and guard. */
void step_gang_end(void);

#endif
