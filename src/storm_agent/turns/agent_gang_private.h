/*
 * agent_gang_private.h - the state that the files of gang scheduling share:
 *
 * 	agent_gang.c		starts and ends it
 * 	agent_gang_maps.c	takes the maps of turns
 * 	agent_gang_steps.c	keeps the list of this node's steps
 * 	agent_gang_doors.c	lets a step's tasks wait for its first turn
 * 	agent_gang_left.c	removes the groups of steps that have ended
 * 	agent_gang_turns.c	does what turns.h decides
 * 	agent_gang_held.c	tells the strober that held jobs stand
 * 	agent_gang_naps.c	finds which steps sleep in their turns
 * 	agent_gang_waits.c	finds steps whose ranks meet often
 * 	agent_gate.c		tells agent_strobe.c which strobes count
 * 	agent_strobe.c		the thread that takes strobes
 *
 * turns.h alone decides which steps stand, and why; these files are its eyes
 * and hands.  agent_gang.c calls the others.  agent_strobe.c calls all of them
 * above it but steps, doors and held.  maps, steps, doors, held and gate call
 * turns, which calls naps.
 *
 * Two threads use this state: the main loop, and that of agent_strobe.c, which
 * has a real-time priority.  The lock lends its holder that priority.  It is
 * held for microseconds.  No record and no map is read with it, and of /proc
 * only files of a step that is before exec.  Only the main loop changes the
 * list of steps, so it reads the list without the lock.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_GANG_PRIVATE_H
#define STORM_AGENT_GANG_PRIVATE_H

#include <limits.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "alone.h"
#include "src/gang/gang_page.h"
#include "src/gang/gang_stand.h"
#include "src/gang/gang_step.h"
#include "src/libstorm/base/clock.h"
#include "src/storm_agent/agent.h"
#include "src/storm_agent/agent_session.h"
#include "src/storm_common/gang_map.h"
#include "turns.h"

/* ns for which a step must have been stopped before it is looked at.  Reading
 * /proc takes time from the job whose turn it is, and that job's other nodes
 * wait for this one.  A step whose slot is near handles a signal then. */
#define AGENT_GANG_LOOK (50 * STORM_MS)

/* Where a step's tasks wait before exec: step_door.h. */
struct gang_door {
	struct agent_io io; /* the agent's end */
	struct gang_door *next;
	struct agent_step step;
	pid_t root;
	uint64_t met;	 /* when all tasks were there; 0: some are not */
	uint64_t opened; /* 0: it is closed */
};

/* A step on this node. */
struct gang_local {
	struct agent_io io; /* pidfd of the slurmstepd */
	struct gang_local *next;
	char name[GANG_STEP_NAME];
	struct gang_step step;
	struct turns_step *turns; /* whether it stands, and why */
	struct freezer *f;
	struct gang_mark *mark;
	uint64_t looked;	  /* when it was looked at; 0: never */
	struct gang_naps *naps;	  /* its threads; NULL: not known */
	uint64_t naps_at;	  /* when the main loop looked for them */
	struct gang_waits *waits; /* the main loop's; NULL: not known */
	struct senders *senders;  /* which are asked whose signals wait */
	uint64_t asked;		  /* when they were */
	uint64_t busy;		  /* ns that the last look at it took */
	struct gang_door *door;	  /* NULL: there is none */
	bool listed;		  /* found by the listing under way */
	struct gang_refusals refusals;
	bool told_traced;
	bool told_stands; /* logged that it does not yield */
};

struct agent_strobe;
struct gang_left;
struct gang_naps;
struct gang_waits;

struct agent_gang {
	struct agent *a;
	struct agent_strobe *strobe;
	pthread_t thread;      /* of agent_strobe.c */
	bool thread_takes;     /* strobes; else the main loop does */
	struct agent_io *news; /* wakes the main loop */
	pthread_mutex_t lock;  /* with priority inheritance */
	struct gang_page *page;
	struct gang_trace *trace;
	struct freezer_host host;
	char dir[PATH_MAX];	       /* of the records */
	struct agent_session *session; /* the cluster domain, or NULL */
	/* agent_gang_steps.c */
	struct gang_local *steps;
	uint64_t list_at;	/* when to look whether records have changed */
	struct timespec listed; /* when their directory had changed by then */
	bool list_again;	/* the listing may have missed some */
	bool unwatched;		/* it has found a step that cannot be watched */
	bool told_unwatched;	/* that is in the log */
	bool told_unread;	/* so is that none can be read */
	bool traced;		/* a debugger traces a step */
	_Atomic uint64_t look_at; /* the main loop's next look at them */
	/* agent_gang_doors.c */
	struct gang_door *doors; /* the main loop's */
	/* agent_gang_waits.c */
	struct gang_waits *accounts; /* of steps without a record yet */
	/* agent_gang_left.c */
	struct gang_left *left; /* groups that could not be removed yet */
	uint64_t left_at;	/* when to try again */
	/* agent_gang_maps.c */
	bool realtime, refused;
	uint64_t told_missed; /* the main loop's */
	/* agent_gang_held.c: the main loop's */
	bool holds; /* the newest map, or the one before, holds a job here */
	bool held;  /* the newest one does */
	uint64_t held_at; /* when to look again whether they stand */
	/* agent_gang_turns.c */
	struct turns *turns; /* which steps stand */
	uint64_t slurmd_at;
	bool slurmd_stands;
	uint32_t freed; /* the page's count of that name, as seen last */
	/* agent_gang.c: the main loop's */
	struct alone alone;  /* looks without slurmd */
	uint64_t alone_look; /* the next look */
	bool has_left;	     /* the cluster domain therefore */
};

