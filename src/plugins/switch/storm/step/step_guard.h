/*
 * step_guard.h - slurmstepd's promise that its step does not stand still when
 * those who stop it are gone: the third guard, after the agent itself and
 * slurmd's plugin (gang_guard.h), for when both of them die at once.
 *
 * A thread waits for the death of the agent, and for the next agent.  It runs only
 * then; and, while jobs share the node, once in a second to see that the agent
 * gets on.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_GUARD_H
#define STORM_STEP_GUARD_H

#include "src/plugins/switch/storm/gang/gang_step.h"

/*
 * Begin, once, as root and after the step's tasks were forked.  rundir NULL:
 * STORM_RUNDIR.  say(text), from the thread, tells what was done.  0, or an
 * errno: the step has two guards.
 */
int step_guard_start(const char *rundir, const char *node,
		     const struct gang_step *step, void (*say)(const char *));
/* End it, if there is one; the step stays as it is. */
void step_guard_stop(void);

#endif
