/*
 * snapshot.h - what gang scheduling knows of slurmctld at one time: gang
 * partitions as zones, their nodes, and the jobs there that take turns.  Memory is
 * Slurm's.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SNAPSHOT_H
#define STORM_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "src/storm_common/storm_conf.h"
#include "src/libstorm/storm.h"

struct snapshot_zone {
	uint64_t quantum;
	uint32_t columns;		/* cores of its nodes */
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

/* snapshot_take.c: takes slurmctld's read locks for a moment.  False: no memory,
 * *out is empty. */
bool snapshot_take(const struct storm_gang_conf *conf, struct snapshot *out);

/* snapshot.c */
bool snapshot_same_set(const struct storm_idset *a,
		       const struct storm_idset *b);
void snapshot_clear(struct snapshot *s);
/* Have they the same nodes, in the same order? */
bool snapshot_same_nodes(const struct snapshot *a, const struct snapshot *b);
bool snapshot_same_quanta(const struct snapshot *a, const struct snapshot *b);
/* Have they the same nodes, zones and cores? */
bool snapshot_same_layout(const struct snapshot *a, const struct snapshot *b);

#endif
