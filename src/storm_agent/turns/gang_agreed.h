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
 * A strobe that is late, or whose time is not known, is obeyed as soon as it is
 * read.  Any other waits for no longer than it was sent ahead, so a wrong
 * estimate delays it no more.  Only one that stays unread, because the next
 * slot is near (gang_agreed_deaf()), waits for that slot.
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
	uint32_t epoch;		 /* of the strobes that the clock is by */
	struct gang_strobe last; /* the last strobe that was heard */
	uint64_t number;	 /* its number */
	uint64_t wait_at;	 /* when to act by it; 0: that is done */
	uint64_t plan_at;	 /* when to begin last.next; 0: not at all */
	bool right;		 /* the last plan was right */
	uint64_t margin;	 /* ns, see gang_agreed_awake() */
};

/* A strobe was received, of any zone: compare the strober's clock with this
 * one. */
void gang_agreed_clock(struct gang_agreed *g, uint64_t number,
		       const struct gang_strobe *s, uint64_t received);

/*
 * A new strobe of the node's zone and map has come, which cancels what waits.
 * True: it waits until gang_agreed_due().  False: act by it now.
 */
bool gang_agreed_hear(struct gang_agreed *g, uint64_t number,
		      const struct gang_strobe *s, uint64_t received,
		      uint64_t now);

/* When gang_agreed_take() has something; STORM_NEVER: nothing waits. */
uint64_t gang_agreed_due(const struct gang_agreed *g);

/*
 * Is gang_agreed_due() so near that strobes may stay unread until then?  They
 * are heard before it is taken.  So a short turn wakes the node up once,
 * instead of once for its strobe and once for its time.  A strobe that counts
 * at once is then obeyed late.
 */
bool gang_agreed_deaf(const struct gang_agreed *g, uint64_t now);

/*
 * When to be awake for gang_agreed_due().  To wake up takes some microseconds
 * on a CPU that runs a job, and up to a hundred on an idle one.  But a thread
 * that waits awake takes the CPU from the job.  So the margin is what 19 of 20
 * wake-ups take, and at most `max` ns.  woke(): tell by how many ns such a
 * wake-up was late.
 */
uint64_t gang_agreed_awake(const struct gang_agreed *g);
void gang_agreed_woke(struct gang_agreed *g, uint64_t late, uint64_t max);

/*
 * Take what is due: the strobe that waited, or the slot that the last one
 * planned (*by_plan).  Only zone, slot, version and digest of *out count.
 * *number: the strobe's; by a plan, the one that the next strobe will probably
 * have.  False: nothing is due.
 */
bool gang_agreed_take(struct gang_agreed *g, uint64_t now,
		      struct gang_strobe *out, uint64_t *number, bool *by_plan);

/* Everything runs until the next strobe: nothing waits, nothing is planned. */
void gang_agreed_cancel(struct gang_agreed *g);

#endif
