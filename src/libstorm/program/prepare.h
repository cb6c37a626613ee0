/*
 * prepare.h - initializes OpenSSL early, in a thread, because that takes a
 * millisecond or more.  A command does it while it waits for slurmctld, and its
 * first domain then finds it done.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PREPARE_H
#define STORM_PREPARE_H

/* Start the thread.  If that fails, the first domain does the work itself. */
void storm_prepare(void);
/* Do the work in the calling thread. */
void storm_prepare_here(void);

#endif
