/*
 * top_live.h - two threads that ask again and again: one the agents, one slurmctld, as
 * either may take long to answer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_TOP_LIVE_H
#define STORM_TOP_LIVE_H

#include "top_ask.h"

struct top_live;

/* NULL: it is not possible, and errno says why. */
struct top_live *top_live_start(struct top_known *k, double delay);
/* A descriptor that can be read when there is something new; the read is the caller's. */
int top_live_fd(const struct top_live *l);
/* False: a thread still waits for an answer.  It uses k, and so the process is to end. */
bool top_live_stop(struct top_live *l);

#endif
