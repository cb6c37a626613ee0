/*
 * strobe_clock.h - the strober's thread that strobes: by the map that counts it says
 * to all nodes whose turn it is, at the times that rota.c sets, under a real-time
 * priority where that is allowed.  It never waits but for time.
 *
 * When slurmctld, whose child this process is, stops or falls silent, the nodes are
 * told that everything runs.  When the thread finds that it has stood still itself, it
 * says nothing until strobe_clock_resume().
 *
 * Times are ns of CLOCK_MONOTONIC (clock.h).  A process has one clock.  Everything
 * here is for the one thread that has started it, unless it says "any thread"; no
 * call waits for more than the strobes of that moment, but for strobe_clock_stop().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STROBE_CLOCK_H
#define STORM_STROBE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "src/storm_common/gang_map.h"
#include "src/libstorm/storm.h"
#include "strober.h"

/*
 * Start it, with neither domain nor map.  fd, which is never read here: as long as
 * something waits there, it may be a pulse.  wake() means that the caller's thread
 * should ask strobe_clock_is_away(); the clock calls it under its lock, so it must
 * neither wait nor call anything here.
 *
 * The process's memory is locked, and the calling thread and all that it starts from
 * now on have the priority, too; where that is not allowed, it is logged.
 * 0, or -1: there is no thread, and the reason was logged.
 */
int strobe_clock_start(int fd, void (*wake)(void));

/* The nodes are told that everything runs, for which it waits 0.1 s at most, and the
 * thread ends.  Before strobe_clock_close().  Nothing, where none was started. */
void strobe_clock_stop(void);

/* Strobe in this domain, as soon as there is a map.  It is open, and lives until
 * strobe_clock_close() has returned. */
void strobe_clock_open(storm_domain_t *d);
/* The domain is used no more, and no map counts.  Nothing, where none is open. */
void strobe_clock_close(void);

/*
 * This map, which all nodes of the domain have, counts from `now` on.  digest:
 * gang_map_digest().  0: *map is taken over and left empty; -1: no memory, and all
 * is as it was.
 */
int strobe_clock_map(struct gang_map *map, uint64_t digest, uint64_t now);

/* slurmctld says that it was alive at that time. */
void strobe_clock_pulse(uint64_t when);

/* Are strobes sent?  Not where nothing is shared.  Any thread. */
bool strobe_clock_is_strobing(void);

/* Has the thread stood still, so that another strober may have taken the domain over?
 * Then it says nothing ... */
bool strobe_clock_is_away(void);
/* ... until this call, for which the domain must be ours (storm_domain_confirm()).
 * Jobs take turns again from `now` on, or from when slurmctld is back. */
void strobe_clock_resume(uint64_t now);

/* STROBER_REPORT, header and body, as of now; "latest" is since the last call.  To be
 * free()d.  NULL: nothing is shared, or there is no memory. */
struct strober_frame *strobe_clock_report(void);

#endif
