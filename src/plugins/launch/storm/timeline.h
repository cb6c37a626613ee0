/*
 * timeline.h - times and counters of one step, or of one file broadcast.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_TIMELINE_H
#define STORM_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libstorm/base/clock.h"
#include "src/libstorm/storm.h"

/* In the order of the output. */
enum launch_phase {
	LAUNCH_PHASE_STEP_CREATE,
	LAUNCH_PHASE_OPEN,
	LAUNCH_PHASE_SEND,
	LAUNCH_PHASE_REPAIR,
	LAUNCH_PHASE_WRITE,
	LAUNCH_PHASE_VERIFY,
	LAUNCH_PHASE_EXEC,
	LAUNCH_PHASE_SLOT, /* it lies within EXEC and RUN */
	LAUNCH_PHASE_RUN,
	LAUNCH_PHASE_EXIT,
	LAUNCH_PHASES
};

/* ns, CLOCK_MONOTONIC; a start of 0: the phase did not happen. */
struct storm_span {
	uint64_t start, end;
};

struct storm_transfer;

/* Not thread-safe: one thread at a time, as the step's phases follow. */
struct storm_record {
	const char *command; /* "srun", "sbcast"; not owned */
	uint32_t job_id, step_id, step_het;
	uint32_t nodes, tasks;
	struct storm_span phase[LAUNCH_PHASES];
	struct storm_transfer *transfers, **transfers_end;
	bool launched;		  /* STORM launched the tasks */
	char *fallback;		  /* why STORM did not (owned); or NULL */
	char *odd;		  /* nodes to which Slurm's messages
					   went (owned); NULL: none */
	uint32_t resent;	  /* nodes whose launch message was
					   resent by TCP */
	struct storm_stats stats; /* sum of all domains */
	bool any_domain;
	bool file;     /* its first transfer was a file's */
	char slow[32]; /* nodes of the last look at the first transfer: those
			  that had least of it, "n3"; or "" */
};

/* Begin a record; command is not copied.  clear() frees what the record
 * owns. */
void storm_record_init(struct storm_record *rec, const char *command);
void storm_record_clear(struct storm_record *rec);

/* Add a transfer that has ended.  path is copied; NULL: it was the launch
 * message.  The phases of the first transfer become the record's. */
void storm_record_transfer(struct storm_record *rec, const char *path,
			   uint64_t bytes, const storm_domain_t *d);

/* A transfer of a file is under way, and waits for these nodes. */
void storm_record_slow(struct storm_record *rec, const char *nodes);

/* Add the counters of a domain that is about to be destroyed.  NULL is
 * allowed. */
void storm_record_domain(struct storm_record *rec, const storm_domain_t *d);

/* The phases on one line, "open 1.2, send 100.3, ... ms" (xfree); NULL: there
 * are none. */
char *storm_record_line(const struct storm_record *rec);

/*
 * Write the record to the file that STORM_TIMELINE names, if it is set.  A
 * process with several steps (a heterogeneous srun) replaces the file each
 * time: the object "steps" then has them all.  Logs a failure.  Any thread.
 */
void storm_record_write(const struct storm_record *rec);

#endif
