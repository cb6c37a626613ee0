/*
 * turns_private.h - the state of turns.h, of which each file has its part:
 *
 *	turns.c		maps, strobes, silence; what comes in
 *	turns_step.c	steps: they come, go, are seen
 *	turns_apply.c	who stands and who runs, as the last strobe orders
 *	turns_bill.c	who pays for switches, with turns (gang_bill.h)
 *	turns_fill.c	who fills the gaps of whom (gang_class.h)
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
	TURNS_DOOR_WAITS, /* for some of its tasks */
	TURNS_DOOR_MET,
	TURNS_DOOR_OPEN,
};

struct turns_step {
	struct turns_step *next;
	struct turns_step_info is;
	bool stands, fills; /* the one truth; both: never */
	uint64_t began;	    /* when it was added */
	uint64_t stopped;   /* when last; 0: never */
	uint32_t stops;	    /* how often */
	bool starting, has_srun;
	enum turns_door door;
	uint64_t met; /* when all tasks were at it */
	/* excuses to run out of turn */
	bool granted;		/* for root's signal, until its slot */
	uint64_t granted_until; /* of a job that is held */
	bool traced;
	bool attaching; /* a debugger waits, and its job is held */
	uint64_t attached;
	/* turns_bill.c */
	uint64_t stop_cost, continue_cost; /* mean CPU time of the caller */
	uint64_t grant_cost;		   /* for turns that were not its own */
	bool outside;	/* it has run out of its turn in this slot */
	bool asked;	/* its CPU time is asked for, as that began */
	uint64_t used;	/* that */
	uint64_t owes;	/* CPU time out of its turns, not paid yet */
	bool gives_way; /* if it runs out of its turn: its job owes a turn */
	uint64_t cost;	/* of a turn of its job, with what it owes */
	uint32_t share; /* of its turns, which it skips */
	bool skips;	/* pays with this turn */
	bool spare;	/* has this turn of one that pays */
	/* turns_fill.c */
	struct gang_class class; /* does it sleep in its turns? */
	struct gang_grain grain; /* do its ranks meet often? */
	bool threads;		 /* it can be measured */
	uint64_t turn_at;	 /* when its turn began; 0: not measured */
	uint64_t turn_over;	 /* 0: it goes on */
	bool turn_woke;		 /* it stood before it */
};

struct turns_known { /* a map as received */
	bool there;
	struct gang_map map;
	uint64_t digest;
	uint32_t zone, self;
};

/* What waits for answers (turns_more()). */
enum turns_phase {
	TURNS_DONE,
	TURNS_SLOT_WAITS,  /* for CPU times: then the slot begins */
	TURNS_APPLY_WAITS, /* for steps before exec: then it is applied */
};

struct turns {
	struct turns_step *steps;
	uint32_t nsteps;
	struct turns_act *acts; /* room for all that one call can bring */
	size_t nacts, room;
	enum turns_phase phase;
	struct turns_known known[2]; /* [0] is the newest */
	bool shared;		     /* in the newest map jobs share */
	/* the last strobe */
	const struct turns_known *now; /* its map; NULL: none, everything runs */
	bool alone;		       /* it lets all jobs run */
	uint32_t slot;
	uint64_t number, heard;
	uint64_t turn;	/* number of the one by which the slot began */
	uint64_t acted; /* the last by which steps stand or run */
	uint64_t silence, limit;
	bool was_away; /* count all strobes since as missed */
	struct gang_agreed agreed;
	uint64_t told_version; /* the slot last in the trace */
	uint32_t told_slot;
	bool freed;	    /* a guard has continued steps */
	uint64_t long_turn; /* in longer ones a batch script always runs */
	uint64_t pending;   /* TURNS_SLOT_WAITS: the strobe's number */
	struct turns_count count;
};

/* turns_ask.c */
/* By this map the job has this node. */
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
/* Its job has the slot that is now. */
bool turns_has_slot(const struct turns *t, const struct turns_step *s);
bool turns_known_is_flexible(const struct turns_known *k);
/* A batch script runs while it has srun, which carries the output of steps. */
bool turns_script_runs(const struct turns *t, const struct turns_step *s);

/* turns_act.c */
/* Room for what `steps` more steps can bring.  False: no memory. */
bool turns_acts_grow(struct turns *t, uint32_t steps);
void turns_acts_clear(struct turns *t);
/* Append one; what: of its event, with the state as it is now. */
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
/* Begin a slot of that map, or go on with it. */
void turns_slot(struct turns *t, const struct turns_known *k, uint32_t slot,
		uint64_t number, uint64_t now);
/* Stop and continue steps as the last strobe orders, if there is one. */
void turns_apply(struct turns *t, uint64_t now);
void turns_open_now(struct turns *t, enum gang_why why, uint64_t now);

/* turns_bill.c */
/* What the slot that is over has cost is to be told.  True: it is asked for. */
bool turns_bill_asks(struct turns *t);
/* A slot begins: find the job that pays with it, and the one that has it
 * instead. */
void turns_bill_slot(struct turns *t);
/* Steps have come meanwhile: who has it may not keep it beside them. */
void turns_bill_spares(const struct turns *t);
void turns_bill_grant(const struct turns *t, struct turns_step *s);
/* It runs out of its turn, from now to the end of this slot. */
void turns_bill_outside(struct turns *t, struct turns_step *s);
void turns_bill_open(struct turns_step *s);
/* Another step of its job owes what it does. */
void turns_bill_leave(struct turns *t, const struct turns_step *s);

/* turns_fill.c */
bool turns_fill_may(const struct turns *t);
bool turns_fill_takes(const struct turns *t, const struct turns_step *s);
/* Its own turn begins, just before it continues. */
void turns_fill_turn(struct turns *t, struct turns_step *s, uint64_t now);
/* It is to fill.  False: it is needed as it is, to be measured. */
bool turns_fill_begins(struct turns *t, struct turns_step *s);
/* Note whose turn is over. */
void turns_fill_turns_over(struct turns *t, uint64_t now);

#endif
