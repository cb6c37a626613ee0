/*
 * agent_turn.h - one slurmd of a node watches the agent at a time.  At `scontrol
 * reconfigure` Slurm since 23.11 starts a new slurmd, and the threads of the old
 * one live on for seconds.  The new one asks for the turn, and the old one gives
 * it away.  If the new one ends, the old one has it again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_TURN_H
#define STORM_AGENT_TURN_H

#include <stdbool.h>

/* Ask for the turn.  rundir NULL: STORM_RUNDIR.  0; or an errno. */
int agent_turn_begin(const char *rundir, const char *node);
void agent_turn_end(void);

/* Wait for the turn.  wake: a descriptor that becomes readable when this is no
 * longer wanted.  False: it is so. */
bool agent_turn_wait(int wake);
/* While this process has the turn, call it now and then.  False: another slurmd
 * asks. */
bool agent_turn_keep(void);
/* Give it away. */
void agent_turn_give(void);

#endif
