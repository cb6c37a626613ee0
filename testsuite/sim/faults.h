/*
 * faults.h - what will go wrong in a schedule, and when: made from a seed,
 * done to the simulator in its time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef FAULTS_H
#define FAULTS_H

#include "src/libstorm/base/chance.h"
#include "src/storm_sim/engine/sim.h"
#include "src/storm_sim/history.h"

enum fault_kind {
	FAULT_LOSS,  /* ppm, from now on */
	FAULT_BURST, /* for ns nothing gets to node */
	FAULT_PAUSE, /* node (or the owner) does not run for ns */
	FAULT_CUT,   /* nothing gets from these to those, for ns */
	FAULT_SLOW,  /* node's disk takes ns longer */
	FAULT_DISK,  /* node's disk fails with sys */
	FAULT_CRASH,
	FAULT_RESTART, /* ... and it remembers nothing */
	FAULT_FORGE,   /* strangers send count datagrams */
	FAULT_OWNER_CRASH,
	FAULT_SUCCEED, /* a new owner takes over from any other */
	FAULT_KINDS
};

struct fault {
	uint64_t at; /* ns after the beginning */
	enum fault_kind kind;
	uint32_t node;
	uint64_t ns;
	uint32_t ppm, count;
	int sys;
	struct storm_idset from, to;
	bool disturbs;	   /* the node that is hit may be named for it */
	bool disturbs_all; /* ... and nodes that depend on it */
};

struct faults {
	struct fault *f; /* by time */
	uint32_t count, room, next;
	bool forever; /* a loss that does not end */
};

/* For a domain of so many nodes, within ns, as that configuration bears it;
 * sets what of the network is bad all the time. */
void faults_make(struct faults *f, uint64_t *c, struct storm_sim_conf *conf,
		 uint64_t ns);
void faults_add(struct faults *f, const struct fault *one);
void faults_free(struct faults *f);
/* When the next one is due, in ns after the beginning; NEVER. */
uint64_t faults_due(const struct faults *f);
/* Apply a fault and record it. SUCCEED is only recorded: the owner's caller
 * applies it. */
void faults_do(struct faults *f, struct storm_sim *sim, struct history *h);
void faults_print(const struct faults *f);

#endif
