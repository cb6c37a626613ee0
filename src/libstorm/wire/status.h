/*
 * status.h - STATUS, from a node to its tree parent: how far its subtree is.  A
 * STATUS is cumulative: the latest one replaces all earlier ones, so a lost one
 * costs only time.
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
	STORM_PHASE_STAGED = 2, /* all received and verified, not visible yet */
	STORM_PHASE_ENDED = 3	/* committed or aborted and cleaned up */
};

#define STORM_STATUS_MCAST 0x1	    /* all nodes received a multicast */
#define STORM_STATUS_UNACKED 0x2    /* some report has no ACK yet */
#define STORM_STATUS_NO 0x4	    /* comparison op is false somewhere */
#define STORM_STATUS_LACKS 0x8	    /* some node does not know op */
#define STORM_STATUS_COMMITTED 0x10 /* some node received COMMIT for last */
#define STORM_STATUS_JOIN 0x20	    /* from a non-member: it asks to join */
#define STORM_STATUS_SILENT 0x40    /* nodes in behind do not answer */
#define STORM_STATUS_WAITS 0x80	    /* some node's file waits for its turn */

#define STORM_FAULTS_KEPT 32
#define STORM_BEHIND_KEPT 32 /* ranges */
#define STORM_OVERDUE_KEPT 8

/* What the owner's state currently asks for. */
struct storm_asked {
	uint64_t op, floor;
	uint8_t phase;
	uint64_t cmp;
	const struct storm_idset *p, *cmp_p; /* the nodes asked; empty: all */
	/* All nodes of op; NULL: not known.  Those that are not asked any more have
	 * left. */
	const struct storm_idset *named;
	bool renewed; /* more nodes are asked than before: claims of less than
			 floor are void */
};

/*
 * A STATUS makes two claims about the nodes of a subtree that are asked: they
 * have come this far in an operation, and they have answered a comparison.
 * Each claim excepts a set of nodes, behind and unanswered.  A node in such a
 * set may have done so all the same, because nodes of which nothing is known
 * are added to it.
 */
struct storm_status {
	uint64_t version;
	uint64_t last;	    /* highest op that any node knows */
	uint64_t op, floor; /* reached by all but those in behind */
	uint8_t phase;	    /* least of all but those in behind */
	uint8_t flags;
	uint64_t progress;	       /* bytes written: the least of all */
	uint64_t cmp;		       /* answered by all but unanswered */
	bool cmp_false;		       /* the answer is false at some node */
	uint32_t mtu;		       /* minimum */
	uint64_t seen;		       /* version of the owner's state: the
					   node's own, not its subtree's */
	uint64_t repaired, lost;       /* chunks: sum, maximum */
	struct storm_idset behind;     /* of the operation */
	struct storm_idset unanswered; /* of the comparison */
	struct storm_idset fresh;      /* have no state of the domain */
	struct storm_idset overdue;    /* silent, see detector.h; only some if
					   they are many */
	struct storm_idset gone;       /* lost members (ELOST); only some if
					   they are many */
	struct storm_fault faults[STORM_FAULTS_KEPT];
	uint32_t nfaults, faults_total;
};

void storm_status_free(struct storm_status *s); /* its sets; zeroes *s */
/* Pack s.  Returns the bytes written to buf; 0: max is too small.  Faults that
 * do not fit are left out.  Sets that do not fit lose gaps: neighbouring ranges
 * are joined. */
size_t storm_status_pack(const struct storm_status *s, uint8_t *buf,
			 size_t max);
/* Unpack s; count: nodes in the domain.  STORM_OK: the caller frees s by
 * storm_status_free().  EINVAL: malformed, nothing to free. */
int storm_status_unpack(struct storm_status *s, const uint8_t *buf, size_t len,
			uint32_t count);
/* Set *a to what the state c asks for; op: the last operation that is known
 * here.  a points into c. */
void storm_asked_of(struct storm_asked *a, const struct storm_cast *c,
		    uint64_t op);
/* The neutral element of the merge: a claim about no node, for what is
 * asked. */
void storm_status_init(struct storm_status *s, const struct storm_asked *a,
		       uint32_t mtu);
/* Merge the STATUS of the child `node` into its parent's.  child: the latest
 * one received; NULL: none, so its whole subtree counts as late. */
void storm_status_merge(struct storm_status *into, const struct storm_asked *a,
			const struct storm_tree *t, uint32_t node,
			const struct storm_status *child);
/* The parent of `node` is silent, and node has sent its STATUS, own, to the
 * owner.  into counts the whole subtree of the parent as late: take out what
 * own claims. */
void storm_status_merge_round(struct storm_status *into,
			      const struct storm_asked *a,
			      const struct storm_tree *t, uint32_t node,
			      const struct storm_status *own);
/* Add a fault of a node, unless it has one already.  A lost node without an
 * errno is just one of those gone. */
void storm_status_fault(struct storm_status *s, uint32_t node,
			enum storm_err why, int sys);
/* True: the node is lost to the domain, or never joined it.  False: only an
 * operation failed there. */
bool storm_fault_of_session(enum storm_err why);
/* Is there news that a parent waits for, and not just progress?  A claim is
 * sent once no node is missing from it, unless the parent asks. */
bool storm_status_news(const struct storm_status *was,
		       const struct storm_status *is);
/* Did a node leave one of the sets behind and unanswered?  */
bool storm_status_caught_up(const struct storm_status *was,
			    const struct storm_status *is);

#endif
