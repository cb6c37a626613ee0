/*
 * status.h - what a subtree says of itself.  A STATUS is cumulative: the
 * latest one replaces all before, so losing one loses nothing but time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STATUS_H
#define STORM_STATUS_H

#include "tree.h"
#include "wire.h"

/* How far a transfer is at a node; the minimum over a subtree. */
enum storm_phase {
	STORM_PHASE_NONE = 0,
	STORM_PHASE_BEGUN = 1,	/* target open, waiting for data */
	STORM_PHASE_STAGED = 2,	/* all there and verified, not shown */
	STORM_PHASE_ENDED = 3	/* committed or aborted and cleaned up */
};

#define STORM_STATUS_MCAST 0x1		/* all have heard a multicast */
#define STORM_STATUS_UNACKED 0x2	/* some report waits for the owner */
#define STORM_STATUS_NO 0x4		/* op is a comparison: somebody said no */
#define STORM_STATUS_FLAGS 0x7

#define STORM_FAULTS_KEPT 32
#define STORM_MISSING_KEPT 32		/* ranges */

struct storm_status {
	uint64_t version;
	uint64_t op;
	uint8_t phase, flags;
	uint64_t progress;		/* bytes written, minimum */
	uint64_t cmp;			/* comparison answered by all here */
	bool cmp_false;			/* ... and somebody said no */
	uint32_t mtu;			/* minimum */
	uint64_t seen;			/* version of the owner's state: the
					   node's own, not its subtree's */
	uint64_t repaired, lost;	/* chunks: sum, maximum */
	struct storm_idset missing;	/* not heard from */
	struct storm_fault faults[STORM_FAULTS_KEPT];
	uint32_t nfaults, faults_total;
};

void storm_status_free(struct storm_status *s);	/* and zeroes it */
/* Takes at most max bytes; ranges and faults that do not fit are left out. */
size_t storm_status_pack(const struct storm_status *s, uint8_t *buf,
			 size_t max);
int storm_status_unpack(struct storm_status *s, const uint8_t *buf,
			size_t len, uint32_t count);
/* into: the parent's own so far, for operation into->op. */
void storm_status_merge(struct storm_status *into,
			const struct storm_status *child);
/* A child that has not been heard from: everything below it is missing. */
void storm_status_merge_silent(struct storm_status *into,
			       const struct storm_tree *t, uint32_t child);
void storm_status_fault(struct storm_status *s, uint32_t node,
			enum storm_err why, int sys);
/* Is the node lost to the domain (or was it never in), or did just an
 * operation fail there? */
bool storm_fault_of_session(enum storm_err why);
/* Is there news that a parent waits for (not mere progress)? */
bool storm_status_news(const struct storm_status *was,
		       const struct storm_status *is);

#endif
