/*
 * agent_watch.h - runs and watches the agent of this node, in slurmd.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_WATCH_H
#define STORM_AGENT_WATCH_H

/*
 * Start the thread that runs and watches the agent.  SLURM_SUCCESS; or
 * SLURM_ERROR, and the reason is in the log.  agent_watch_stop() ends the
 * thread and not the agent, which waits AgentLinger for the next slurmd to
 * adopt it.  Within a second after slurmd has read slurm.conf again, the thread
 * replaces an agent that has read other keys in storm.conf than are there now.  A
 * storm.conf with errors is told of, and has no effect.
 */
int agent_watch_start(void);
void agent_watch_stop(void);

#endif
