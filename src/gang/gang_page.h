/*
 * gang_page.h - the agent's gang scheduling as others see it, also after the
 * agent was killed: two files in the node's run directory, which readers map.
 *
 *	STORM_RUNDIR/NODE/gang	 how steps are stopped here, the agent's pid and
 *				 its time stamp.  If that is old while steps are
 *				 stopped, slurmd's plugin continues all of them,
 *				 and each slurmstepd its own
 *	STORM_RUNDIR/NODE/trace  a ring of the agent's actions (doc/gang-trace.md)
 *
 * The first exists as long as the node may take part in gang scheduling: new
 * steps look for it.  An agent makes it once in its life.  So a process that
 * has mapped it need look for another one only when that agent has ended.  No
 * Slurm header.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_GANG_PAGE_H
#define STORM_GANG_PAGE_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "freezer.h"

struct gang_page {
	uint32_t magic, version;
	pid_t agent;	  /* the writer */
	uint64_t started; /* the agent's gang_step_started() */
	struct freezer_host host;
	bool debug;		  /* do not stop steps that a debugger
					   starts */
	_Atomic uint64_t alive;	  /* CLOCK_MONOTONIC ns */
	_Atomic uint64_t limit;	  /* late if alive is older, ns */
	_Atomic uint64_t watched; /* slurmd's guard has looked; same clock */
	_Atomic uint32_t stopped; /* number of stopped steps */
	_Atomic uint32_t sharing; /* the map has jobs of this node */
	_Atomic uint32_t freed;	  /* times that a guard continued steps */
};

/* Create the calling agent's page.  It appears complete, by rename(2).  NULL and
 * errno. */
struct gang_page *gang_page_create(const char *rundir, const char *node,
				   const struct freezer_host *host, bool debug);
/* Set whether jobs share the node.  True: that is a change. */
bool gang_page_share(struct gang_page *p, const char *rundir, const char *node,
		     bool sharing);
/* Map the agent's page, to read it and to count in `freed`.  NULL and errno
 * (ENOENT: this node does no gang scheduling). */
struct gang_page *gang_page_open(const char *rundir, const char *node);
void gang_page_close(struct gang_page *p); /* NULL is allowed */
void gang_page_remove(const char *rundir, const char *node);
/* A number that no other page of this node has had; 0: there is no page. */
uint64_t gang_page_number(const char *rundir, const char *node);
#define GANG_PAGE_NAME "gang"

/* Is its writer late while steps are stopped?  now: CLOCK_MONOTONIC ns. */
bool gang_page_late(const struct gang_page *p, uint64_t now);

/* ----------------------------------------------------------------- trace --- */

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

#define GANG_TRACE_EVENTS 65536

struct gang_trace {
	uint32_t magic, version, room, event_size;
	_Atomic uint64_t count; /* events written so far */
	struct gang_event event[GANG_TRACE_EVENTS];
};

/* Map the ring for writing.  Events of an earlier agent stay.  NULL and
 * errno. */
struct gang_trace *gang_trace_create(const char *rundir, const char *node);
const struct gang_trace *gang_trace_open(const char *rundir, const char *node);
void gang_trace_close(const struct gang_trace *t);

void gang_trace_add(struct gang_trace *t, const struct gang_event *e);
/* Event number i, from 0; false: it was overwritten, or is not written yet. */
bool gang_trace_get(const struct gang_trace *t, uint64_t i,
		    struct gang_event *out);

/* "stop", "map", ...; NULL for others. */
const char *gang_what_name(uint32_t what);
const char *gang_why_name(uint32_t why);

#endif
