/*
 * prepare.h - initialize early, in a thread, what the first domain of a process
 * needs: OpenSSL, a millisecond or more.  A command does that while it waits for
 * slurmctld.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PREPARE_H
#define STORM_PREPARE_H

/* Start.  If no thread can be started the first domain does it itself. */
void storm_prepare(void);
/* The same in this thread. */
void storm_prepare_here(void);
/* Wait for the thread, before this code is unloaded.  The same thread calls
 * both. */
void storm_prepare_end(void);

#endif
