/*
 * timeline.h - what one step, or one file broadcast, took and counted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_TIMELINE_H
#define STORM_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libstorm/base/clock.h"
#include "src/libstorm/storm.h"

/* In the order in which they are told. */
enum launch_phase {
	LAUNCH_PHASE_STEP_CREATE, LAUNCH_PHASE_OPEN, LAUNCH_PHASE_SEND,
	LAUNCH_PHASE_REPAIR, LAUNCH_PHASE_WRITE, LAUNCH_PHASE_VERIFY,
	LAUNCH_PHASE_EXEC, LAUNCH_PHASE_RUN, LAUNCH_PHASE_EXIT,
	LAUNCH_PHASES
};

/* ns, CLOCK_MONOTONIC; a start of 0: the phase did not happen. */
struct storm_span { uint64_t start, end; };

struct storm_transfer;

/* Not thread-safe: one thread at a time, as the step's phases follow. */
struct storm_record {
	const char *command;		/* "srun", "sbcast"; not owned */
	uint32_t job_id, step_id, step_het;
	uint32_t nodes, tasks;
	struct storm_span phase[LAUNCH_PHASES];
	struct storm_transfer *transfers, **transfers_end;
	bool launched;			/* the tasks were launched by storm */
	char *fallback;			/* why not storm; NULL: storm */
	uint32_t resent;		/* nodes whose launch message went
					   again by Slurm's own message */
	struct storm_stats stats;	/* of all the domains, summed */
	bool any_domain;
};

void storm_record_init(struct storm_record *rec, const char *command);
void storm_record_clear(struct storm_record *rec);

/* A finished transfer; path NULL: the launch message.  The first file's
 * phases are the record's, or else those of the launch message. */
void storm_record_transfer(struct storm_record *rec, const char *path,
			   uint64_t bytes, const storm_domain_t *d);

/* Add the domain's counters, just before it is destroyed.  NULL is fine. */
void storm_record_domain(struct storm_record *rec, const storm_domain_t *d);

/* The phases on one line, "open 1.2 send 100.3 ... ms"; xfree(). */
char *storm_record_line(const struct storm_record *rec);

/*
 * Write the record to the file named by STORM_TIMELINE, if it is set.  A
 * process that ends several steps (a heterogeneous srun) writes the file anew
 * each time: an object "steps" then holds them all.  Thread-safe.
 */
void storm_record_write(const struct storm_record *rec);

#endif
