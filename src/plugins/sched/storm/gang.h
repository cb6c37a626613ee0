/*
 * gang.h - gang scheduling in slurmctld: a thread that looks at the running jobs,
 * keeps a matrix for each zone, and hands a map to the strober when it changes.
 *
 *	snapshot_take.c	what slurmctld knows, and is told, under its locks
 *	snapshot.c	what of it has changed
 *	plan.c		snapshots into matrices, matrices into maps
 *	shares.c	what each job has had
 *	comments.c	... and where users read it
 *	gang.c		the thread
 *	matrix.c	which jobs run together: who is there, in which row
 *	matrix_settle.c	... in as few rows as possible, and with no idle columns
 *	strober_watch.c	the child that strobes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_GANG_H
#define STORM_GANG_H

#include <stdbool.h>

#include "src/storm_common/storm_conf.h"

/* SLURM_SUCCESS or SLURM_ERROR.  conf is copied; up() is called once, by the thread,
 * when slurmctld has come up. */
int gang_start(const struct storm_gang_conf *conf, void (*up)(void));
void gang_stop(void);
/* Something has changed: look soon.  Any thread, under any lock. */
void gang_post(void);
/* storm.conf and slurm.conf were read, perhaps anew: the thread says what is wrong
 * with them, when nodes and partitions are complete. */
void gang_reconfig(const struct storm_gang_conf *conf);

#endif
