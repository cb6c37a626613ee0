/*
 * turns_private.h - the state of turns.h, of which each file has its part:
 *
 *	turns.c		maps, strobes, silence: what comes in
 *	turns_step.c	steps: they come, go, are seen
 *	turns_apply.c	which steps stand and run, as the last strobe orders
 *	turns_bill.c	which jobs pay for switches, with turns (gang_bill.h)
 *	turns_fill.c	which steps fill the gaps of others (gang_class.h)
 *	turns_act.c	the list of acts
 *	turns_ask.c	questions that change nothing
 *
 * The first two call apply, apply calls bill and fill, all of them act and ask.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_TURNS_PRIVATE_H
#define STORM_TURNS_PRIVATE_H

#include "gang_class.h"
#include "gang_grain.h"
#include "src/libstorm/base/units.h"
#include "turns.h"

enum turns_door {
	TURNS_NO_DOOR,
	TURNS_DOOR_WAITS, /* some of its tasks are not there yet */
	TURNS_DOOR_MET,	  /* all of them are */
	TURNS_DOOR_OPEN,
};

struct turns_step {
	struct turns_step *next;
	struct turns_step_info is;
	bool stands, fills; /* the one truth; both: never */
	uint64_t began;	    /* when it was added */
	uint64_t stopped;   /* when it was stopped last; 0: never */
	uint32_t stops;	    /* how often it was */
	bool starting, has_srun;
	enum turns_door door;
	uint64_t met; /* when all tasks were at the door */
	/* Reasons to run outside its turn. */
	bool granted;		/* root's signal waits: until its slot */
	uint64_t granted_until; /* until when, if its job is held */
	bool traced;
	bool attaching;	   /* a debugger waits, and its job is held */
	uint64_t attached; /* since when */
	/* turns_bill.c */
	uint64_t stop_cost, continue_cost; /* ns of the caller's CPU, mean */
	uint64_t grant_cost; /* ns, for turns that were not its own */
	bool outside;	     /* it has run outside its turn in this slot */
	bool asked;	     /* TURNS_USE is asked for, as that began */
	uint64_t used;	     /* the answer: its CPU time then, ns */
	uint64_t owes;	/* ns of CPU time outside its turns, not paid yet */
	bool gives_way; /* its job owes a turn: outside its turn it fills */
	uint64_t cost;	/* ns, of a turn of its job, with what it owes */
	uint32_t share; /* of GANG_BILL_PARTS turns, how many it skips */
	bool skips;	/* it pays with this turn */
	bool spare;	/* it has the turn of one that pays */
	/* turns_fill.c */
	struct gang_class class; /* does it sleep in its turns? */
	struct gang_grain grain; /* do its ranks meet often? */
	bool threads;		 /* its threads can be measured */
	uint64_t turn_at;   /* when its turn began; 0: it is not measured */
	uint64_t turn_over; /* when it was over; 0: it goes on */
	bool turn_woke;	    /* the step stood before its turn */
};

/* A map as it was received. */
struct turns_known {
	bool there;
	struct gang_map map;
	uint64_t digest;
	uint32_t zone, self;
};

/* What is done after the caller's answers (turns_more()). */
enum turns_phase {
	TURNS_DONE,	   /* nothing */
	TURNS_SLOT_WAITS,  /* CPU times are asked for: begin the slot */
	TURNS_APPLY_WAITS, /* steps before exec are looked at: apply it */
};

struct turns {
	struct turns_step *steps;
	uint32_t nsteps;
	struct turns_act *acts; /* room for all acts that one call can bring */
	size_t nacts, room;
	enum turns_phase phase;
	struct turns_known known[2]; /* [0] is the newest */
	bool shared;		     /* in the newest map jobs share */
	/* the last strobe */
	const struct turns_known *now; /* its map; NULL: everything runs */
	bool alone;		       /* it lets all jobs run */
	uint32_t slot;
	uint64_t number, heard;
	uint64_t turn;	/* number of the one by which the slot began */
	uint64_t acted; /* the last by which steps stand or run */
	uint64_t silence, limit;
	bool was_away; /* count all strobes since as missed */
	struct gang_agreed agreed;
	uint64_t told_version; /* map and slot that the trace has last */
	uint32_t told_slot;
	bool freed;	    /* a guard has continued steps */
	uint64_t long_turn; /* see turns_create() */
	uint64_t pending;   /* TURNS_SLOT_WAITS: the strobe's number */
	struct turns_count count;
};

