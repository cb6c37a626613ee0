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
	uint32_t tasks;
};

/* As root, before tasks are forked.  say(text) logs. */
void step_gang_begin(const char *node, const struct step_gang *s,
		     void (*say)(const char *));
/* As root, in each task before exec; after the last one the step is
 * complete. */
void step_gang_enter(void);
/* As root, before tasks are forked: the account of how they wait
 * (src/storm_wait/wait_page.h), which stays the caller's.  The node's agent gets it,
 * and each one that comes after that. */
void step_gang_account(int fd);
/* In each task, just before exec: wait for the job's turn (step_door.h). */
void step_gang_wait(void);
/* As root, in slurmstepd, for each task: all are forked, and Slurm has put this
 * one into its group.  If Slurm's groups are used, the step is complete after
 * the last task.  Then starts the step's guard (step_guard.h). */
void step_gang_forked(void);
/* The step's processes have ended. */
void step_gang_end(void);

#endif
