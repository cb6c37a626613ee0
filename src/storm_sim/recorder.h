/*
 * recorder.h - writes the history of a simulation down: looks at an endpoint
 * after each of its turns, and keeps what has changed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef RECORDER_H
#define RECORDER_H

#include "history.h"
#include "src/libstorm/sim/sim.h"

/* Places of the history.  A file is none: nobody reads it. */
#define RECORDER_SEGMENTS 3
#define RECORDER_SEGMENT_LEN 24000	/* the last one's; see recorder.c */
enum {
	PLACE_GLOBAL = 0,
	PLACE_SEGMENT = PLACE_GLOBAL + STORM_GLOBALS,
	PLACE_OWN = PLACE_SEGMENT + RECORDER_SEGMENTS,
	PLACES = PLACE_OWN + STORM_VARS
};

struct recorder_conf {
	bool segments;		/* nodes have some */
	/* reports of these kinds are made, by node n with ids from n * each to
	 * below (n + 1) * each; kinds * each is at most 64 */
	uint8_t kind, kinds;
	uint32_t each;
	/* NULL, or to be called when a node is signalled an operation's event */
	void (*signalled)(void *arg, uint32_t node, uint32_t op);
	void *arg;
};

/* What an operation's token begins with. */
struct recorder_token { uint32_t op; };

struct recorder_op {		/* what an operation's data look like */
	const uint8_t *data;
	uint64_t size;
	uint64_t number;	/* the owner's, once it has begun */
	char path[32];		/* of a file */
	bool committed;
};

struct recorder_node {
	uint32_t files, events;	/* seen so far */
	uint64_t global[STORM_GLOBALS];
	uint32_t writer[PLACE_OWN];	/* operation shown there last */
	uint64_t segment[RECORDER_SEGMENTS];	/* samples */
	uint8_t *memory[RECORDER_SEGMENTS];
	uint64_t op;		/* its number, and how far */
	uint8_t phase;
	uint32_t epoch;
	uint64_t reported, acked;	/* a bit for each kind and id */
	uint64_t taken;		/* datagrams, before this turn */
	bool member;		/* as it knows */
	bool out;		/* excluded, as the owner knows */
	bool lost;		/* ... or it was, once */
	bool broken;		/* by a fault */
};

struct recorder {
	struct storm_sim *sim;
	struct recorder_conf conf;
	struct history h;
	struct recorder_node *node;
	struct recorder_op *op;		/* by op - 1 */
	uint32_t op_room;
	bool cluster;
	uint64_t turns;			/* of anybody */
	uint32_t epoch;			/* of the last change of members */
	uint64_t window;		/* most bytes under way */
	struct recorder_owner {
		bool opened;
		uint64_t decided;	/* its last */
		uint64_t sending, written;	/* of which operation, so far */
		uint64_t taken;
	} owner[STORM_SIM_OWNERS];	/* one after the other */
};

/* Watches the simulation from here on. */
void recorder_init(struct recorder *r, struct storm_sim *sim,
		   const struct recorder_conf *conf);
void recorder_free(struct recorder *r);
void recorder_add(struct recorder *r, struct history_entry e);
#define RECORD(r, ...) \
	recorder_add(r, (struct history_entry) { __VA_ARGS__ })
/* The next number of an operation, to be known by before it is issued; it is the
 * number of its remote event.  What data points to stays as it is. */
uint32_t recorder_op(struct recorder *r, const struct history_op *o,
		     const struct recorder_op *data);
/* A node reports this, the owner is told this. */
void recorder_reported(struct recorder *r, uint32_t node, uint8_t kind,
		       uint32_t id);
void recorder_heard(struct recorder *r, const struct storm_report *rep);
/* A restarted node has its segments again, empty. */
void recorder_restarted(struct recorder *r, uint32_t node);
/* What the owners have done, before one tells of a result. */
void recorder_owner(struct recorder *r);
/* Read a place at a node; the history gets it. */
uint64_t recorder_read(struct recorder *r, uint32_t node, uint32_t place);
/* Does the node know to be one? */
bool recorder_member(const struct recorder *r, uint32_t node);
size_t recorder_segment_len(uint32_t segment);
/* Is the node out, or is it there and knows that its reports were heard? */
bool recorder_settled(const struct recorder *r, uint32_t node);
/* Has no node a session or a temporary file any more? */
bool recorder_closed(const struct recorder *r);
/* All is over: what has nodes kept, and what was true all the time? */
void recorder_end(struct recorder *r);

#endif
