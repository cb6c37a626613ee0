/*
 * gang_map.h - what the strober (slurmctld's child) and the node agents say to
 * each other: the map, which says when each job runs, and the strobe, which
 * says what time it is (architecture: Flows, "Strobe").  Both travel in the
 * cluster domain: the map by XFER-AND-SIGNAL to memory, the strobe by
 * storm_strobe().
 *
 * A *zone* is a set of nodes that share a cycle of rows (time slots): the nodes
 * of gang partitions that overlap.  Zones are disjoint, and each has a quantum
 * of its own.  A job runs in its rows, and on its nodes it stands still in all
 * others.  A job that is not in the map is not ours to touch.
 *
 * No Slurm header.  Errors are enum storm_err.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_GANG_MAP_H
#define STORM_GANG_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libstorm/base/clock.h"
#include "src/libstorm/storm.h"

/* The remote event of a map; not one of step_protocol.h's. */
#define GANG_EVENT_MAP 2
/* A node's own variable: strobes that it has missed, since its agent began. */
#define GANG_VAR_MISSED STORM_VAR_USER

/* The number of the cluster domain, from slurm.conf's ClusterName: the same for
 * all controllers of the cluster, and for its agents to recognize.  Never 0. */
uint64_t gang_cluster_number(const char *name);

#define GANG_ZONES_MAX 1024
#define GANG_ROWS_MAX 256
#define GANG_JOBS_MAX 1000000
#define GANG_MAP_BYTES_MAX (16u << 20)	/* what a node takes in one transfer */
#define GANG_QUANTUM_MIN (100 * STORM_US)
#define GANG_QUANTUM_MAX (600 * STORM_SEC)
/* So late for a strobe, who sends it or who hears it, is only who was kept from
 * running; what it knows is old then. */
#define GANG_AWAY (100 * STORM_MS)

struct gang_zone {
	uint32_t rows;			/* at most one: nothing is shared */
	uint64_t quantum;		/* ns */
	struct storm_idset nodes;	/* numbers of the domain */
};

struct gang_job {
	uint32_t job_id;
	uint32_t zone;
	struct storm_idset rows;	/* never empty */
	struct storm_idset nodes;	/* never empty; of the zone */
};

struct gang_map {
	uint64_t version;
	uint32_t nodes;			/* in the domain */
	struct gang_zone *zones;
	uint32_t nzones;
	struct gang_job *jobs;		/* ascending by job_id */
	uint32_t njobs;
};

/* Frees what it holds and leaves it all zeroes. */
void gang_map_clear(struct gang_map *m);

/* Are its numbers within bounds and its sets where they belong?  STORM_OK,
 * STORM_EINVAL or STORM_ENOMEM. */
int gang_map_check(const struct gang_map *m);

/*
 * Into bytes, the same for the same map.  *buf is to be freed with free().
 * STORM_EINVAL: the map is no good; STORM_ETOOBIG; STORM_ENOMEM.
 */
int gang_map_pack(const struct gang_map *m, void **buf, size_t *len);

/* The other way; *out is written on success alone.  STORM_EVERSION: of another
 * format; STORM_EINVAL; STORM_ENOMEM. */
int gang_map_unpack(const void *buf, size_t len, struct gang_map *out);

/* Of the packed bytes: tells two maps of one version apart.  Not a defence: the
 * datagrams are sealed. */
uint64_t gang_map_digest(const void *buf, size_t len);

/* NULL: the map does not know it. */
const struct gang_job *gang_map_job(const struct gang_map *m, uint32_t job_id);

/* The zone of a node, or UINT32_MAX: it is in none. */
uint32_t gang_map_zone(const struct gang_map *m, uint32_t node);

/* ------------------------------------------------------------- strobes --- */

#define GANG_SLOT_ALL UINT32_MAX	/* everything runs */
#define GANG_STROBE_LEN 24

struct gang_strobe {
	uint16_t zone;
	uint32_t slot;		/* the row whose time it is */
	uint64_t version;	/* of the map that is meant, and its digest */
	uint64_t digest;
};

void gang_strobe_pack(const struct gang_strobe *s,
		      uint8_t out[GANG_STROBE_LEN]);
/* STORM_OK, STORM_EVERSION or STORM_EINVAL. */
int gang_strobe_unpack(struct gang_strobe *s, const void *buf, size_t len);

/* After so long without a strobe of its zone a node lets everything run. */
static inline uint64_t gang_silence(uint64_t quantum)
{
	if (quantum < 50 * STORM_MS)
		return 100 * STORM_MS;
	return quantum < STORM_SEC / 2 ? 2 * quantum : STORM_SEC;
}

/* Meanwhile a strobe is said again this often: one that is lost is not felt as
 * silence. */
static inline uint64_t gang_repeat(uint64_t quantum)
{
	return gang_silence(quantum) / 4;
}

#endif
