/*
 * snapshot.h - a copy of what gang scheduling needs from slurmctld: the gang
 * partitions as zones, their nodes, and the jobs that may take turns there.
 * Memory is allocated by Slurm's xmalloc().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SNAPSHOT_H
#define STORM_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libstorm/storm.h"
#include "src/storm_common/storm_conf.h"

/* A resumed job takes turns after so many s, or a fraction of a second less. */
#define SNAPSHOT_RESUME 2

struct snapshot_zone {
	uint64_t quantum; /* ns */
	enum gang_policy policy;
	uint32_t columns;	  /* cores of its nodes */
	struct storm_idset nodes; /* numbers in the domain */
	char *partitions;	  /* names, for messages */
};

/* The zone of a node on which no jobs share. */
#define SNAPSHOT_NO_ZONE UINT32_MAX

struct snapshot_node {
	char *name;
	char *place; /* where slurmctld finds it: an address or a host's name */
	uint16_t port;	 /* of its slurmd */
	uint32_t zone;	 /* or SNAPSHOT_NO_ZONE */
	uint32_t column; /* of its first core */
	uint32_t cores;
};

struct snapshot_job {
	uint32_t job_id;
	uint64_t gang; /* the components of a heterogeneous job share it */
	uint32_t zone;
	uint32_t weight;	    /* of its turns: matrix.h */
	bool held;		    /* it gets no turns */
	bool by_admin;		    /* an administrator holds it */
	struct storm_idset columns; /* of the zone */
	struct storm_idset nodes;   /* of the domain */
};

struct snapshot {
	struct snapshot_zone *zones;
	uint32_t nzones;
	struct snapshot_node *nodes; /* by their number in the domain */
	uint32_t nnodes;
	struct snapshot_job *jobs; /* running; ascending by id */
	uint32_t njobs;
};

/* Copy what slurmctld knows now.  Takes its read locks for a moment
 * (snapshot_take.c).  The caller frees *out with snapshot_clear().  False: out
 * of memory, and *out is empty. */
bool snapshot_take(const struct storm_gang_conf *conf, struct snapshot *out);

/* snapshot.c */
bool snapshot_same_set(const struct storm_idset *a,
		       const struct storm_idset *b);
void snapshot_clear(struct snapshot *s);
/* Do both have the same nodes, in the same order and places, and do the same ones share? */
bool snapshot_same_nodes(const struct snapshot *a, const struct snapshot *b);
bool snapshot_same_quanta(const struct snapshot *a, const struct snapshot *b);
/* Do both have the same nodes, zones, policies and cores? */
bool snapshot_same_layout(const struct snapshot *a, const struct snapshot *b);

#endif
