/*
 * keeper_link.h - the keeper's connection to the head: a unix socket if the head is on this
 * host.  Else the head calls (call.h), and clients on this host come by a door to it: the
 * keeper's, or that of the launcher which is here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_KEEPER_LINK_H
#define STORM_KEEPER_LINK_H

#include "run_wire.h"

/* Where a keeper is: on the head's host; on another one of the job, whose launcher has the
 * door; or on one that has neither. */
enum keeper_place { KEEPER_WITH_HEAD, KEEPER_WITH_LAUNCHER, KEEPER_OUTSIDE };

/* Before launchers start.  socket: where clients of this host look for the head.  False,
 * and why. */
bool keeper_link_open(const char *socket, enum keeper_place place, char *why,
		      size_t size);
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