static inline void agent_gang_lock(struct agent_gang *g)
{
	pthread_mutex_lock(&g->lock);
}
static inline void agent_gang_unlock(struct agent_gang *g)
{
	pthread_mutex_unlock(&g->lock);
}

static inline void agent_gang_signal(int eventfd)
{
	uint64_t one = 1;

	if (write(eventfd, &one, sizeof(one)) < 0)
		return; /* it is full, so it is readable */
}

/* Wake the main loop: it has something to do. */
static inline void agent_gang_news(struct agent_gang *g)
{
	agent_gang_signal(g->news->fd);
}

/* agent_gang_turns.c: call all of these with the lock. */
/* Prepare a call of turns.h that decides. */
void agent_gang_before(struct agent_gang *g);
/* Do what that call has decided. */
void agent_gang_do(struct agent_gang *g);
/* Append an event to the trace. */
void agent_gang_trace(struct agent_gang *g, const struct gang_event *e);
/* Continue all steps; none stops until the next strobe. */
void agent_gang_open(struct agent_gang *g, enum gang_why why);
/* Steps have come or gone. */
void agent_gang_decide(struct agent_gang *g);
/* A new strobe was received at that time: obey it, now or when its slot
 * begins. */
void agent_gang_obey(struct agent_gang *g, uint64_t number, const void *buf,
		     size_t len, uint64_t received);
/* Act by the strobe that waits, or by the plan, if its time has come. */
void agent_gang_agreed(struct agent_gang *g);
/* The thread woke up so many ns later than gang_agreed_awake() had said. */
void agent_gang_woke(struct agent_gang *g, uint64_t late);
/* Is a slurmd connected that can guard the steps?  One that is stopped
 * cannot. */
bool agent_gang_slurmd_is_there(struct agent_gang *g, uint64_t now);
/* Tell the guards whether jobs share this node. */
void agent_gang_share(struct agent_gang *g, bool sharing);
/* This process was stopped: continue all steps. */
void agent_gang_return(struct agent_gang *g);
/* Give the sign of life, and continue all steps if the last strobe has expired
 * or slurmd is gone.  Returns when the strobe expires; STORM_NEVER: all steps
 * run. */
uint64_t agent_gang_until(struct agent_gang *g);
/* When to check whether slurmd is stopped. */
uint64_t agent_gang_slurmd_due(const struct agent_gang *g);

/* agent_gang_naps.c: with the lock, unless a comment says otherwise. */
/* The step's turn begins. */
void agent_gang_naps_begin(struct gang_local *l);
/* The step's turn is over: tell turns.h how long it slept. */
void agent_gang_naps_end(struct gang_local *l, const struct turns_act *act);
/* Find the threads of steps that must be measured.  Returns when to look
 * again.  The main loop's, without the lock. */
uint64_t agent_gang_naps_look(struct agent_gang *g, uint64_t now);
void agent_gang_naps_free(struct gang_naps *n); /* NULL is allowed */

/* agent_gang_waits.c: the main loop's, without the lock. */
/* Read the account of how the step's ranks wait. */
void agent_gang_waits_look(struct agent_gang *g, struct gang_local *l);
void agent_gang_waits_free(struct gang_waits *w); /* NULL is allowed */
/* Forget accounts whose steps have not left a record. */
void agent_gang_waits_end(struct agent_gang *g);

/* agent_gang_steps.c: the main loop's, without the lock. */
/* Read the records: add new steps, and forget those that have no record. */
void agent_gang_steps_list(struct agent_gang *g);
/* If it is time, look whether records have changed without notice, and read
 * them then.  Returns when to look again. */
uint64_t agent_gang_steps_relist(struct agent_gang *g, uint64_t now);
/* Look for pending signals, debuggers and srun in stopped steps.  Returns when
 * to look again. */
uint64_t agent_gang_steps_look(struct agent_gang *g, uint64_t now);
/* Continue and forget all steps. */
void agent_gang_steps_end(struct agent_gang *g);
/* Remove groups below base whose slurmstepd has ended; base may be "". */
void agent_gang_groups_clear(const char *base);

/* agent_gang_held.c: the main loop's, without the lock. */
/* If held jobs stand here, say so by this node's variable, for the strober
 * (src/storm_strober/held.h).  Returns when to look again. */
uint64_t agent_gang_held_look(struct agent_gang *g, uint64_t now);

/* agent_gang_doors.c: the main loop's. */
/* Give a new step its door, if it has one.  With the lock. */
void agent_gang_door_find(struct agent_gang *g, struct gang_local *l);
/* Open and forget all doors.  Without the lock. */
void agent_gang_doors_end(struct agent_gang *g);

/* agent_gang_left.c: the main loop's, without the lock. */
/* Remove the group of a step that has ended, at once or when it has no
 * process. */
void agent_gang_left_add(struct agent_gang *g, const char *group);
/* If it is time, try again to remove what is left.  Returns when to try
 * again. */
uint64_t agent_gang_left_try(struct agent_gang *g, uint64_t now);
/* Forget all groups.  The next agent removes those that are empty then. */
void agent_gang_left_end(struct agent_gang *g);

/* agent_gang_maps.c */
/* Take a map as it was received.  The main loop's, without the lock. */
void agent_gang_map(struct agent_gang *g, const void *buf, size_t len);
/* Set priority and locked memory as the last strobe requires.  That is not done
 * when a map comes, because the end of sharing is announced by strobes and by
 * no map. */
void agent_gang_maps_bind(struct agent_gang *g);
/* Say by this node's variable how many strobes it has missed, for the strober
 * (src/storm_strober/missed.h).  The main loop's, without the lock. */
void agent_gang_report_missed(struct agent_gang *g);
/* Discard all maps. */
void agent_gang_maps_end(struct agent_gang *g);

#endif
