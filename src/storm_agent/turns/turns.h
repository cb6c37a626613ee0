/*
 * turns.h - whose turn it is on this node: what the Node Manager makes of a strobe
 * (paper section 2.2; doc/gang-scheduling.md, A node's side).  Strobes, maps and what
 * is seen of steps go in; acts come out: stop this step, continue that one.
 *
 * A pure state machine: no I/O, no lock, no clock, no memory taken while it decides.
 * So storm_sim and the tests drive what the agent runs.  Times are ns of one monotonic
 * clock, and `now` never goes back.  Any thread may call, one at a time.
 *
 * The caller has to do the acts, in their order, and to tell what came of them:
 *
 *	turns_strobe(t, ...);
 *	do {
 *		for each of turns_acts(t, &n)
 *			do it; tell turns_failed(), turns_used(), ... if the act asks
 *	} while (turns_more(t, now));
 *
 * A step that stands does so only while strobes come, by a map that is known and has
 * its job, and while slurmd is there.  Otherwise it runs ("fail open").  This is the
 * one truth of which steps stand: whatever else says so is derived from the acts.
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
struct turns_step; /* on this node */

/* long_turn: ns; in turns of that length a batch script runs all the time, as its
 * Slurm commands would time out.  NULL: no memory. */
struct turns *turns_create(uint64_t long_turn);
void turns_destroy(struct turns *t); /* NULL is allowed */

/* -------------------------------------------------------------------- acts --- */

enum turns_verb {
	TURNS_NOTE, /* append the event to the trace */
	TURNS_STOP, /* the step; again: some of it may run though it stands */
	TURNS_CONTINUE, /* the step; on failure turns_failed() */
	TURNS_FILL,  /* it runs while nobody in turn wants the CPU; likewise */
	TURNS_START, /* its tasks, which wait before exec, go on */
	TURNS_USE,   /* tell the CPU time that it has used: turns_used() */
	TURNS_LOOK,  /* is it still before exec?  If not: turns_started() */
	TURNS_BEGIN, /* its turn is measured from now on */
	TURNS_END,   /* its turn is over: tell turns_slept() */
};

struct turns_act {
	enum turns_verb verb;
	struct turns_step *step; /* NULL: an event of the node */
	bool again;		 /* TURNS_STOP */
	bool filled;		 /* TURNS_CONTINUE: it has, and has not stood */
	bool noted;	  /* its event goes to the trace, if it succeeds */
	bool woke, stood; /* TURNS_END: as it began; by now */
	uint64_t over;	  /* TURNS_END: when; 0: it goes on */
	struct gang_event event; /* without its time */
};

/* What the last call wants to be done.  The list is good until the next call that
 * takes the time. */
const struct turns_act *turns_acts(const struct turns *t, size_t *n);
/* All of it is done.  True: what was told brings more. */
bool turns_more(struct turns *t, uint64_t now);

/* It still stands, does not fill, or waits before exec as it did.  It changes nothing
 * that counts for a step that has ended. */
void turns_failed(struct turns *t, const struct turns_act *a);
/* Is it to be measured what the act costs this process?  Reading the clock is not
 * cheap.  If so: that, ns of CPU time. */
bool turns_cost_wanted(const struct turns_act *a);
void turns_cost(struct turns_step *s, enum turns_verb verb, uint64_t ns);
/* ns of CPU time; known: false: nobody can tell. */
void turns_used(struct turns_step *s, uint64_t ns, bool known);
void turns_started(struct turns_step *s);
/* In the turn that is over, which was so long, it slept for so long, or for less if that
 * is not exact. */
void turns_slept(struct turns_step *s, uint64_t turn, uint64_t asleep,
		 bool exact);

/* ------------------------------------------------------------------- steps --- */

struct turns_step_info {
	uint32_t job, step;
	uint32_t kind; /* for its event: enum freezer_kind */
	bool script;   /* a batch script's */
	bool can_fill; /* its group can give way */
	bool measured; /* its CPU time is known */
	bool starting; /* not all of its tasks may be past exec */
	bool has_srun; /* a script that has one */
	void *owner;   /* the caller's, see turns_step_owner() */
};

/* A step is there.  NULL: no memory. */
struct turns_step *turns_step_add(struct turns *t,
				  const struct turns_step_info *info,
				  uint64_t now);
/* It ends: the acts continue what is left of it.  Then turns_step_free(). */
void turns_step_end(struct turns *t, struct turns_step *s, uint64_t now);
void turns_step_free(struct turns *t, struct turns_step *s);
void *turns_step_owner(const struct turns_step *s);
/* Steps have come or gone: decide anew. */
void turns_decide(struct turns *t, uint64_t now);

