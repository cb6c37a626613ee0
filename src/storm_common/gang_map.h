/*
 * gang_map.h - the map and the strobe, which the strober (slurmctld's child)
 * sends the node agents.  The map gives the time slots of each job.  The strobe
 * gives the slot whose time it is (doc/gang-scheduling.md, The strober).  Both
 * use the cluster domain: the map XFER-AND-SIGNAL to memory, the strobe
 * storm_strobe().
 *
 * A *zone* is a set of nodes that share a cycle of rows (time slots): the nodes
 * of gang partitions that overlap.  Zones are disjoint, and each has its own
 * quantum and policy.  A job runs in its rows, and is stopped on its nodes in
 * all others.  A job that is held has no row, so it is stopped in all of them.
 * Agents do not touch a job that is not in the map.
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

#include "gang_policy.h"
#include "src/libstorm/base/units.h"
#include "src/libstorm/storm.h"

/* The remote event of a map; not one of step_protocol.h's. */
#define GANG_EVENT_MAP 2
/* A node's own variable: the strobes that it has missed since its agent
 * started. */
#define GANG_VAR_MISSED STORM_VAR_USER
/* Another own variable: the number of the last strobe after which all steps of
 * held jobs stood on the node, as the kernel says. */
#define GANG_VAR_HELD (STORM_VAR_USER + 1)

/* The number of the cluster domain, from slurm.conf's ClusterName.  All
 * controllers of the cluster have the same, and its agents recognize it.  Never
 * 0. */
uint64_t gang_cluster_number(const char *name);

#define GANG_ZONES_MAX 1024
#define GANG_ROWS_MAX 256
#define GANG_JOBS_MAX 1000000
#define GANG_MAP_BYTES_MAX (16u << 20) /* what a node takes in one transfer */
#define GANG_QUANTUM_MIN (100 * STORM_US)
#define GANG_QUANTUM_MAX (600 * STORM_SEC)
/* In shorter turns nobody yields: who gives way without being stopped first goes on until
 * the kernel's next tick, which takes that from the one in turn. */
#define GANG_YIELD_MIN (50 * STORM_MS)
/* A strober or an agent that is this late for a strobe was kept from running.
 * It must not act on what it knew before. */
#define GANG_AWAY (100 * STORM_MS)

struct gang_zone {
	uint32_t rows;		 /* 0 or 1: no jobs share */
	uint64_t quantum;	 /* ns */
	enum gang_policy policy; /* maybe one of a later version: gang_policy.h */
	struct storm_idset nodes; /* numbers of the domain */
};

struct gang_job {
	uint32_t job_id;
	uint32_t zone;
	struct storm_idset rows;  /* empty: it is held */
	struct storm_idset nodes; /* never empty; of the zone */
};

static inline bool gang_job_held(const struct gang_job *j)
{
	return !j->rows.count;
}

struct gang_map {
	uint64_t version;
	uint32_t nodes; /* in the domain */
	struct gang_zone *zones;
	uint32_t nzones;
	struct gang_job *jobs; /* ascending by job_id */
	uint32_t njobs;
};

/* Free what the map holds, and leave it all zeroes. */
void gang_map_clear(struct gang_map *m);

/* Check bounds and sets.  STORM_OK, STORM_EINVAL or STORM_ENOMEM. */
int gang_map_check(const struct gang_map *m);

/*
 * Pack the map; equal maps give equal bytes.  The caller frees *buf with
 * free().  STORM_OK, STORM_EINVAL (invalid map), STORM_ETOOBIG or STORM_ENOMEM.
 */
int gang_map_pack(const struct gang_map *m, void **buf, size_t *len);

/* Unpack and check a map.  *out is written only on success.  STORM_OK,
 * STORM_EVERSION (another format), STORM_EINVAL or STORM_ENOMEM. */
int gang_map_unpack(const void *buf, size_t len, struct gang_map *out);

/* A digest of the packed bytes that distinguishes maps of one version.  It is
 * no protection against forgery; the datagrams are sealed. */
uint64_t gang_map_digest(const void *buf, size_t len);

/* The job in the map, or NULL. */
const struct gang_job *gang_map_job(const struct gang_map *m, uint32_t job_id);

/* The zone of a node; UINT32_MAX: none. */
uint32_t gang_map_zone(const struct gang_map *m, uint32_t node);

/* ------------------------------------------------------------- strobes --- */

#define GANG_SLOT_ALL UINT32_MAX /* everything runs */
#define GANG_STROBE_LEN 52
#define GANG_LEAD_MAX (10 * STORM_MS)

/* Times are ns of the sender's CLOCK_MONOTONIC.  A node that knows how far its
 * own is from that (clock_offset.h) acts at the agreed time; others act when
 * the strobe comes. */
struct gang_strobe {
	uint16_t zone;
	uint32_t slot;	  /* the row whose time it is */
	uint64_t version; /* of the map that it follows, and its digest */
	uint64_t digest;
	uint64_t sent;	  /* when this strobe was sent */
	uint64_t at;	  /* when the slot begins; 0: at once */
	uint64_t next_at; /* when the next slot begins; 0: none is planned */
	uint32_t next;	  /* the next slot */
};

void gang_strobe_pack(const struct gang_strobe *s,
		      uint8_t out[static GANG_STROBE_LEN]);
/* Unpack a strobe.  STORM_OK, STORM_EVERSION or STORM_EINVAL. */
int gang_strobe_unpack(struct gang_strobe *s, const void *buf, size_t len);

/* How many ns a node waits for a strobe of its zone before it lets everything
 * run. */
static inline uint64_t gang_silence(uint64_t quantum)
{
	if (quantum < 50 * STORM_MS)
		return 100 * STORM_MS;
	return quantum < STORM_SEC / 2 ? 2 * quantum : STORM_SEC;
}

/* After how many ns a strobe is repeated, so that a lost one does not look like
 * silence. */
static inline uint64_t gang_repeat(uint64_t quantum)
{
	return gang_silence(quantum) / 4;
}

#endif
