/*
 * gang_agreed.h - when a node obeys a strobe.  The strobe of a new slot comes
 * ahead of it (StrobeLead) and says when the slot begins, by the strober's
 * clock.  The node knows from the strobes themselves how far its own clock is
 * from that (clock_offset.h).  So all nodes of a gang switch at once, however
 * late a strobe comes to one of them.
 *
 * A strobe also says which slot is planned next, and for when.  If no strobe
 * has come by then, the node begins that slot by itself, once: only a strobe
 * can plan another.  It does so only if the strober kept to its last plan, and
 * if the strobe with this one came in time.
 *
 * Whatever is unknown or late is obeyed as soon as it is read.  A strobe waits for
 * at most what it was sent ahead, so no wrong estimate delays it longer.  One that
 * stays unread because the next slot is near (gang_agreed_deaf()) waits for that.
 *
 * Pure, no Slurm header.  Times are ns of the node's own monotonic clock, but
 * for those in a strobe, which are of the strober's.  The caller has a lock.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_GANG_AGREED_H
#define STORM_GANG_AGREED_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libstorm/base/clock_offset.h"
#include "src/storm_common/gang_map.h"

/* All zeroes: nothing has been heard. */
struct gang_agreed {
	struct clock_offset clock;
	uint32_t epoch;		 /* whose strobes the clock is by */
	struct gang_strobe last; /* heard */
	uint64_t number;	 /* its number */
	uint64_t wait_at;	 /* act by it then; 0: that is done */
	uint64_t plan_at;	 /* begin last.next then; 0: not */
	bool right;		 /* the last plan was */
	uint64_t margin;	 /* see gang_agreed_awake() */
};

/* A strobe was received, by any zone's strobe of its strober: compare the
 * clocks. */
void gang_agreed_clock(struct gang_agreed *g, uint64_t number,
		       const struct gang_strobe *s, uint64_t received);

/*
 * A strobe of the node's zone and map is new: nothing that waits counts any
 * more.  True: it waits, and gang_agreed_due() is when it will be due.  False:
 * act by it now.
 */
bool gang_agreed_hear(struct gang_agreed *g, uint64_t number,
		      const struct gang_strobe *s, uint64_t received,
		      uint64_t now);

/* When gang_agreed_take() has something; STORM_NEVER: nothing waits. */
uint64_t gang_agreed_due(const struct gang_agreed *g);

/*
 * That is so near that strobes may stay unread until then, and be heard before it is
 * taken.  So a short turn wakes the node up once, not for its strobe and again for
 * its time.  A strobe that counts at once is obeyed late by so much.
 */
bool gang_agreed_deaf(const struct gang_agreed *g, uint64_t now);

/*
 * When to be awake for that.  To wake up takes a CPU that runs a job some
 * microseconds, and an idle one up to a hundred.  But a thread that waits awake
 * takes the CPU from the job.  So the margin is what 19 of 20 wake-ups take,
 * `max` at most.  woke: tell how late such a wake-up was.
 */
uint64_t gang_agreed_awake(const struct gang_agreed *g);
void gang_agreed_woke(struct gang_agreed *g, uint64_t late, uint64_t max);

/*
 * Take what is due: the strobe that waited, or what the last one planned.  Only
 * zone, slot, version and digest of *out count, and *number is the strobe's, or
 * what the next one's is likely to be.  *by_plan: no strobe has said so.
 * False: nothing is due.
 */
bool gang_agreed_take(struct gang_agreed *g, uint64_t now,
		      struct gang_strobe *out, uint64_t *number, bool *by_plan);

/* Everything runs until the next strobe: nothing waits, nothing is planned. */
void gang_agreed_cancel(struct gang_agreed *g);

#endif
