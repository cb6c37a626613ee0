/*
 * status.h - what a subtree says of itself.  A STATUS is cumulative: the
 * latest one replaces all before, so losing one loses nothing but time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STATUS_H
#define STORM_STATUS_H

#include "cast.h"
#include "src/libstorm/base/tree.h"

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
#define STORM_STATUS_LACKS 0x8		/* some node has not heard of op */
#define STORM_STATUS_COMMITTED 0x10	/* somebody took COMMIT for last */
#define STORM_STATUS_JOIN 0x20		/* from outside: let me in */
#define STORM_STATUS_SILENT 0x40	/* who is late does not even answer */
#define STORM_STATUS_FLAGS 0x7f

#define STORM_FAULTS_KEPT 32
#define STORM_BEHIND_KEPT 32		/* ranges */
#define STORM_OVERDUE_KEPT 8

/* What the owner's state asks for, here and now. */
struct storm_asked {
	uint64_t op, floor;
	uint8_t phase;
	uint64_t cmp;
	const struct storm_idset *p, *cmp_p;	/* of these; empty: of all */
};

/*
 * Two claims, each of the subtree's nodes that are asked, all but a set: that
 * they have come this far in an operation, that they have answered a
 * comparison.  Who is in the set may have done so, too: it grows where
 * something is not known.
 */
struct storm_status {
	uint64_t version;
	uint64_t last;			/* highest op that anybody knows */
	uint64_t op, floor;		/* all but those behind: op, floor and */
	uint8_t phase;			/* phase are reached; minimum */
	uint8_t flags;
	uint64_t progress;		/* bytes written, minimum of all */
	uint64_t cmp;			/* answered by all but some */
	bool cmp_false;			/* ... and somebody said no */
	uint32_t mtu;			/* minimum */
	uint64_t seen;			/* version of the owner's state: the
					   node's own, not its subtree's */
	uint64_t repaired, lost;	/* chunks: sum, maximum */
	struct storm_idset behind;	/* of the operation */
	struct storm_idset unanswered;	/* of the comparison */
	struct storm_idset fresh;	/* remember nothing of the domain */
	struct storm_idset overdue;	/* silent, see detector.h; not all, if they
					   are many */
	struct storm_fault faults[STORM_FAULTS_KEPT];
	uint32_t nfaults, faults_total;
};

void storm_status_free(struct storm_status *s);	/* and zeroes it */
/* Takes at most max bytes; faults that do not fit are left out, ranges are
 * joined with what is between them. */
size_t storm_status_pack(const struct storm_status *s, uint8_t *buf,
			 size_t max);
int storm_status_unpack(struct storm_status *s, const uint8_t *buf,
			size_t len, uint32_t count);
/* What c asks for where op is the last operation heard of; points into c. */
void storm_asked_of(struct storm_asked *a, const struct storm_cast *c,
		    uint64_t op);
/* Nothing is said yet: of nobody, for what is asked. */
void storm_status_init(struct storm_status *s, const struct storm_asked *a,
		       uint32_t mtu);
/* into: the parent's own so far, for what is asked.  child: what is known of
 * that child's subtree, NULL: nothing. */
void storm_status_merge(struct storm_status *into,
			const struct storm_asked *a,
			const struct storm_tree *t, uint32_t node,
			const struct storm_status *child);
/* node's parent is silent, and node's own word is at hand: into, which has the
 * silent one's subtree as late, claims what node's does. */
void storm_status_merge_round(struct storm_status *into,
			      const struct storm_asked *a,
			      const struct storm_tree *t, uint32_t node,
			      const struct storm_status *own);
void storm_status_fault(struct storm_status *s, uint32_t node,
			enum storm_err why, int sys);
/* Is the node lost to the domain (or was it never in), or did just an
 * operation fail there? */
bool storm_fault_of_session(enum storm_err why);
/* Is there news that a parent waits for (not mere progress)?  A claim is told
 * once it is whole, unless somebody asks. */
bool storm_status_news(const struct storm_status *was,
		       const struct storm_status *is);
/* Are less nodes named than were, in either set? */
bool storm_status_caught_up(const struct storm_status *was,
			    const struct storm_status *is);

#endif
