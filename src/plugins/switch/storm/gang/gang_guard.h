/*
 * gang_guard.h - slurmd's promise that no step stands still because of an agent
 * that is dead or does not get on (architecture: the house, 6).  Nothing here
 * knows of Slurm.  One thread.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_GANG_GUARD_H
#define STORM_GANG_GUARD_H

#include <stdbool.h>

/* Whose steps; both stay the caller's.  rundir NULL: STORM_RUNDIR.  say(bad, text)
 * tells what was done. */
void gang_guard_begin(const char *rundir, const char *node,
		      void (*say)(bool bad, const char *text));

/*
 * Look after the steps of this node: if the agent is gone, or late while some
 * stand still, all of them go on.  Returns when to look again, in ms.  While jobs
 * share the node the calling thread has a real-time priority, where it may.
 */
int gang_guard_look(bool agent_gone);

/* The agent that was gone is dead, and none is there: what it had stopped and now
 * goes on is nobody's to let go on again. */
void gang_guard_dead(void);

/* Is readable when there is something to look at before that time, namely that
 * jobs share the node from now on.  -1: nothing tells. */
int gang_guard_fd(void);

/* The agent is another's from now on, or nobody's; it may be looked after again. */
void gang_guard_end(void);

#endif
