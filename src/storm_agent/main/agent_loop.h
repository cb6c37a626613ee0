/*
 * agent_loop.h - the agent's main loop.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_LOOP_H
#define STORM_AGENT_LOOP_H

struct agent;

/* Block the signals that the loop serves.  Call it before any thread starts,
 * because threads inherit that.  0, or -1 and errno. */
int agent_loop_signals(struct agent *a);
/* Serve until a->stop.  SIGTERM, SIGINT, SIGHUP and AgentLinger set it. */
void agent_loop_run(struct agent *a);

#endif
