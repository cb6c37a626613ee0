/*
 * child.h - what a node, or the owner, knows of one of its tree children.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHILD_H
#define STORM_CHILD_H

#include "src/libstorm/base/detector.h"
#include "src/libstorm/wire/reports.h"
#include "src/libstorm/wire/status.h"

struct storm_child {
	uint32_t node;
	bool heard;   /* in this place of the tree */
	bool invited; /* OPEN was sent to it */
	bool silent;  /* was asked, and did not answer */
	uint64_t last_heard;
	/* States of the owner's that were sent to it, as long as none of its
	 * own answers shows that one has arrived. */
	uint32_t told;
	uint32_t told_more; /* of these, since it was heard last */
	uint64_t told_at;   /* when the first of them was sent */
	struct storm_detector detector;
	struct storm_status status; /* its latest */
	struct storm_report_rx rx;
	uint8_t complete; /* kinds that its subtree has reported whole */
};

/* Replace the list *child by the children of node (STORM_NO_NODE: the owner) in
 * the tree as it is now.  Those that stay keep what must outlast a change of
 * the tree.  STORM_OK, or STORM_ENOMEM with the list unchanged. */
int storm_children_update(struct storm_child **child, uint32_t *count,
			  const struct storm_tree *t, uint32_t node,
			  uint64_t now);
void storm_children_free(struct storm_child *child, uint32_t count);
/* Take a STATUS that the child has sent, in a domain of count nodes.  1: taken;
 * 0: older than the one that is known; -1: malformed. */
int storm_child_hear(struct storm_child *c, const uint8_t *body, size_t len,
		     uint32_t count);
/* The child was heard at `now`, whatever it has sent. */
void storm_child_alive(struct storm_child *c, uint64_t dead_timeout,
		       uint64_t heartbeat, uint64_t now);
/* Mark the child if it is overdue.  Returns when to look again, or
 * STORM_NEVER. */
uint64_t storm_child_check(struct storm_child *c, uint64_t dead_timeout,
			   uint64_t heartbeat, uint64_t now);
/* The children are asked once more.  asked: when they were asked before (0:
 * never).  A child that has sent nothing since then is silent from now on. */
void storm_children_asked(struct storm_child *child, uint32_t count,
			  uint64_t asked);
/* A state of the owner's is sent to the child, which has taken the OPEN. */
void storm_child_told(struct storm_child *c, uint64_t now);
/* How long, in ns, a child that could not be reached shortly before has to
 * answer. */
#define STORM_CHILD_KNOWN (100 * STORM_MS)
/*
 * The child has taken the OPEN, by TCP: do datagrams pass, too?  If not, an
 * errno for STORM_ELOST: ECOMM if its own do not come, ENOLINK if none reach
 * it.  0: no verdict; look again at *next, which may be STORM_NEVER.  known:
 * they did not pass shortly before, so that less evidence is enough.
 */
int storm_child_cut(const struct storm_child *c, bool known, uint64_t now,
		    uint64_t *next);
/* A child has refused an OPEN because it does not believe the address of a node
 * near it; which: as storm_refusal_unpack() yields it.  Returns that node's
 * number plus 1, or 0. */
int storm_child_disbelieves(const struct storm_tree *t, uint32_t child,
			    int which);
/* The child with this number; NULL: there is none. */
struct storm_child *storm_child_find(struct storm_child *child, uint32_t count,
				     uint32_t node);

#endif
