/*
 * history.h - the events of a simulation in their order: operations issued and
 * their results, the owners' decisions, the faults, and what every node showed,
 * read and was signalled.  The program that runs the simulation records them;
 * oracle.c and linear.c check them.
 *
 * A *place* is anything that can be read at a node: a variable, a word of a
 * segment, a file.  Places are numbers below history->places, and hold 64-bit
 * values; the value of bulk data is a digest.  The value at a node identifies
 * the operation that wrote it.  If several operations write the same value to a
 * place, only those that change the place are shown.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef HISTORY_H
#define HISTORY_H

#include "src/libstorm/storm.h"

enum history_kind {
	/* the initiator */
	HISTORY_ISSUED,	   /* op, peer: which owner's, from 0 */
	HISTORY_NAMED,	   /* node; op: in its outcome, 0: on_fault */
	HISTORY_FORGOTTEN, /* op: event destroyed, no result */
	HISTORY_RESULT,	   /* op, what: enum storm_state, or with compare
				   HISTORY_TRUE and so on; after its NAMED */
	/* the owner */
	HISTORY_DECIDED, /* op, epoch, number, what: storm_decision;
				   peer: which owner */
	HISTORY_BEHIND,	 /* node, op: the decision that follows is not for it */
	HISTORY_EXCLUDED, /* node, epoch */
	HISTORY_JOINED,	  /* node, epoch: its variables are empty */
	HISTORY_LOST,	  /* peer: that owner has lost its domain, or may
				   have: there is a successor */
	HISTORY_HEARD,	  /* value: a report's id */
	/* nodes */
	HISTORY_EPOCH,	  /* node, epoch: it is in this one now */
	HISTORY_LEFT,	  /* node: knows its exclusion, is empty */
	HISTORY_STAGED,	  /* node, op */
	HISTORY_SHOWN,	  /* node, op, value: can be read from now on;
				   op 0: data that were never sent */
	HISTORY_READ,	  /* node, place, value */
	HISTORY_EVENT,	  /* node, op, value: as read at that moment;
				   op 0, as above */
	HISTORY_OWN,	  /* node, place, value: own variable is raised */
	HISTORY_REPORTED, /* node, value: an id */
	HISTORY_ACKED,	  /* node, value: an id */
	/* messages */
	HISTORY_ACCEPTED, /* node accepted one of peer in epoch; node
				   may be STORM_NO_NODE: the owner */
	HISTORY_COST,	  /* node or the owner sent value datagrams for
				   one operation */
	HISTORY_WINDOW,	  /* value: bytes sent, not yet written by all */
	HISTORY_KEPT,	  /* node, what: at the end it still has this */
	HISTORY_FORGED,	  /* node got a forged datagram, and sent value
				   bytes in reply */
	/* faults */
	HISTORY_DISTURBED, /* node: it may be named from now on */
	HISTORY_BROKEN,	   /* node: it must be named */
	HISTORY_RESTARTED, /* node: its memory is empty */
	HISTORY_CALM	   /* no more faults from now on */
};

/* What a node must not keep. */
enum { HISTORY_SESSION, HISTORY_TEMPORARY };

/* Results of a comparison, beside enum storm_state. */
enum { HISTORY_TRUE = 10, HISTORY_FALSE, HISTORY_FAILED };

struct history_entry {
	uint64_t at; /* ns */
	enum history_kind kind;
	uint32_t node, peer;
	uint32_t op; /* from 1, as history_op() gave it */
	uint32_t epoch;
	uint64_t number; /* the owner's, of the operation */
	uint32_t place;
	uint64_t value;
	int what;
};

struct history_op {
	bool compare;
	bool own;	       /* compare of an own variable: unordered */
	struct storm_idset to; /* P; empty: all nodes */
	bool writes, event;
	bool each;	 /* not all of P need show it together */
	uint64_t others; /* ns, for P's nodes that are not disturbed; 0: any */
	uint32_t place;	 /* written on P */
	uint64_t value;
	uint32_t place_r; /* compared */
	enum storm_relation rel;
	uint64_t operand;
};

struct history {
	uint32_t nodes, places, ids; /* ids of reports are below `ids` */
	struct history_op *op;
	uint32_t ops, op_room;
	struct history_entry *e;
	size_t count, room;
};

void history_init(struct history *h, uint32_t nodes, uint32_t places,
		  uint32_t ids);
void history_free(struct history *h);
/* Add an operation; takes o and its set.  Returns its number in entries. */
uint32_t history_op(struct history *h, const struct history_op *o);
void history_add(struct history *h, struct history_entry e);
/* Is this node in the operation's P? */
bool history_in(const struct history_op *o, uint32_t node);
bool history_holds(enum storm_relation rel, uint64_t a, uint64_t b);
/* Print the last entries on stderr. */
void history_print(const struct history *h, size_t last);

#endif
