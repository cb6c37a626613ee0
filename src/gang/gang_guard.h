/*
 * gang_guard.h - slurmd's guard: no step stays stopped because the agent is
 * dead or does not respond (doc/gang-scheduling.md, "Nothing stands still
 * because of the dead").  No Slurm header.  One thread.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_GANG_GUARD_H
#define STORM_GANG_GUARD_H

#include <stdbool.h>

/* Guard the steps of a node.  Both strings stay the caller's.  rundir NULL:
 * STORM_RUNDIR.  say(bad, text) logs what was done; bad: an error. */
void gang_guard_begin(const char *rundir, const char *node,
		      void (*say)(bool bad, const char *text));

/*
 * If the agent is gone, or late while steps are stopped, continue all of them.
 * Returns the time until the next call, in ms; earlier if jobs begin to share the
 * node, which the agent tells (LOCAL_LOOK).  While they do the calling thread has a
 * real-time priority, if the system allows it.
 */
int gang_guard_look(bool agent_gone);

/* The agent is dead and there is no other: continue its steps, and clear their
 * marks. */
void gang_guard_dead(void);
/* There still is none: try again what could not be continued. */
void gang_guard_still_dead(void);

/* Forget the agent.  The next gang_guard_look() finds the next one. */
void gang_guard_end(void);

#endif