/* turns_ask.c */
/* Has the job this node, by this map? */
bool turns_is_here(const struct turns_known *k, const struct gang_job *j);
/* The job, if it has this node in the map; else NULL. */
const struct gang_job *turns_job_in(const struct turns_known *k, uint32_t job);
static inline uint64_t turns_zone_quantum(const struct turns *t)
{
	return t->now->map.zones[t->now->zone].quantum;
}
static inline bool turns_step_held(const struct turns_step *s)
{
	return s->stands || s->fills;
}
/* Has its job the present slot? */
bool turns_has_slot(const struct turns *t, const struct turns_step *s);
bool turns_known_is_flexible(const struct turns_known *k);
/* Does it give way outside its turn, and is not stopped? */
bool turns_yields(const struct turns *t, const struct turns_step *s);
/* Does it so by its user's wish alone, beside neighbours that do not? */
bool turns_yields_alone(const struct turns *t, const struct turns_step *s);
/* May a batch script run outside its turn?  It may while it has an srun, which
 * carries the output of steps. */
bool turns_script_runs(const struct turns *t, const struct turns_step *s);

/* turns_act.c */
/* Make room for the acts that `steps` more steps can bring.  False: no
 * memory. */
bool turns_acts_grow(struct turns *t, uint32_t steps);
void turns_acts_clear(struct turns *t);
/* Append an act with an event of this kind, by the present state. */
struct turns_act *turns_act_add(struct turns *t, enum turns_verb verb,
				struct turns_step *s, enum gang_what what,
				uint32_t a, uint32_t b);
void turns_note(struct turns *t, enum gang_what what, struct turns_step *s,
		uint32_t a, uint32_t b);

/* turns_apply.c */
void turns_stop(struct turns *t, struct turns_step *s, bool again,
		uint64_t now);
void turns_continue(struct turns *t, struct turns_step *s, enum gang_why why,
		    uint64_t now);
/* Begin a slot of the map k, or go on with it, by the strobe of this number. */
void turns_slot(struct turns *t, const struct turns_known *k, uint32_t slot,
		uint64_t number, uint64_t now);
/* Stop and continue steps as the last strobe orders, if there is one. */
void turns_apply(struct turns *t, uint64_t now);
/* Let everything run, for this reason. */
void turns_open_now(struct turns *t, enum gang_why why, uint64_t now);

/* turns_bill.c */
/* Ask for what the slot that is over has cost.  True: there is something to
 * ask. */
bool turns_bill_asks(struct turns *t);
/* A slot begins: find the job that pays with it, and the one that has it
 * instead. */
void turns_bill_slot(struct turns *t);
/* Steps have come meanwhile: take the turn back from a job that shares cores
 * with them. */
void turns_bill_spares(const struct turns *t);
/* The step ran for a signal of root's: it owes about one turn for that. */
void turns_bill_grant(const struct turns *t, struct turns_step *s);
/* The step runs outside its turn, from now to the end of this slot. */
void turns_bill_outside(struct turns *t, struct turns_step *s);
/* Everything runs: nothing more is billed for this slot. */
void turns_bill_open(struct turns_step *s);
/* The step ends: another step of its job owes what it owes. */
void turns_bill_leave(struct turns *t, const struct turns_step *s);

/* turns_fill.c */
/* May steps fill now?  All steps in turn here must sleep, and be able to give
 * way. */
bool turns_fill_may(const struct turns *t);
/* Does this step take a gap?  One that spins leaves it to steps that
 * compute. */
bool turns_fill_takes(const struct turns *t, const struct turns_step *s);
/* The step's own turn begins, just before it continues. */
void turns_fill_turn(struct turns *t, struct turns_step *s, uint64_t now);
/* May the step fill now?  False: it must stand, so that its turn is measured
 * exactly. */
bool turns_fill_begins(struct turns *t, struct turns_step *s);
/* Note which steps' turns are over. */
void turns_fill_turns_over(struct turns *t, uint64_t now);

#endif
