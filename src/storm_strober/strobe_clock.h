/*
 * strobe_clock.h - the strober's thread that strobes: at the times that rota.c
 * sets, it tells all nodes whose turn it is.  It has a real-time priority where
 * that is allowed, and waits for nothing but time.
 *
 * When slurmctld, the parent process, stops or falls silent, the strobes let
 * everything run.  When the thread finds that it did not run itself, it sends
 * nothing until strobe_clock_resume().
 *
 * With a lead (StrobeLead) a slot's strobe is sent that long before the slot
 * begins, and says when that is.  The rota's time is ahead by the lead.  A
 * strobe that begins no new slot counts at once: a repeat, one of a new map,
 * one that lets everything run.
 *
 * Times are ns of CLOCK_MONOTONIC (clock.h).  A process has one clock.  Only
 * the thread that has started it may call these functions, except those marked
 * "any thread".  A call waits at most until the strobes that are due are sent;
 * strobe_clock_stop() may wait longer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STROBE_CLOCK_H
#define STORM_STROBE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libstorm/storm.h"
#include "src/storm_common/gang_map.h"
#include "src/storm_common/strober_protocol.h"

/*
 * Start the clock, with neither domain nor map.  fd is where pulses arrive; it
 * is polled and never read: unread input may be a pulse.  wake() asks the
 * caller's thread to call strobe_clock_is_away().  The clock calls wake() under
 * its lock, so it must neither wait nor call anything of this header.
 *
 * This locks the process's memory.  The calling thread, and all threads that it
 * starts later, also get the real-time priority.  What is not allowed is
 * logged.  Returns 0, or -1 after logging why there is no thread.
 */
int strobe_clock_start(int fd, void (*wake)(void));

/* Let everything run on the nodes, waiting at most 0.1 s for that, and end the
 * thread.  Call it before strobe_clock_close().  Does nothing if no thread was
 * started. */
void strobe_clock_stop(void);

/* Strobe in this domain once there is a map.  The domain is open, and exists
 * until strobe_clock_close() has returned. */
void strobe_clock_open(storm_domain_t *d);
/* Stop using the domain, and discard the map.  Does nothing without a
 * domain. */
void strobe_clock_close(void);

/*
 * Strobe by this map from `now` on; all nodes of the domain must have it.
 * digest: gang_map_digest() of its bytes.  0: *map is taken over and left
 * empty.  -1: out of memory, and nothing has changed.
 */
int strobe_clock_map(struct gang_map *map, uint64_t digest, uint64_t now);

/* Send the strobe of a new slot so many ns before it begins, but at most half
 * of the shortest quantum; 0: nodes act when it comes. */
void strobe_clock_lead(uint64_t ns);

/* slurmctld sent a sign of life at that time. */
void strobe_clock_pulse(uint64_t when);

/* Are strobes sent?  There are none while no jobs share.  Any thread. */
bool strobe_clock_is_strobing(void);

/* The number of the last strobe (storm_strobe()); 0: there is none since the
 * domain was opened, or this process was away.  Any thread; never waits. */
uint64_t strobe_clock_number(void);

/* Did the thread not run for so long that another strober may own the domain?
 * It then sends nothing until strobe_clock_resume(). */
bool strobe_clock_is_away(void);
/* Strobe again.  The caller has confirmed that this process owns the domain
 * (storm_domain_confirm()).  Jobs take turns from `now` on, or once slurmctld
 * is back. */
void strobe_clock_resume(uint64_t now);

/* A STROBER_REPORT frame, header and body, as of now; its `latest` is since the
 * last call.  The caller free()s it.  NULL: no jobs share, or out of memory. */
struct strober_frame *strobe_clock_report(void);

#endif
