/*
 * agent_gang_private.h - the state that the files of gang scheduling share:
 *
 *	agent_gang.c		starts and ends it
 *	agent_gang_maps.c	keeps the maps of turns
 *	agent_gang_steps.c	keeps the list of this node's steps
 *	agent_gang_doors.c	lets a step's tasks wait for its first turn
 *	agent_gang_left.c	removes the groups of steps that have ended
 *	agent_gang_turns.c	stops and continues steps
 *	agent_gang_held.c	tells the strober that held jobs stand
 *	agent_gang_fill.c	lets steps fill the gaps of others
 *	agent_gang_naps.c	finds who sleeps in its turns
 *	agent_gang_agreed.c	begins slots at the agreed time
 *	agent_gang_waits.c	finds whose ranks meet often
 *	agent_gang_bill.c	finds who pays for switches, with turns
 *	agent_gate.c		what the next one must know
 *	agent_strobe.c		the thread that takes strobes
 *
 * agent_gang.c calls the others.  Of them agent_strobe.c calls all above it but
 * steps, doors and held.  maps, steps, doors, held and gate call turns, which calls
 * none of them.
 *
 * Two threads use this state: the main loop, and that of agent_strobe.c, which
 * has a real-time priority.  The lock lends its holder that priority.  It is
 * held for microseconds: not while files of /proc, records or maps are read.
 * Only the main loop changes the list of steps, so it reads the list without
 * the lock.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_GANG_PRIVATE_H
#define STORM_AGENT_GANG_PRIVATE_H

#include <limits.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "src/storm_agent/agent.h"
#include "src/storm_agent/agent_session.h"
#include "gang_agreed.h"
#include "gang_class.h"
#include "gang_grain.h"
#include "src/gang/gang_page.h"
#include "src/gang/gang_stand.h"
#include "src/gang/gang_step.h"
#include "src/storm_common/gang_map.h"
#include "src/libstorm/base/clock.h"

/* Reading /proc takes time from the job whose turn it is, and its other nodes
 * wait for this one.  So a step that is stopped for less is not checked: its
 * slot is near, and it handles a signal then. */
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

struct gang_local {	    /* a step on this node */
	struct agent_io io; /* pidfd of the slurmstepd */
	struct gang_local *next;
	char name[GANG_STEP_NAME];
	struct gang_step step;
	struct freezer *f;
	struct gang_mark *mark;
	uint64_t stopped, looked;	   /* when last; 0: never */
	uint64_t stop_cost, continue_cost; /* mean CPU time of this agent */
	uint32_t stops;			   /* how often it was stopped */
	uint64_t grant_cost;		   /* for turns that were not its own */
	bool outside;	/* it has run out of its turn in this slot */
	uint64_t used;	/* CPU time, as that began */
	uint64_t owes;	/* CPU time out of its turns, not paid yet */
	bool gives_way; /* if it runs out of its turn: its job owes a turn */
	uint64_t cost;	/* of a turn of its job, with what it owes */
	uint32_t share; /* of its turns, which it skips: gang_bill.h */
	bool skips;	/* pays with this turn */
	bool fills;	/* has this turn of one that pays */
	struct gang_class class;  /* does it sleep in its turns? */
	struct gang_naps *naps;	  /* its threads; NULL: not known */
	uint64_t naps_at;	  /* when the main loop looked for them */
	struct gang_grain grain;  /* do its ranks meet often? */
	struct gang_waits *waits; /* the main loop's; NULL: not known */
	uint64_t turn_at;	  /* when its turn began; 0: not measured */
	uint64_t turn;		  /* ns; 0: it is not over */
	bool turn_woke;		  /* it stood before it */
	struct senders *senders;  /* asked whose signals wait */
	uint64_t asked;		  /* when; as `busy` ends */
	uint64_t busy;		/* how long looking at it took the last time */
	bool granted;		/* runs for root's signal until its slot */
	uint64_t granted_until; /* of a job that is held */
	bool traced;		/* a debugger traces it */
	bool attaching; /* a debugger waits for it to stop, and its job is held */
	uint64_t attached; /* when that began */
	bool has_srun;
	bool starting;	/* not all tasks are past exec, or at the door */
	uint64_t began; /* when it was found */
	struct gang_door *door; /* NULL: there is none */
	bool listed;		/* found by the listing under way */
	bool told;		/* logged that it cannot be stopped */
	bool told_traced;
};

