/*
 * agent_watch.h - slurmd's plugin runs the agent of its node, and watches it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_WATCH_H
#define STORM_AGENT_WATCH_H

/*
 * In slurmd: start the thread that runs and watches the agent of this node.
 * SLURM_SUCCESS or SLURM_ERROR.  agent_watch_stop() ends the thread, not the
 * agent: it stays for a while to be adopted by the next slurmd.
 */
int agent_watch_start(void);
void agent_watch_stop(void);

#endif
