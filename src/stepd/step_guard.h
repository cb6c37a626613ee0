/*
 * step_guard.h - the third guard: slurmstepd continues its step if the agent
 * and slurmd's plugin (gang_guard.h) die at the same time
 * (doc/gang-scheduling.md, "Nothing stands still because of the dead").
 *
 * A thread waits for the agent's death and for the next agent.  While jobs
 * share the node it also runs once a second, to see that the agent responds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_GUARD_H
#define STORM_STEP_GUARD_H

#include "src/gang/gang_step.h"

/*
 * Start the guard, once, as root and after the step's tasks were forked.
 * rundir NULL: STORM_RUNDIR.  0, or an errno: the step has no such guard.  The
 * thread calls say(text) to log what was done, and greet(), which may be NULL,
 * to give a new agent what it must have of the step; it returns false if the
 * agent does not listen yet.
 */
int step_guard_start(const char *rundir, const char *node,
		     const struct gang_step *step, void (*say)(const char *),
		     bool (*greet)(void));
/* Stop the guard, if it runs; the step stays as it is. */
void step_guard_stop(void);

#endif