struct gang_known { /* a map as received */
	bool there;
	struct gang_map map;
	uint64_t digest;
	uint32_t zone, self;
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
	struct timespec listed; /* their directory's change, when listed last */
	bool list_again;	/* that may not have been all */
	bool told_unwatched;	/* logged that a step cannot be watched */
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
	struct gang_known known[2]; /* [0] is the newest */
	bool shared;		    /* in the newest map jobs share */
	bool realtime, refused;
	uint64_t told_missed; /* the main loop's */
	/* agent_gang_held.c: the main loop's */
	bool holds; /* the newest map, or the one before, holds a job here */
	uint64_t held_at; /* when to look again */
	/* agent_gang_turns.c */
	const struct gang_known *now; /* the last strobe's map; NULL: none,
					   and everything runs */
	bool alone;		      /* the last strobe lets all jobs run */
	uint32_t slot;
	uint64_t told_version; /* last in the trace, as told_slot */
	uint32_t told_slot;
	uint64_t number, heard; /* number and time of the last strobe */
	uint64_t turn;		/* number of the one by which the slot began */
	struct gang_agreed agreed; /* which strobe waits for its time */
	uint64_t silence;	   /* ns after which that strobe expires */
	uint64_t acted; /* the last strobe by which steps stand or run */
	uint64_t slurmd_at;
	bool slurmd_stands;
	bool was_away;	/* count all strobes since as missed */
	uint32_t freed; /* the page's, as last seen */
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

/* True: by this map the job has this node. */
static inline bool agent_gang_is_here(const struct gang_known *k,
				      const struct gang_job *j)
{
	return j->zone == k->zone && storm_idset_has(&j->nodes, k->self);
}

/* The job, if it has this node in the map; else NULL. */
static inline const struct gang_job *
agent_gang_job_in(const struct gang_known *k, uint32_t job_id)
{
	const struct gang_job *j = k->there ? gang_map_job(&k->map, job_id) :
					      NULL;

	return j && agent_gang_is_here(k, j) ? j : NULL;
}

/* In shorter turns the gaps are as long as what starting and stopping a filler
 * costs. */
#define AGENT_GANG_FILL (5 * STORM_MS)

/* Is that the policy of this node's zone, by this map? */
static inline bool agent_gang_is_flexible(const struct gang_known *k)
{
	const struct gang_zone *z = k->there && k->zone < k->map.nzones ?
					    &k->map.zones[k->zone] :
					    NULL;

	return z && z->policy == GANG_POLICY_FLEXIBLE &&
	       z->quantum >= AGENT_GANG_FILL;
}

/* True: its job is held by the last strobe's map, which is there. */
static inline bool agent_gang_is_held(const struct agent_gang *g,
				      const struct gang_local *l)
{
	const struct gang_job *j = agent_gang_job_in(g->now, l->step.job);

	return j && gang_job_held(j);
}

/* agent_gang_turns.c: call all of these with the lock, and the next part's,
 * too, unless they say otherwise */
/* Append an event of step l to the trace; NULL: of the node. */
void agent_gang_trace(struct agent_gang *g, enum gang_what what,
		      const struct gang_local *l, uint32_t a, uint32_t b);
/* again: also if the step is stopped already, as some processes may run. */
void agent_gang_step_stop(struct agent_gang *g, struct gang_local *l,
			  bool again);
/* Does nothing if the step is not stopped by us: Slurm may have suspended
 * it.  Tasks at its door go on. */
void agent_gang_step_continue(struct agent_gang *g, struct gang_local *l,
			      enum gang_why why);
/* Continue all steps; none stops until the next strobe. */
void agent_gang_open(struct agent_gang *g, enum gang_why why);
/* Stop and continue steps as the last strobe orders.  No-op without a
 * strobe. */
void agent_gang_apply(struct agent_gang *g);
/* Why the step runs by the last strobe, which is there; 0: it stands. */
enum gang_why agent_gang_step_runs(struct agent_gang *g, struct gang_local *l);
/* True: the job has a step on this node other than its batch script. */
bool agent_gang_job_has_steps(const struct agent_gang *g, uint32_t job);
/* A strobe, which is new, was received at that time: obey it, now or when its
 * slot begins. */
void agent_gang_obey(struct agent_gang *g, uint64_t number, const void *buf,
		     size_t len, uint64_t received);
/* The map that a strobe names, or NULL. */
const struct gang_known *agent_gang_map_meant(const struct agent_gang *g,
					      const struct gang_strobe *s);
/* False: no slurmd is connected, or it is stopped and cannot guard the steps. */
bool agent_gang_slurmd_is_there(struct agent_gang *g, uint64_t now);
/* Tell the guards whether jobs share this node. */
void agent_gang_share(struct agent_gang *g, bool sharing);
/* Begin a slot of that map, or go on with it, by the strobe of this number. */
void agent_gang_begin_slot(struct agent_gang *g, const struct gang_known *k,
			   uint32_t slot, uint64_t number);
/* This process was stopped: continue all steps. */
void agent_gang_return(struct agent_gang *g);
/* Give the sign of life, and continue all steps if the last strobe has expired
 * or slurmd is gone.  Returns when the strobe expires; STORM_NEVER: all steps
 * run. */
uint64_t agent_gang_until(struct agent_gang *g, uint64_t now);
/* When to check whether slurmd is stopped. */
uint64_t agent_gang_slurmd_due(const struct agent_gang *g);

/* agent_gang_agreed.c: with the lock */
/* The thread has woken up so late for gang_agreed_awake(). */
void agent_gang_agreed_woke(struct agent_gang *g, uint64_t late);
/* Act by the strobe that waits, or by the plan, if its time has come. */
void agent_gang_agreed_act(struct agent_gang *g, uint64_t now);

/* agent_gang_bill.c: with the lock */
/* Measure a switch by this thread's CPU time: before it, and after it with what the
 * first call returned.  Reading that clock is not cheap: of a step whose switches
 * are, only some are measured. */
uint64_t agent_gang_bill_begin(const struct gang_local *l);
void agent_gang_bill_end(uint64_t *mean, uint64_t begun);
/* A signal of root's has brought it back out of its turn, and what it uses there
 * cannot be measured. */
void agent_gang_bill_grant(const struct agent_gang *g, struct gang_local *l);
/* It runs out of its turn, from now to the end of this slot. */
void agent_gang_bill_outside(const struct agent_gang *g, struct gang_local *l);
/* Everything runs: nothing is out of its turn any more. */
void agent_gang_bill_open(struct gang_local *l);
/* The step ends, and another one of its job owes what it does. */
void agent_gang_bill_leave(struct agent_gang *g, const struct gang_local *l);
/* A slot begins: find who pays with it, and who has it instead. */
void agent_gang_bill_slot(struct agent_gang *g);

/* agent_gang_fill.c: with the lock */
/* True: in this slot steps out of their turn may fill gaps. */
bool agent_gang_fill_may(const struct agent_gang *g);
/* Such a step is to fill them: it computes, or nobody who does wants them. */
bool agent_gang_fill_takes(const struct agent_gang *g,
			   const struct gang_local *l);
/* The step's own turn begins, just before it continues. */
void agent_gang_fill_turn(struct gang_local *l);
/* Its turn is over, it was stopped, and is to fill.  False: it is needed as it is,
 * to be measured. */
bool agent_gang_fill_begins(struct gang_local *l);
/* Note whose turn is over. */
void agent_gang_fill_turns_over(struct agent_gang *g);

/* agent_gang_naps.c: with the lock, unless they say otherwise */
/* Measure a turn of a step, of l->turn_at and l->turn: it begins; it is over.  stood:
 * the step has stood since, and not only been told to. */
void agent_gang_naps_begin(struct gang_local *l);
void agent_gang_naps_end(struct gang_local *l, bool stood);
/* The main loop's, without the lock: find the threads of steps that are to be
 * measured.  Returns when to look again. */
uint64_t agent_gang_naps_look(struct agent_gang *g, uint64_t now);
void agent_gang_naps_free(struct gang_naps *n); /* NULL is allowed */

/* agent_gang_waits.c: the main loop's, without the lock */
/* Read what the step's ranks tell of how they wait. */
void agent_gang_waits_look(struct agent_gang *g, struct gang_local *l);
void agent_gang_waits_free(struct gang_waits *w); /* NULL is allowed */
/* Forget accounts whose steps have not left a record. */
void agent_gang_waits_end(struct agent_gang *g);

/* agent_gang_steps.c: the main loop's, without the lock */
/* Read the records: add new steps, forget those without one. */
void agent_gang_steps_list(struct agent_gang *g);
/* Read them if it is time and something has changed of which nobody has told.
 * Returns when to look again. */
uint64_t agent_gang_steps_relist(struct agent_gang *g, uint64_t now);
/* Look for pending signals, debuggers and srun in stopped steps.  Returns when
 * to look again. */
uint64_t agent_gang_steps_look(struct agent_gang *g, uint64_t now);
/* Continue and forget all steps. */
void agent_gang_steps_end(struct agent_gang *g);
/* Remove groups below base whose slurmstepd has ended; base may be "". */
void agent_gang_groups_clear(const char *base);

/* agent_gang_held.c: the main loop's, without the lock */
/* Publish that held jobs stand here, as this node's variable, for the strober
 * (src/storm_strober/held.h).  Returns when to look again. */
uint64_t agent_gang_held_look(struct agent_gang *g, uint64_t now);

/* agent_gang_doors.c: the main loop's */
/* With the lock: a new step gets its door. */
void agent_gang_door_find(struct agent_gang *g, struct gang_local *l);
/* Open and forget all of them.  Without the lock. */
void agent_gang_doors_end(struct agent_gang *g);

/* agent_gang_left.c: the main loop's, without the lock */
/* Remove an ended step's group, at once or as soon as no process is in it. */
void agent_gang_left_add(struct agent_gang *g, const char *group);
/* Try it, if it is time.  Returns when to try again. */
uint64_t agent_gang_left_try(struct agent_gang *g, uint64_t now);
/* Forget them all.  The next agent removes what is empty then. */
void agent_gang_left_end(struct agent_gang *g);

/* agent_gang_maps.c */
/* Take a map as received.  The main loop's, without the lock. */
void agent_gang_map(struct agent_gang *g, const void *buf, size_t len);
/* Set priority and locked memory as the last strobe requires: when sharing
 * ends, strobes announce it, and no map. */
void agent_gang_maps_bind(struct agent_gang *g);
/* Publish the number of missed strobes as this node's variable, for the strober
 * (src/storm_strober/missed.h).  The main loop's, without the
 * lock. */
void agent_gang_report_missed(struct agent_gang *g);
/* Discard all maps. */
void agent_gang_maps_end(struct agent_gang *g);

#endif
