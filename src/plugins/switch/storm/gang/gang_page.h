/*
 * gang_page.h - what the agent lets others see of its gang scheduling while it
 * runs and after it was killed: two files in the node's run directory, mapped
 * by whoever looks.
 *
 *	STORM_RUNDIR/NODE/gang	 how steps are stopped here, who does it, and its
 *				 sign of life: slurmd's plugin lets all steps go
 *				 on when it becomes old while some are stopped,
 *				 and each slurmstepd its own
 *	STORM_RUNDIR/NODE/trace  a ring of what was done (doc/gang-trace.md)
 *
 * The first is there as long as the node may take part in gang scheduling: new
 * steps look for it.  Nothing here knows of Slurm.
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
	pid_t agent;			/* who writes it */
	uint64_t started;		/* when that began: gang_step_started() */
	struct freezer_host host;
	bool debug;			/* what a debugger has started is left
					   alone */
	_Atomic uint64_t alive;		/* CLOCK_MONOTONIC ns */
	_Atomic uint64_t limit;		/* older than so many ns is dead */
	_Atomic uint64_t watched;	/* slurmd's plugin has looked; the same clock */
	_Atomic uint32_t stopped;	/* steps that stand still */
	_Atomic uint32_t sharing;	/* there is a map with jobs of ours */
	_Atomic uint32_t freed;		/* times another let all steps go on */
};

/* The calling agent's: made anew, and there as a whole at once (a name moved to
 * the directory, for those who wait for it).  NULL and errno. */
struct gang_page *gang_page_create(const char *rundir, const char *node,
				   const struct freezer_host *host, bool debug);
/* Whether jobs share the node now; whoever watches the directory is told of a
 * change (IN_ATTRIB). */
void gang_page_share(struct gang_page *p, const char *rundir,
		     const char *node, bool sharing);
/* Another's, for reading and for `freed`; NULL and errno (ENOENT: this node does
 * no gang scheduling). */
struct gang_page *gang_page_open(const char *rundir, const char *node);
void gang_page_close(struct gang_page *p);	/* NULL is fine */
void gang_page_remove(const char *rundir, const char *node);
#define GANG_PAGE_NAME "gang"

/* To be told of what befalls the page: an inotify(7) descriptor, not blocking, of the
 * node's directory; -1 and errno. */
int gang_page_notify(const char *rundir, const char *node);
/* What has befallen it since, all at once: IN_MOVED_TO (there may be another one),
 * IN_ATTRIB (jobs begin or end to share), IN_DELETE, IN_Q_OVERFLOW (any of them); 0:
 * nothing.  fd -1 is fine. */
uint32_t gang_page_notified(int fd);

/* Is its writer late, with steps standing still? */
bool gang_page_late(const struct gang_page *p, uint64_t now);

/* ----------------------------------------------------------------- trace --- */

/* The numbers are the file's format: doc/gang-trace.md. */
enum gang_what {
	GANG_BEGIN = 1,		/* the agent; a: its pid */
	GANG_MAP = 2,		/* a map came; version: its own; a: its rows
				   here, b: its jobs here */
	GANG_SLOT = 3,		/* a strobe that changed the slot; version, slot,
				   sequence */
	GANG_STOP = 4,		/* step; slot, sequence */
	GANG_CONTINUE = 5,	/* step; slot, sequence; a: enum gang_why */
	GANG_OPEN = 6,		/* all goes on; a: enum gang_why */
	GANG_STEP = 7,		/* step; a new one */
	GANG_GONE = 8,		/* step; it has ended */
	GANG_MISSED = 9,	/* strobes; sequence: the one that came; a: how
				   many before it did not */
	GANG_JOB = 10,		/* of the map that has just come, version: its
				   own; a, b: its rows below 32, below 64, as
				   bits */
};

enum gang_why {
	GANG_WHY_SLOT = 1,	/* its time has come */
	GANG_WHY_NOT_IN_MAP = 2,
	GANG_WHY_SIGNAL = 3,	/* a signal waits for it */
	GANG_WHY_SILENCE = 4,	/* no strobe for too long */
	GANG_WHY_UNKNOWN_MAP = 5,
	GANG_WHY_NO_SLURMD = 6,
	GANG_WHY_CLOSED = 7,	/* the domain, or the agent is ending */
	GANG_WHY_FREED = 8,	/* slurmd's plugin has done it */
	GANG_WHY_ALL = 9,	/* the strobe says so */
	GANG_WHY_SCRIPT = 10,	/* a step of its job has begun, or it holds a
				   srun */
	GANG_WHY_STARTING = 11,	/* not all of its tasks are past exec */
	GANG_WHY_DEBUGGER = 12,	/* one traces it */
	GANG_WHY_RETURNED = 13,	/* the agent had itself stood still */
};

struct gang_event {
	uint64_t at;		/* CLOCK_MONOTONIC ns */
	uint64_t sequence, version;
	uint32_t what, slot;
	uint32_t job, step;
	uint32_t a, b;
};

#define GANG_TRACE_EVENTS 65536

struct gang_trace {
	uint32_t magic, version, room, event_size;
	_Atomic uint64_t count;		/* ever written */
	struct gang_event event[GANG_TRACE_EVENTS];
};

/* The agent's: what an earlier one wrote stays.  NULL and errno. */
struct gang_trace *gang_trace_create(const char *rundir, const char *node);
const struct gang_trace *gang_trace_open(const char *rundir, const char *node);
void gang_trace_close(const struct gang_trace *t);

void gang_trace_add(struct gang_trace *t, const struct gang_event *e);
/* Event number i, counted from the first ever; false: it is not there any
 * more, or not yet. */
bool gang_trace_get(const struct gang_trace *t, uint64_t i,
		    struct gang_event *out);

/* "stop", "map", ...; NULL for others. */
const char *gang_what_name(uint32_t what);
const char *gang_why_name(uint32_t why);

#endif
