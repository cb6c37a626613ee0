/*
 * launch_gone.h - a node whose agent has taken a launch while its slurmd is gone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_LAUNCH_GONE_H
#define STORM_LAUNCH_GONE_H

#include "bcast.h"
#include "session.h"

/* An agent has waited in vain for its slurmd, and so would Slurm's own message.  With
 * FailedLaunch=retry or fail nobody waits again: ask these slurmds, for 1 s at most.
 * Those that do not answer leave `again`, and *list gets an error for each. */
void launch_gone(struct storm_session *s, struct hostlist *again, list_t *list);

#endif
