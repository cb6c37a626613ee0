/*
 * suspects.h - the nodes with which something is wrong, and when which of them is asked.
 * Findings come from the cluster domain, answers from the witness (witness.h); verdict.h
 * judges.  It uses no clock, lock or socket.
 *
 * Times are ns of CLOCK_MONOTONIC (clock.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SUSPECTS_H
#define STORM_SUSPECTS_H

#include "src/libstorm/storm.h"
#include "verdict.h"

enum suspects_kind {
	SUSPECTS_SILENT,      /* no sign of life */
	SUSPECTS_SLURMD_GONE, /* its agent says so */
	SUSPECTS_HUNG,	      /* its agent is there and does nothing */
	SUSPECTS_CUT,	      /* it sends, and nothing reaches it */
	SUSPECTS_BACK,	      /* signs of life come again */
};

struct suspect {
	struct verdict_case c;
	enum suspects_kind kind; /* of the last finding */
	uint16_t cause;
	uint64_t heard, found;
	uint64_t ask_at;
	bool asking;	/* its round is not over */
	bool stale;	/* that round began before the last finding */
	uint64_t pause; /* ns from the last round to the next one */
	uint16_t asked; /* the cause that the last round has found */
};

/* Initialize it to zeroes. */
struct suspects {
	struct suspect *node;
	uint32_t nodes, count; /* so many are suspects */
	bool changed;
};

/* Begin with so many nodes, with all of which nothing is wrong.  0 or ENOMEM. */
int suspects_begin(struct suspects *s, uint32_t nodes);
void suspects_clear(struct suspects *s);

/* What a fault of the cluster domain tells of its node.  opening: the domain is not open
 * yet, so the node was never heard.  Sets *kind, and *heard as suspects_find() takes it,
 * ns.  False: nothing; one that refuses is there. */
bool suspects_fault(const struct storm_fault *f, bool opening, uint64_t now,
		    enum suspects_kind *kind, uint64_t *heard);

/* Something was found of a node.  heard: when it was last heard; 0: never. */
void suspects_find(struct suspects *s, uint32_t node, enum suspects_kind kind,
		   uint64_t heard, uint64_t now);

/* The next node to ask, whose round begins; or the number of nodes: none is due. */
uint32_t suspects_ask(struct suspects *s, uint64_t now);
/* A port of the node has answered in this round. */
void suspects_answer(struct suspects *s, uint32_t node, bool slurmd,
		     enum verdict_answer answer, uint64_t now);
/* The round is over, perhaps in silence.  void_: it does not count, because this process
 * did not run in time. */
void suspects_round(struct suspects *s, uint32_t node, bool void_,
		    uint64_t now);
/* When to call suspects_ask() or suspects_look() next. */
uint64_t suspects_next(const struct suspects *s);
/* Judge again, as time has passed. */
void suspects_look(struct suspects *s, uint64_t now);

/* Has a state or a cause changed since the last call? */
bool suspects_changed(struct suspects *s);
/* Copy those with which something is wrong to the array, which has room for all nodes.
 * Returns how many. */
uint32_t suspects_get(const struct suspects *s, struct strober_failed *out);

#endif
