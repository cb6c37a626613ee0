/*
 * agent_gang.h - this node's part in gang scheduling (doc/gang-scheduling.md,
 * A node's side).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_GANG_H
#define STORM_AGENT_GANG_H

#include <stddef.h>
#include <stdint.h>

#include "src/storm_agent/agent.h"

struct agent;
struct agent_session;
struct agent_step;
struct storm_rx;

/* agent_gang.c */
/* Take part if SchedulerType is sched/storm, else undo what an earlier agent
 * left.  Always 0: the agent works without gang scheduling, too. */
int agent_gang_start(struct agent *a);
/* Continue all steps, and take part no more. */
void agent_gang_stop(struct agent *a);
/* Can this node take part?  If agent_gang_start() could not, try again.  0 or
 * an errno: what it needs and cannot have. */
int agent_gang_ready(struct agent *a);
/* The cluster domain's session has begun, and this node is ready. */
void agent_gang_session_open(struct agent_session *s);
void agent_gang_session_close(struct agent_session *s);
/* An event of the cluster domain, with a map in buf. */
void agent_gang_event(struct agent_session *s, uint32_t event, const void *buf,
		      size_t len);
/* Returns when to call again, or STORM_NEVER. */
uint64_t agent_gang_tick(struct agent *a, uint64_t now);

/* The records of steps have changed. */
void agent_gang_steps(struct agent *a);

/* agent_gang_doors.c */
/* The tasks of a step will wait at a door (step_door.h).  fd, its end, is taken
 * over; root: the step's slurmstepd. */
void agent_gang_door(struct agent *a, const struct agent_step *step, pid_t root,
		     int fd);

/* agent_gang_waits.c */
/* Take over fd, a step's account of how its tasks wait
 * (src/storm_wait/wait_page.h).  root: the step's slurmstepd. */
void agent_gang_account(struct agent *a, pid_t root, int fd);

/* agent_gang_turns.c */
/* No slurmd is connected any more: continue all steps. */
void agent_gang_no_slurmd(struct agent *a);

/* agent_strobe.c: the main loop calls these. */
/* A strobe came to the main loop.  number: as storm_strobe() returned it, with
 * the epoch in the high half.  rx: the datagram. */
void agent_gang_strobe(struct agent *a, struct agent_session *s,
		       uint64_t number, const struct storm_rx *rx,
		       const void *buf, size_t len);
/* Exchange news with the thread that takes strobes, before datagrams are
 * read. */
void agent_gang_exchange(struct agent *a);
/* This process was stopped: have the thread continue all steps. */
void agent_gang_returned(struct agent *a);
/* A copy of the counters, all of one moment. */
struct agent_count agent_gang_count(struct agent *a);
/* ns, of the turns that this node takes; 0: it takes none. */
uint64_t agent_gang_quantum(struct agent *a);

#endif
