/*
 * each_place.h - a place for runs, one after the other: what the head says of the one that is
 * there, and what follows from it.  No I/O and no clock.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EACH_PLACE_H
#define STORM_EACH_PLACE_H

#include "src/storm_launcher/run_wire.h"

#define EACH_HEADS 3 /* that may end one after the other without a word */
/* Runs that wait in the head's queue, so that it begins the next one without a word from the
 * client. */
#define EACH_RUNS_AHEAD 4

enum each_place_state {
	PLACE_IDLE,
	PLACE_ASKED, /* the head has not answered */
	PLACE_QUEUED,
	PLACE_BEGUN,
	PLACE_AWAY /* this head takes no run any more: its end is waited for */
};

enum each_place_event {
	PLACE_NOTHING,
	PLACE_WAITS_FOR, /* what has the CPUs: text */
	PLACE_BEGINS,	 /* on these nodes: text */
	PLACE_SAYS,	 /* the head: text */
	PLACE_WRITES,	 /* its tasks, to fd: text */
	PLACE_IS_AWAY,
	/* and those behind which its connection has no more use */
	PLACE_ENDS, /* with this status */
	PLACE_LOST, /* with a node */
	PLACE_BACK, /* it was recalled, and has not begun */
	PLACE_ASKS_AGAIN,
	PLACE_REFUSED, /* and why: text */
	PLACE_STOPPED  /* the launchers have ended, and all of their runs */
};

/* Zero it. */
struct each_place {
	enum each_place_state state;
	bool recalled;
	bool waits;	/* for CPUs and their like */
	uint32_t heads; /* that have ended without a word */
	/* of the last event; the frame's */
	const uint8_t *text;
	size_t len;
	uint8_t fd, status;
};

/* It has asked for a run. */
void each_place_ask(struct each_place *p);
/* A frame has come; the connection has ended. */
enum each_place_event each_place_hear(struct each_place *p, enum run_kind kind,
				      struct storm_in *body);
enum each_place_event each_place_closed(struct each_place *p);
/* Is nothing more to be heard of its run behind this event? */
bool each_place_is_free(enum each_place_event event);

/* How many places there should be, if so many runs have begun: one more than these if they are
 * to begin at times, and at most `most`. */
uint32_t each_places(uint32_t begun, bool at_times, uint32_t most);

#endif
