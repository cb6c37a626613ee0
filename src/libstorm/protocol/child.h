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
	/* so many states of the owner's went to it, the first one then, and no
	 * answer of its own shows that one arrived */
	uint32_t told;
	uint32_t told_more; /* since it was heard last */
	uint64_t told_at;
	struct storm_detector detector;
	struct storm_status status; /* its latest */
	struct storm_report_rx rx;
	uint8_t complete; /* kinds that its subtree has reported whole */
};

/* The children of node (STORM_NO_NODE: the owner) in the tree as it is now;
 * what is known of those that stay is kept, the old list is freed. */
int storm_children_update(struct storm_child **child, uint32_t *count,
			  const struct storm_tree *t, uint32_t node,
			  uint64_t now);
void storm_children_free(struct storm_child *child, uint32_t count);
/* It sent a STATUS, in a domain of count nodes.  1: taken; 0: older than what is
 * known; -1: malformed. */
int storm_child_hear(struct storm_child *c, const uint8_t *body, size_t len,
		     uint32_t count);
/* Something came from it. */
void storm_child_alive(struct storm_child *c, uint64_t dead_timeout,
		       uint64_t heartbeat, uint64_t now);
/* Mark it if it is overdue; returns when to look again, or STORM_NEVER. */
uint64_t storm_child_check(struct storm_child *c, uint64_t dead_timeout,
			   uint64_t heartbeat, uint64_t now);
/* They are asked now, and were last asked at asked: a child that has not sent
 * anything since then is silent. */
void storm_children_asked(struct storm_child *child, uint32_t count,
			  uint64_t asked);
/* It has taken the OPEN, and a state of the owner's is sent to it. */
void storm_child_told(struct storm_child *c, uint64_t now);
/* A child that could not be reached shortly before has so long to answer. */
#define STORM_CHILD_KNOWN (100 * STORM_MS)
/*
 * It has taken the OPEN, by TCP, and datagrams do not pass: an errno for
 * STORM_ELOST.  ECOMM: its own do not come; ENOLINK: none reach it.  0: no
 * verdict, look again at *next, or STORM_NEVER.  known: so it was shortly before,
 * and less is enough.
 */
int storm_child_cut(const struct storm_child *c, bool known, uint64_t now,
		    uint64_t *next);
/* A child has refused an OPEN because of the address of one of those near it
 * (storm_refusal_unpack()): that node's number plus 1, or 0. */
int storm_child_disbelieves(const struct storm_tree *t, uint32_t child,
			    int which);
struct storm_child *storm_child_find(struct storm_child *child, uint32_t count,
				     uint32_t node);

#endif
