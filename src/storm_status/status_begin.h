/*
 * status_begin.h - how a program begins that asks the agents: Slurm, storm.conf, nodes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STATUS_BEGIN_H
#define STORM_STATUS_BEGIN_H

#include "status_ask.h"

/* Fill in both; list: nodes, or NULL for all.  False: it is not possible, which was
 * said, and nothing is to be cleared. */
bool status_begin(const char *list, struct storm_conf *conf,
		  struct status_nodes *nodes);

/* Say why status_ask() has failed. */
void status_say(int err);

#endif
