/*
 * agent_port.h - slurmd keeps the sockets of the agent's port open, so that no
 * user can take the port while no agent runs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_PORT_H
#define STORM_AGENT_PORT_H

#include <stdbool.h>

/* Bind the port of storm.conf, unless slurmd has it already.  Before an agent
 * starts.  False: another process has the port, which is logged once. */
bool agent_port_take(const char *node);
/* Set out to the UDP and the TCP socket, for a child; -1: there is none. */
void agent_port_sockets(int out[static 2]);
/* No agent reads the sockets any more: let the host refuse connections. */
void agent_port_rest(void);
/* Ask a living agent for its sockets, unless slurmd has some.  sock: the
 * agent's local socket, which blocks.  If the agent has none, slurmd takes the
 * port later. */
void agent_port_adopt(int sock);
/* Close the sockets, as slurmd ends; a living agent has its own descriptors. */
void agent_port_close(void);

#endif
