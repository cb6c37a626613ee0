/*
 * gang_event.h - the events of an agent's trace (gang_page.h): what it has
 * done, in that order.  No Slurm header, no I/O.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_GANG_EVENT_H
#define STORM_GANG_EVENT_H

#include <stdint.h>

/* The numbers are the file's format: doc/gang-trace.md. */
enum gang_what {
	GANG_BEGIN = 1,	   /* the agent; a: its pid */
	GANG_MAP = 2,	   /* a new map; version: its own; a: its rows
				   here, b: its jobs here */
	GANG_SLOT = 3,	   /* a strobe that changed the slot; version, slot,
				   sequence */
	GANG_STOP = 4,	   /* step; slot, sequence */
	GANG_CONTINUE = 5, /* step; slot, sequence; a: enum gang_why */
	GANG_OPEN = 6,	   /* all steps continue; a: enum gang_why */
	GANG_STEP = 7,	   /* step; a new one */
	GANG_GONE = 8,	   /* step; it has ended */
	GANG_MISSED = 9,   /* strobes; sequence: the one received; a: how
				   many before it were not */
	GANG_JOB = 10,	   /* of the new map, version: its own; a, b: its
				   rows below 32, below 64, as bits */
	GANG_PAYS = 11,	   /* step; it skips this turn; a: how many of 1024;
				   b: what its switch costs, us */
	GANG_PLANNED = 12, /* the next slot begins without a strobe, as the last
			      one has planned */
	GANG_START = 13,   /* step; all tasks have waited before exec, and go
				   on; a: enum gang_why; b: for so long, us */
};

enum gang_why {
	GANG_WHY_SLOT = 1, /* its turn begins */
	GANG_WHY_NOT_IN_MAP = 2,
	GANG_WHY_SIGNAL = 3,  /* a signal is pending */
	GANG_WHY_SILENCE = 4, /* no strobe for too long */
	GANG_WHY_UNKNOWN_MAP = 5,
	GANG_WHY_NO_SLURMD = 6,
	GANG_WHY_CLOSED = 7,	/* the domain, or the agent is ending */
	GANG_WHY_FREED = 8,	/* slurmd's guard continued it */
	GANG_WHY_ALL = 9,	/* the strobe orders it */
	GANG_WHY_SCRIPT = 10,	/* a step of its job has begun, or it has an
				   srun */
	GANG_WHY_STARTING = 11, /* not all of its tasks are past exec, or
				   wait before it */
	GANG_WHY_DEBUGGER = 12, /* a debugger traces it */
	GANG_WHY_RETURNED = 13, /* the agent itself had been stopped */
	GANG_WHY_SPARE = 14,	/* another job skips its turn (GANG_PAYS) */
	GANG_WHY_FILLS = 15,	/* it fills the gaps of one that sleeps */
};

struct gang_event {
	uint64_t at; /* CLOCK_MONOTONIC ns */
	uint64_t sequence, version;
	uint32_t what, slot;
	uint32_t job, step;
	uint32_t a, b;
};

/* Names such as "stop" or "map"; NULL for other numbers. */
const char *gang_what_name(uint32_t what);
const char *gang_why_name(uint32_t why);

#endif
