/*
 * agent_watch.h - slurmd's plugin and the agent that it runs: what they have
 * agreed on.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_WATCH_H
#define STORM_AGENT_WATCH_H

#include "storm_config.h"

/* The agent of another build is replaced, not adopted. */
#define AGENT_BUILD STORM_VERSION " for Slurm " SLURM_VERSION_STRING

/* What the agent's exit status tells. */
enum agent_exit {
	AGENT_EXIT_FAILED = 1,	/* could not start: try again */
	AGENT_EXIT_CONF = 3,	/* storm.conf is refused: no use to hurry */
	AGENT_EXIT_BUSY = 4,	/* the port or the socket is another's */
};

/*
 * In slurmd: start the thread that runs and watches the agent of this node.
 * SLURM_SUCCESS or SLURM_ERROR.  agent_watch_stop() ends the thread, not the
 * agent: it stays for a while to be adopted by the next slurmd.
 */
int agent_watch_start(void);
void agent_watch_stop(void);

#endif
