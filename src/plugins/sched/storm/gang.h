/*
 * gang.h - gang scheduling in slurmctld: a thread that looks at the running jobs,
 * keeps a matrix for each zone, and hands a map to the strober when it changes.
 *
 *	snapshot.c	what slurmctld knows, and is told, under its locks
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
#include <stdint.h>

#include "src/common/storm_conf.h"
#include "src/libstorm/storm.h"

/* ------------------------------------------------------------- snapshots --- */

struct snapshot_zone {
	uint64_t quantum;
	uint32_t columns;		/* cores of its nodes */
	uint32_t level;			/* jobs that may share a core: of all its
					   partitions together */
	struct storm_idset nodes;	/* numbers in the domain */
	char *partitions;		/* names, for messages */
};

struct snapshot_node {
	char *name;
	uint32_t zone;
	uint32_t column;		/* its first core's */
	uint32_t cores;
};

struct snapshot_job {
	uint32_t job_id;
	uint64_t gang;			/* the jobs of a heterogeneous one are
					   one gang */
	uint32_t zone;
	struct storm_idset columns;	/* of the zone */
	struct storm_idset nodes;	/* of the domain */
};

struct snapshot {
	struct snapshot_zone *zones;
	uint32_t nzones;
	struct snapshot_node *nodes;	/* by their number in the domain */
	uint32_t nnodes;
	struct snapshot_job *jobs;	/* that run and share by turns; ascending */
	uint32_t njobs;
};

/* Takes slurmctld's read locks for a moment.  False: no memory, *out is empty. */
bool snapshot_take(const struct storm_gang_conf *conf, struct snapshot *out);
void snapshot_clear(struct snapshot *s);
/* Have they the same nodes, in the same order? */
bool snapshot_same_nodes(const struct snapshot *a, const struct snapshot *b);
bool snapshot_same_quanta(const struct snapshot *a, const struct snapshot *b);
/* Have they the same nodes, zones and cores? */
bool snapshot_same_layout(const struct snapshot *a, const struct snapshot *b);

/* ------------------------------------------------------------ the thread --- */

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
