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
 * If the agent is gone, or is late while steps are stopped, continue all steps.
 * agent_gone: its process has ended.  Returns the ms until the next call, which
 * comes at once when jobs begin to share the node, as LOCAL_LOOK tells.  While
 * jobs share it, the calling thread has a real-time priority, if the system
 * allows that.
 */
int gang_guard_look(bool agent_gone);

/* The agent is dead, and there is no other: continue its steps, and clear their
 * marks. */
void gang_guard_dead(void);
/* There is no agent yet: try again to continue what could not be continued. */
void gang_guard_still_dead(void);

/* Forget the agent.  The next gang_guard_look() finds the next one. */
void gang_guard_end(void);

#endif
