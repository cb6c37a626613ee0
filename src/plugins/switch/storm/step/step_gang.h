/*
 * step_gang.h - slurmstepd's side of gang scheduling: it puts the tasks of a step
 * where the agent can stop them, and leaves the record of it (gang_step.h).
 * Called by SPANK's hooks, which batch and interactive steps have too.  All of it
 * does nothing where this node does no gang scheduling; what fails is said in
 * one message and leaves the step running all the time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_GANG_H
#define STORM_STEP_GANG_H

#include <stdbool.h>
#include <stdint.h>

/* What SPANK knows of a step. */
struct step_gang {
	uint32_t job, step;
	bool script;		/* batch or interactive: sruns may be in it */
	bool debugged;		/* a debugger starts it: its tasks stand still for
				   that alone to let them go on */
	uint32_t tasks;
};

/* As root, before tasks are made; say(text) tells what went wrong. */
void step_gang_begin(const char *node, const struct step_gang *s,
		     void (*say)(const char *));
/* As root, in each task before exec; after the last the step is complete. */
void step_gang_enter(void);
/* As root, in slurmstepd, for each task when all were forked and Slurm has put this
 * one where it belongs.  Where it belongs into a group of Slurm's own the step is
 * complete after the last.  From then on slurmstepd sees to it that they do not
 * stand still for nobody (step_guard.h). */
void step_gang_forked(void);
/* Its processes have ended. */
void step_gang_end(void);

#endif
