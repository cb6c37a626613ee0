/*
 * turns.h - decides which steps stand on this node: what the Node Manager makes
 * of a strobe (paper section 2.2; doc/gang-scheduling.md, A node's side).
 * Strobes, maps and what is seen of steps go in.  Acts come out, such as: stop
 * this step, continue that.
 *
 * A pure state machine: no I/O, no lock, no clock, no memory taken while it
 * decides.  So storm_sim and the tests drive what the agent runs.  Times are ns
 * of one monotonic clock, and `now` never goes back.  Any thread may call, one
 * at a time.
 *
 * The caller does the acts, in their order, and tells what came of them:
 *
 * 	turns_strobe(t, ...);
 * 	do {
 * 		for each of turns_acts(t, &n)
 * 			do it; tell turns_failed(), turns_used(), ... if the act asks
 * 	} while (turns_more(t, now));
 *
 * A step that stands does so only while strobes come, by a map that is known
 * and has its job, and while slurmd is there.  Otherwise it runs ("fail
 * open").  This is the one truth of which steps stand: whatever else says so is
 * derived from the acts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_TURNS_H
#define STORM_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gang_agreed.h"
#include "src/gang/gang_event.h"
#include "src/storm_common/gang_map.h"

struct turns;
struct turns_step; /* a step on this node */

/* long_turn: in turns of so many ns or more a batch script runs all the time,
 * because its Slurm commands would time out.  NULL: no memory. */
struct turns *turns_create(uint64_t long_turn);
void turns_destroy(struct turns *t); /* NULL is allowed */

/* ---------------------------------------------------------------- acts --- */

enum turns_verb {
	TURNS_NOTE,	/* append the event to the trace */
	TURNS_STOP,	/* stop the step; again: some of it may run */
	TURNS_CONTINUE, /* continue the step; if that fails turns_failed() */
	TURNS_FILL,	/* let the step fill, if it runs, too; if that fails
			   turns_failed(); again: it may have ended to do so */
	TURNS_START,	/* let its tasks go on, which wait before exec */
	TURNS_USE,	/* tell by turns_used() what CPU time it has used */
	TURNS_LOOK,	/* if it is not before exec any more turns_started() */
	TURNS_BEGIN,	/* its turn is measured from now on */
	TURNS_END,	/* its turn is over: tell turns_slept() */
};

struct turns_act {
	enum turns_verb verb;
	struct turns_step *step; /* NULL: an event of the node */
	bool again;		 /* TURNS_STOP, TURNS_FILL */
	bool ran;		 /* TURNS_FILL: it did not stand before */
	bool filled; /* TURNS_CONTINUE: it filled, and did not stand */
	bool beside; /* TURNS_CONTINUE: another step of its job fills, and goes
			  on to: if they share a cpu.idle, leave that as it is */
	bool noted;  /* if the act succeeds, its event goes to the trace */
	bool woke;   /* TURNS_END: it stood before its turn */
	bool stood;  /* TURNS_END: it stands now */
	uint64_t over; /* TURNS_END: when its turn was over; 0: it goes on */
	struct gang_event event; /* without its time */
};

/* The n acts that the last call wants to be done.  The list is valid until the
 * next call that takes `now`. */
const struct turns_act *turns_acts(const struct turns *t, size_t *n);
/* All of them are done.  True: what was told brings more. */
bool turns_more(struct turns *t, uint64_t now);

/* The act failed: the step still stands, or waits before exec.  Or it runs as it
 * did and cannot give way: then turns_more() stops it.  For a step that has ended
 * this changes nothing. */
void turns_failed(struct turns *t, const struct turns_act *a);
/* Is it of interest what this act costs the caller?  To measure it is not
 * cheap.  If so, turns_cost() takes the ns of CPU time. */
bool turns_cost_wanted(const struct turns_act *a);
void turns_cost(struct turns_step *s, enum turns_verb verb, uint64_t ns);
/* Answer to TURNS_USE: the ns of CPU time; known false: that cannot be read. */
void turns_used(struct turns_step *s, uint64_t ns, bool known);
/* Answer to TURNS_LOOK: all tasks of the step are past exec. */
void turns_started(struct turns_step *s);
/* Answer to TURNS_END: in its turn of `turn` ns the step slept for `asleep` ns,
 * or for less if that is not exact. */
void turns_slept(struct turns_step *s, uint64_t turn, uint64_t asleep,
		 bool exact);

/* --------------------------------------------------------------- steps --- */

struct turns_step_info {
	uint32_t job, step;
	uint32_t kind; /* for its event: enum freezer_kind */
	bool script;   /* it is a batch script's */
	bool can_fill; /* its group can give way to others */
	bool measured; /* its CPU time is known */
	bool yields;   /* its user wants it to give way outside its turns; no
			  effect where the policy is flexible */
	bool starting; /* some of its tasks may be before exec */
	bool has_srun; /* it is a script, and an srun runs in it */
	void *owner;   /* the caller's, see turns_step_owner() */
};

/* A step has begun.  NULL: no memory. */
struct turns_step *turns_step_add(struct turns *t,
				  const struct turns_step_info *info,
				  uint64_t now);
/* A step ends: the acts continue what is left of it.  Call turns_step_free()
 * after them. */
