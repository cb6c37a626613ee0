/*
 * clock_offset.h - how far another host's clock is from this one's, by what
 * that host sends anyway: each message has the time of its sending.  The
 * difference to the time of its receipt is the clocks' offset and the delay.
 * The least differences are those with the least delay, so they show the
 * offset, and how it changes shows the drift.  The least delay itself remains
 * in the estimate.  Hosts that have the same one agree with each other, which
 * is all that acting at an agreed time needs.
 *
 * Samples are taken together in windows of a quarter of a second, or more where
 * few come.  The estimate is a straight line below the least samples of the
 * last windows.  Its slope is the median of the slopes between any two of them.
 *
 * A clock may be set.  A sample far below the line is a step: what was before
 * is forgotten, but for the slope.  So is a whole window far above it.
 *
 * Times are ns, each of its own host's monotonic clock.  Pure, and not
 * thread-safe.  A sample costs a few instructions, the end of a window some
 * microseconds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CLOCK_OFFSET_H
#define STORM_CLOCK_OFFSET_H

#include <stdbool.h>
#include <stdint.h>

#include "units.h"

#define CLOCK_OFFSET_WINDOW (250 * STORM_MS) /* at least, and */
#define CLOCK_OFFSET_SAMPLES 16		     /* at least so many */
#define CLOCK_OFFSET_WINDOWS 16
#define CLOCK_OFFSET_READY 4 /* windows before the first estimate */
/* A sample that is so far from the line shows a clock that was set. */
#define CLOCK_OFFSET_STEP (200 * STORM_US)
/* Without a sample for so long, nothing of before counts. */
#define CLOCK_OFFSET_GAP (10 * STORM_SEC)

struct clock_offset_point {
	uint64_t at;   /* of this host's clock */
	int64_t least; /* of (received - sent) */
};

/* All zeroes: nothing is known. */
struct clock_offset {
	struct clock_offset_point window[CLOCK_OFFSET_WINDOWS]; /* a ring */
	uint32_t windows; /* that are kept */
	uint32_t next;	  /* index of the oldest, or of the first free one */
	/* the present window */
	uint64_t begun;
	uint32_t samples; /* 0: it has not begun */
	struct clock_offset_point lowest;
	/* the line */
	bool ready;
	struct clock_offset_point line;
	double slope;	  /* ns per ns */
	uint64_t heard;	  /* the last sample */
	uint64_t stepped; /* how often; for tests and counters */
};

/* Add a sample: a message that the other host sent at `sent` of its clock came
 * at `received` of this one's. */
void storm_clock_offset_add(struct clock_offset *o, uint64_t sent,
			    uint64_t received);

/* Set *own to this host's time at the moment when the other's clock shows
 * `theirs`.  now: this host's time, near that moment.  False: no estimate
 * yet. */
bool storm_clock_offset_own(const struct clock_offset *o, uint64_t theirs,
			    uint64_t now, uint64_t *own);

#endif
