/*
 * recorder.h - records the history of a simulation: after each turn of an
 * endpoint it records what has changed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef RECORDER_H
#define RECORDER_H

#include "history.h"
#include "src/storm_sim/engine/sim.h"

/* Places of the history.  A file is not a place: it is never read. */
#define RECORDER_SEGMENTS 3
#define RECORDER_SEGMENT_LEN 24000 /* the last one's; see recorder.c */
enum {
	PLACE_GLOBAL = 0,
	PLACE_SEGMENT = PLACE_GLOBAL + STORM_GLOBALS,
	PLACE_OWN = PLACE_SEGMENT + RECORDER_SEGMENTS,
	PLACES = PLACE_OWN + STORM_VARS
};

struct recorder_conf {
	bool segments; /* nodes have segments */
	/* The kinds of reports.  Node n reports the ids from n * each to
	 * (n + 1) * each - 1.  kinds * each is at most 64. */
	uint8_t kind, kinds;
	uint32_t each;
	/* Called when a node is signalled an operation's event.  NULL: none. */
	void (*signalled)(void *arg, uint32_t node, uint32_t op);
	void *arg;
};

/* The first member of an operation's token. */
struct recorder_token {
	uint32_t op;
};

struct recorder_op { /* an operation and its data */
	const uint8_t *data;
	uint64_t size;
	uint64_t number; /* the owner's, once it has begun */
	char path[32];	 /* of a file */
	bool committed;
};

struct recorder_node {
	uint32_t files, events; /* seen so far */
	uint64_t global[STORM_GLOBALS];
	uint32_t writer[PLACE_OWN]; /* the operation shown there last */
	uint64_t segment[RECORDER_SEGMENTS]; /* samples */
	uint8_t *memory[RECORDER_SEGMENTS];
	uint64_t op; /* its number, and its phase */
	uint8_t phase;
	uint32_t epoch;
	uint64_t reported, acked; /* one bit per kind and id */
	uint64_t taken;		  /* datagrams accepted before this turn */
	bool member;		  /* in its own view */
	bool out;		  /* excluded, in the owner's view */
	bool lost;		  /* it was excluded at some time */
	bool broken;		  /* by a fault */
};

struct recorder {
	struct storm_sim *sim;
	struct recorder_conf conf;
	struct history h;
	struct recorder_node *node;
	struct recorder_op *op; /* by op - 1 */
	uint32_t op_room;
	bool cluster;
	uint64_t turns;	 /* of all endpoints */
	uint32_t epoch;	 /* of the last change of members */
	uint64_t window; /* most bytes in flight */
	struct recorder_owner {
		bool opened;
		uint64_t decided;	   /* its last */
		uint64_t sending, written; /* operation, bytes written */
		uint64_t taken;
	} owner[STORM_SIM_OWNERS]; /* one after the other */
};

/* Watch the simulation from now on. */
void recorder_init(struct recorder *r, struct storm_sim *sim,
		   const struct recorder_conf *conf);
void recorder_free(struct recorder *r);
void recorder_add(struct recorder *r, struct history_entry e);
#define RECORD(r, ...) recorder_add(r, (struct history_entry) { __VA_ARGS__ })
/* The number of the next operation, also the number of its remote event.  Call
 * it before issuing the operation.  data must stay valid and unchanged. */
uint32_t recorder_op(struct recorder *r, const struct history_op *o,
		     const struct recorder_op *data);
/* The node has reported these ids; the owner has received them. */
void recorder_reported(struct recorder *r, uint32_t node, uint8_t kind,
		       uint32_t id);
void recorder_heard(struct recorder *r, const struct storm_report *rep);
/* Register the segments of a restarted node again, empty. */
void recorder_restarted(struct recorder *r, uint32_t node);
/* Record what the owners have decided.  Call this before a result is
 * recorded. */
void recorder_owner(struct recorder *r);
/* Read a place at a node, and record it. */
uint64_t recorder_read(struct recorder *r, uint32_t node, uint32_t place);
/* Is the node a member in its own view? */
bool recorder_member(const struct recorder *r, uint32_t node);
size_t recorder_segment_len(uint32_t segment);
/* Is the node excluded, or are all its reports acknowledged? */
bool recorder_settled(const struct recorder *r, uint32_t node);
/* Has no node a session or a temporary file? */
bool recorder_closed(const struct recorder *r);
/* The end: record what nodes have kept, and the figures of the whole run. */
void recorder_end(struct recorder *r);

#endif