void turns_step_end(struct turns *t, struct turns_step *s, uint64_t now);
void turns_step_free(struct turns *t, struct turns_step *s);
void *turns_step_owner(const struct turns_step *s);
/* Steps have come or gone: decide anew. */
void turns_decide(struct turns *t, uint64_t now);

/* The step's tasks wait at a door before exec. */
void turns_step_door(struct turns_step *s);
/* All of its tasks are at the door, since then. */
void turns_step_met(struct turns *t, struct turns_step *s, uint64_t since,
		    uint64_t now);
/* No task waits at the door any more. */
void turns_step_door_gone(struct turns_step *s);

/* What was seen of a step.  A script has an srun, or has none any more. */
void turns_saw_srun(struct turns_step *s, bool has);
/* A debugger traces it, or none does.  awaits: the debugger waits for a process
 * to stop, which a process in a frozen group cannot do.  debug: steps that are
 * traced run (GangDebug). */
void turns_saw_tracer(struct turns *t, struct turns_step *s, bool traced,
		      bool awaits, bool debug, uint64_t now);
/* A signal of root's waits for it. */
void turns_saw_signal(struct turns *t, struct turns_step *s, uint64_t now);
/* Some of its processes may run although it stands (others); or it could not be
 * continued, and should be. */
void turns_saw_doubt(struct turns *t, struct turns_step *s, bool others,
		     uint64_t now);
/* Its threads can be measured, or cannot; anew: they are others than before. */
void turns_saw_threads(struct turns_step *s, bool there, bool anew);
/* Its ranks waited so often, and for so long: gang_grain_add(). */
void turns_saw_waits(struct turns_step *s, uint64_t waits, uint64_t computed,
		     uint64_t waited, uint64_t ran);

/* ------------------------------------------------- maps, strobes, time --- */

/* Take a map with its digest.  zone, self: this node's zone and number in it.
 * *map moves here, and becomes the map that is not needed any more, which the
 * caller frees. */
void turns_map(struct turns *t, struct gang_map *map, uint64_t digest,
	       uint32_t zone, uint32_t self, uint64_t now);
/* A new strobe was received at that time.  slurmd: there is one that can guard
 * the steps.  True: a slot begins or goes on now. */
bool turns_strobe(struct turns *t, uint64_t number,
		  const struct gang_strobe *st, uint64_t received, bool slurmd,
		  uint64_t now);
/* If the time of a strobe that waits, or of a plan, has come, act by it.  True:
 * a slot begins or goes on now. */
bool turns_agreed(struct turns *t, bool slurmd, uint64_t now);
/* When turns_late() has something to do; STORM_NEVER: everything runs. */
uint64_t turns_late_at(const struct turns *t);
/* If no strobe has come for too long, or there is no slurmd, let everything
 * run.  Returns when to call again; STORM_NEVER: a step that still stands could
 * not be continued (turns_saw_doubt()). */
uint64_t turns_late(struct turns *t, bool slurmd, uint64_t now);
/* A guard has continued steps: the next call stops again what should stand. */
void turns_freed(struct turns *t);
/* Let everything run until the next strobe, for this reason. */
void turns_open(struct turns *t, enum gang_why why, uint64_t now);
/* This process did not run for a while. */
void turns_returned(struct turns *t, uint64_t now);
/* The domain is gone: forget maps and strobes, and let everything run. */
void turns_close(struct turns *t, uint64_t now);

/* ----------------------------------------------------- what others ask --- */

/* How many steps stand or fill; 0: no guard is needed. */
uint32_t turns_standing(const struct turns *t);
bool turns_step_stands(const struct turns_step *s);
bool turns_step_fills(const struct turns_step *s);
uint64_t turns_step_stopped_at(const struct turns_step *s); /* 0: never */
bool turns_step_is_traced(const struct turns_step *s);
/* Is its job held, and does a debugger wait for it to stop? */
bool turns_step_attaches(const struct turns_step *s);
/* Does the last strobe's map hold its job? */
bool turns_step_is_held(const struct turns *t, const struct turns_step *s);
/* Is it to give way outside its turn and not to stand, if it can? */
bool turns_step_should_yield(const struct turns *t, const struct turns_step *s);
/* Must it stand, as its job is held?  A held job's script may run for its
 * steps. */
bool turns_step_must_stand(const struct turns *t, const struct turns_step *s);
bool turns_step_takes_turns(const struct turns *t, const struct turns_step *s);
bool turns_job_has_steps(const struct turns *t, uint32_t job);

/* Do jobs share this node by the newest map, and does the last strobe keep them
 * apart? */
bool turns_shares(const struct turns *t);
bool turns_alternates(const struct turns *t);
/* Is the newest map's policy flexible here? */
bool turns_is_flexible(const struct turns *t);
/* Does a strobe hold?  *newest: it follows the newest map. */
bool turns_strobed(const struct turns *t, bool *newest);
uint64_t turns_acted(const struct turns *t);   /* the last strobe's number */
uint64_t turns_limit(const struct turns *t);   /* ns until a guard acts */
uint64_t turns_quantum(const struct turns *t); /* of the slot; 0: none */
struct gang_agreed *turns_agreed_time(struct turns *t);

struct turns_count {
	uint64_t steps, maps, strobes, missed, slots, stops, opened, fills;
	uint64_t agreed, planned;
};
const struct turns_count *turns_counted(const struct turns *t);

#endif
