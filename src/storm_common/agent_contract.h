/*
 * agent_contract.h - what slurmd's plugin and the agent agree on, beside the
 * messages of the local socket (local.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_CONTRACT_H
#define STORM_AGENT_CONTRACT_H

#include "child_watch.h"
#include "storm_config.h"

/* An agent of another build is replaced, not adopted. */
#define AGENT_BUILD STORM_VERSION " for Slurm " STORM_SLURM_REVISION

/* With --sockets: the agent's port, bound by slurmd (udp_port.h). */
#define AGENT_SOCKET_UDP 3
#define AGENT_SOCKET_TCP 4

/* The agent's exit status; slurmd starts another agent after each. */
enum agent_exit {
	AGENT_EXIT_FAILED = CHILD_EXIT_FAILED, /* could not start: retry soon */
	AGENT_EXIT_CONF =
		CHILD_EXIT_CONF, /* storm.conf is invalid, or this is another
				  Slurm: retry in a minute */
	AGENT_EXIT_BUSY = 4,	 /* the port or the socket is in use */
};

#endif
