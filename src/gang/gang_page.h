/*
 * gang_page.h - two files in the node's run directory by which others see the
 * agent's gang scheduling, also after the agent was killed.  Readers map them.
 *
 * 	STORM_RUNDIR/NODE/gang	 how steps are stopped here, the agent's pid and
 * 				 its time stamp.  If the stamp is old while steps
 * 				 are stopped, slurmd's plugin continues all of
 * 				 them, and each slurmstepd its own
 * 	STORM_RUNDIR/NODE/trace  a ring of the agent's actions (doc/gang-trace.md)
 *
 * The first exists as long as the node may take part in gang scheduling: new
 * steps look for it.  An agent makes it once in its life.  So a process that
 * has mapped it looks for another one only when that agent has ended.  No Slurm
 * header.
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
#include "gang_event.h"

struct gang_page {
	uint32_t magic, version;
	pid_t agent;	  /* the writer */
	uint64_t started; /* the agent's gang_step_started() */
	struct freezer_host host;
	bool debug;		  /* do not stop steps that a debugger
					   starts */
	_Atomic uint64_t alive;	  /* CLOCK_MONOTONIC ns */
	_Atomic uint64_t limit;	  /* ns; if `alive` is older it is late */
	_Atomic uint64_t watched; /* slurmd's guard has looked; same clock */
	_Atomic uint32_t stopped; /* number of stopped steps */
	_Atomic uint32_t sharing; /* the map has jobs of this node */
	_Atomic uint32_t freed;	  /* times that a guard continued steps */
};

/* Create the calling agent's page.  It appears complete, by rename(2).  NULL
 * and errno on failure. */
struct gang_page *gang_page_create(const char *rundir, const char *node,
				   const struct freezer_host *host, bool debug);
/* Set whether jobs share the node.  True: that is a change. */
bool gang_page_share(struct gang_page *p, const char *rundir, const char *node,
		     bool sharing);
/* Map the agent's page, to read it and to count in `freed`.  NULL and errno on
 * failure; ENOENT: this node does no gang scheduling. */
struct gang_page *gang_page_open(const char *rundir, const char *node);
void gang_page_close(struct gang_page *p); /* NULL is allowed */
void gang_page_remove(const char *rundir, const char *node);
/* A number that no other page of this node has had; 0: there is no page. */
uint64_t gang_page_number(const char *rundir, const char *node);
#define GANG_PAGE_NAME "gang"

/* Is the page's writer late while steps are stopped?  now: CLOCK_MONOTONIC
 * ns. */
bool gang_page_late(const struct gang_page *p, uint64_t now);

/* --------------------------------------------------------------- trace --- */

#define GANG_TRACE_EVENTS 65536

struct gang_trace {
	uint32_t magic, version, room, event_size;
	_Atomic uint64_t count; /* events written so far */
	struct gang_event event[GANG_TRACE_EVENTS];
};

/* Map the ring for writing, or for reading.  Events of an earlier agent stay.
 * NULL and errno on failure.  One thread writes. */
struct gang_trace *gang_trace_create(const char *rundir, const char *node);
const struct gang_trace *gang_trace_open(const char *rundir, const char *node);
void gang_trace_close(const struct gang_trace *t);

void gang_trace_add(struct gang_trace *t, const struct gang_event *e);
/* Set *out to event number i, from 0.  False: it was overwritten, or is not
 * written yet. */
bool gang_trace_get(const struct gang_trace *t, uint64_t i,
		    struct gang_event *out);

#endif