/* Its tasks wait before exec, at a door; all of them do, since then. */
void turns_step_door(struct turns_step *s);
void turns_step_met(struct turns *t, struct turns_step *s, uint64_t since,
		    uint64_t now);
/* Nobody waits there any more. */
void turns_step_door_gone(struct turns_step *s);

/* What was seen of it. */
void turns_saw_srun(struct turns_step *s, bool has);
/* A debugger traces it; awaits: it waits for a process to stop, which one in a frozen
 * group does not.  debug: steps that are traced run (GangDebug). */
void turns_saw_tracer(struct turns *t, struct turns_step *s, bool traced,
		      bool awaits, bool debug, uint64_t now);
/* A signal of root's waits for it. */
void turns_saw_signal(struct turns *t, struct turns_step *s, uint64_t now);
/* Other processes of it may run; or it could not be continued, and should be. */
void turns_saw_doubt(struct turns *t, struct turns_step *s, bool others,
		     uint64_t now);
/* Its threads can be measured; anew: they are others than before. */
void turns_saw_threads(struct turns_step *s, bool there, bool anew);
/* Its ranks waited so often, and so long: gang_grain.h. */
void turns_saw_waits(struct turns_step *s, uint64_t waits, uint64_t computed,
		     uint64_t waited, uint64_t ran);

/* ------------------------------------------------------ maps, strobes, time --- */

/* A map with its digest; zone and self: this node's in it.  *map moves here, and
 * comes back as the one that nothing names any more: the caller frees it. */
void turns_map(struct turns *t, struct gang_map *map, uint64_t digest,
	       uint32_t zone, uint32_t self, uint64_t now);
/* A strobe, which is new, was received at that time.  slurmd: it is there, and can
 * guard the steps.  True: a slot begins or goes on now. */
bool turns_strobe(struct turns *t, uint64_t number,
		  const struct gang_strobe *st, uint64_t received, bool slurmd,
		  uint64_t now);
/* A strobe waits for its time, or a plan does: act if that has come.  True: a slot
 * begins or goes on. */
bool turns_agreed(struct turns *t, bool slurmd, uint64_t now);
/* When turns_late() has something to do; STORM_NEVER: everything runs. */
uint64_t turns_late_at(const struct turns *t);
/* No strobe for too long, or no slurmd: everything runs.  Returns when to call again;
 * STORM_NEVER: what stands by then could not be continued (turns_saw_doubt()). */
uint64_t turns_late(struct turns *t, bool slurmd, uint64_t now);
/* A guard has continued steps: the next call stops again what should stand. */
void turns_freed(struct turns *t);
/* Everything runs until the next strobe, for this reason. */
void turns_open(struct turns *t, enum gang_why why, uint64_t now);
/* This process did not run for a while. */
void turns_returned(struct turns *t, uint64_t now);
/* The domain is gone: no maps, no strobes. */
void turns_close(struct turns *t, uint64_t now);

/* ------------------------------------------------------------ what others ask --- */

/* How many steps stand or fill: 0: no guard is needed. */
uint32_t turns_standing(const struct turns *t);
bool turns_step_stands(const struct turns_step *s);
bool turns_step_fills(const struct turns_step *s);
uint64_t turns_step_stopped_at(const struct turns_step *s); /* 0: never */
bool turns_step_is_traced(const struct turns_step *s);
bool turns_step_attaches(const struct turns_step *s);
/* Its job is held by the last strobe's map. */
bool turns_step_is_held(const struct turns *t, const struct turns_step *s);
/* It is held and must stand: a held job's script may run for its steps. */
bool turns_step_must_stand(const struct turns *t, const struct turns_step *s);
bool turns_step_takes_turns(const struct turns *t, const struct turns_step *s);
bool turns_job_has_steps(const struct turns *t, uint32_t job);

/* Do jobs share this node by the newest map, and does the last strobe keep them
 * apart? */
bool turns_shares(const struct turns *t);
bool turns_alternates(const struct turns *t);
/* The newest map's policy here is flexible. */
bool turns_is_flexible(const struct turns *t);
/* A strobe holds; it is by the newest map. */
bool turns_strobed(const struct turns *t, bool *newest);
uint64_t turns_acted(const struct turns *t);   /* the last strobe's number */
uint64_t turns_limit(const struct turns *t);   /* ns: a guard calls it late */
uint64_t turns_quantum(const struct turns *t); /* of the slot; 0: none */
struct gang_agreed *turns_agreed_time(struct turns *t);

struct turns_count {
	uint64_t steps, maps, strobes, missed, slots, stops, opened, fills;
	uint64_t agreed, planned;
};
const struct turns_count *turns_counted(const struct turns *t);

#endif
