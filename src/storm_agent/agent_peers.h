/*
 * agent_peers.h - which addresses an agent believes to be those of nodes.
 *
 * An OPEN names nodes and their addresses, and its owner chooses them.  An
 * agent that believed them would send to whatever host a user names.  So it
 * sends only to the address that slurmctld has signed for a node's name, or
 * that slurm.conf and the name service have; and to the port that storm.conf
 * has.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_PEERS_H
#define STORM_AGENT_PEERS_H

#include "src/libstorm/storm.h"

/* slurmctld has signed that this is the node's address: believe it for a day,
 * or until slurmctld says otherwise.  Only slurmctld knows where cloud and
 * dynamic nodes are. */
void agent_peers_believe(const char *name, const struct storm_addr *addr);

/* Is this the address of the node?  STORM_OK; STORM_EACCES: it is another's, or
 * there is no such node.  agent_peers_look() may wait for a name service.
 * agent_peers_know() never waits, and returns STORM_EBUSY if it does not know.
 * Any thread. */
int agent_peers_look(const char *name, const struct storm_addr *addr);
int agent_peers_know(const char *name, const struct storm_addr *addr);

/* slurm.conf may have changed: look again.  Any thread. */
void agent_peers_doubt(void);
void agent_peers_forget(void); /* at the end: frees all */

#endif
