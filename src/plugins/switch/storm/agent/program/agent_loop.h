/*
 * agent_loop.h - the agent's main loop.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_LOOP_H
#define STORM_AGENT_LOOP_H

struct agent;

/* Before there is any thread: all of them leave the signals to the loop.  0, or -1
 * and errno. */
int agent_loop_signals(struct agent *a);
/* Serve until a->stop, which a signal sets, or the lack of a slurmd. */
void agent_loop_run(struct agent *a);

#endif
