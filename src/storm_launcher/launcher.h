/*
 * launcher.h - the launcher of a node: it starts the tasks of each run that the head
 * sends to this node, and reports how they end.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_LAUNCHER_H
#define STORM_LAUNCHER_H

#include "src/libstorm/storm.h"

/* The line that a launcher prints when it listens, and the keeper reads. */
#define LAUNCHER_READY "storm-launcher"

/* Serve until the domain is over.  socket: the clients' path on the keeper's host; call:
 * where that waits for a head that is on another host, or 0.  The exit status. */
int launcher_serve(const char *socket, uint16_t port, uint16_t call);

#endif
