/*
 * gang.h - gang scheduling in slurmctld: a thread that reads the running jobs,
 * keeps a matrix for each zone, and sends the strober each new map.
 *
 *	snapshot_take.c	copies what slurmctld knows, under its locks
 *	snapshot.c	compares two snapshots
 *	plan.c		turns snapshots into matrices, and matrices into maps
 *	shares.c	accounts for each job's time
 *	comments.c	writes the accounts where users read them
 *	gang.c		the thread
 *	matrix.c	which jobs run together, and in which row
 *	matrix_settle.c	packs them into few rows and fills idle columns
 *	failed.c	does what is to be done about nodes that have failed
 *	failed_rules.c	... decides what that is
 *	failed_steps.c	... tells their jobs, and gives up what runs there
 *	strober_watch.c	runs the strober, slurmctld's child
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_GANG_H
#define STORM_GANG_H

#include <stdbool.h>

#include "src/storm_common/storm_conf.h"

/* Start the thread and the strober.  *conf is copied.  The new thread calls
 * up() once, when it begins.  Returns SLURM_SUCCESS or SLURM_ERROR; errors are
 * logged. */
int gang_start(const struct storm_gang_conf *conf, void (*up)(void));
/* Stop both, and wait for their ends.  Does nothing if they were not
 * started. */
void gang_stop(void);
/* Use the new settings, which are copied.  Once nodes and partitions are
 * complete, the thread logs what is wrong with storm.conf and slurm.conf. */
void gang_reconfig(const struct storm_gang_conf *conf, bool strober);

#endif
