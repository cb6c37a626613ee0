/*
 * keeper_link.h - the keeper's connection to the head: a unix socket if the head is on this
 * host.  Else the head calls (call.h), and clients on this host come by a door to it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_KEEPER_LINK_H
#define STORM_KEEPER_LINK_H

#include "run_wire.h"

/* Before launchers start.  socket: where clients of this host look for the head; here: this
 * is a host of the job.  False, and why. */
bool keeper_link_open(const char *socket, bool here, char *why, size_t size);
/* The port on which the head may call; 0: it is on this host. */
uint16_t keeper_link_port(void);

/* Launchers listen: tell the head where, and wait until clients are served.  signals: see
 * keeper_step_wait().  False, and why. */
bool keeper_link_reach(const struct run_step *step, int signals, char *why,
		       size_t size);

/* For poll(2), POLLIN; and after how many ms to serve it anyway, or -1. */
int keeper_link_fd(void);
int keeper_link_patience(void);
/* False: the head has closed the connection; *ended: it has said before that it ends. */
bool keeper_link_serve(bool *ended);
void keeper_link_close(void);

#endif
