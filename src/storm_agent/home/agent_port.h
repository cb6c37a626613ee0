/*
 * agent_port.h - slurmd keeps the sockets of the agent's port open, so that no
 * user can take the port while no agent runs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_PORT_H
#define STORM_AGENT_PORT_H

#include <stdbool.h>

/* Before an agent starts: get the port of storm.conf, unless slurmd has it.
 * False: another process has it, which is logged once. */
bool agent_port_take(const char *node);
/* The UDP and the TCP socket, for a child; -1: none. */
void agent_port_sockets(int out[static 2]);
/* No agent reads the sockets any more. */
void agent_port_rest(void);
/* Ask a living agent for its sockets, unless slurmd has some.  sock: its local
 * socket, which blocks.  Without them slurmd takes the port later. */
void agent_port_adopt(int sock);
/* slurmd ends; a living agent has its own descriptors. */
void agent_port_close(void);

#endif
