/*
 * launcher.h - the launcher of a node: it starts the tasks of each run that the head
 * sends to this node, and reports how they end.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_LAUNCHER_H
#define STORM_LAUNCHER_H

#include "src/libstorm/storm.h"

/* The line that a launcher prints when it listens, and the head reads. */
#define LAUNCHER_READY "storm-launcher"

/* Serve until the domain is over.  socket: of the head, if this is its host.  The
 * exit status. */
int launcher_serve(const char *socket, uint16_t port);

#endif
