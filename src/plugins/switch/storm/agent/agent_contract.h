/*
 * agent_contract.h - what slurmd's plugin and the agent that it runs have agreed
 * on, beside what they say to each other (local.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_CONTRACT_H
#define STORM_AGENT_CONTRACT_H

#include "storm_config.h"

/* An agent of another build is replaced, not adopted. */
#define AGENT_BUILD STORM_VERSION " for Slurm " SLURM_VERSION_STRING

/* What the agent's exit status means. */
enum agent_exit {
	AGENT_EXIT_FAILED = 1,	/* could not start: try again */
	AGENT_EXIT_CONF = 3,	/* storm.conf is refused: no use to hurry */
	AGENT_EXIT_BUSY = 4,	/* the port or the socket is another's */
};

#endif
