/*
 * agent_turn.h - the turn to watch the agent, which only one slurmd of a node
 * has at a time.  At `scontrol reconfigure` Slurm since 23.11 starts a new
 * slurmd, and the threads of the old one live on for seconds.  The new one asks
 * for the turn, and the old one gives it away.  If the new one ends, the old
 * one has it again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_TURN_H
#define STORM_AGENT_TURN_H

#include <stdbool.h>

/* Ask for the turn.  rundir NULL: STORM_RUNDIR.  0 or an errno. */
int agent_turn_begin(const char *rundir, const char *node);
void agent_turn_end(void);

/* Wait for the turn.  False: wake, a descriptor, became readable before, as the
 * turn is no longer wanted. */
bool agent_turn_wait(int wake);
/* Does this process keep the turn?  Call it now and then while it has it.
 * False: another slurmd asks for it. */
bool agent_turn_keep(void);
/* Give the turn away. */
void agent_turn_give(void);

#endif
