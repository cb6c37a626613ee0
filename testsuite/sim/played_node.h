/*
 * played_node.h - one node whose kernel is played, around the engine that the agent
 * runs (turns.h).  The acts change what the kernel has: who is stopped, who fills.
 * Beside it is a second, simple account of who has to stand, from what the node was
 * told and doc/gang-scheduling.md, A node's side.  The two are compared after each
 * call, and each act as it comes.
 *
 * Freezers fail, guards continue steps behind the engine's back, agents end and
 * others come.  Shared by the simulation (test_turns_cluster.c) and the fuzzer
 * (fuzz_turns.c), which say what a violation does: played_wrong().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef PLAYED_NODE_H
#define PLAYED_NODE_H

#include "src/libstorm/base/units.h"
#include "src/storm_agent/turns/gang_class.h"
#include "src/storm_agent/turns/turns.h"

#define PLAYED_STEPS 12
/* In turns of that length a batch script always runs. */
#define PLAYED_LONG_TURN (60 * STORM_SEC)

/* The program's: it does not return. */
_Noreturn void played_wrong(const char *file, int line, const char *what);

enum played_door { PLAYED_NO_DOOR, PLAYED_WAITS, PLAYED_MET, PLAYED_OPEN };

struct played_step {
	struct turns_step *s; /* NULL: there is none */
	struct turns_step_info is;
	/* the kernel's */
	bool stands, fills;
	bool broken;  /* its freezer fails */
	bool refuses; /* its cpu.idle does */
	bool refused; /* it has just done so; the engine is to stop it next */
	bool leaves;
	bool past_exec;
	uint64_t used;	    /* CPU time */
	uint64_t stop_cost; /* of the agent's CPU time */
	uint32_t asleep;    /* percent of its turns; how exactly it is known */
	bool exact;
	/* it runs though it was stopped: a guard did it, or that has failed */
	bool freed, unstopped;
	/* what the engine was told, and when */
	uint64_t began, granted_until, attached, turn_at;
	bool starting, srun, granted, traced, awaits, attaching;
	enum played_door door;
	bool pays; /* for the turn that is now */
	struct gang_class class;
	uint64_t stuck; /* it has to run and cannot be continued, since */
};

struct played_map { /* stays the caller's, until played_end() */
	struct gang_map map;
	void *bytes; /* packed, as it is sent */
	size_t len;
	uint64_t digest;
};

struct played_node {
	struct turns *t;
	struct played_step step[PLAYED_STEPS];
	uint64_t now;
	const struct played_map *known[2]; /* [0] is the newest */
	const struct played_map *by; /* of the last strobe; NULL: all run */
	uint32_t self, slot;
	uint64_t heard, silence, number, missed;
	struct gang_strobe last;
	bool waits, plan; /* for its time; the plan was not begun yet */
	bool away;
	bool paid; /* somebody pays with the turn that is now */
	/* so long a step may stand or fill that could run by now; 0: it is not looked at */
	uint64_t patience;
	bool bills;   /* something was told that may cost a turn */
	bool guarded; /* a guard has continued steps: not seen yet */
	uint32_t why; /* the call under way lets everything run; 0: any reason */
	/* for the caller: the strobe that began the slot, when that was noted */
	uint64_t began_number, slots;
	uint64_t stops, continues, failures, pays, fills, yields;
};

/* self: its number in the maps. */
void played_begin(struct played_node *p, uint32_t self, uint64_t now);
/* The agent is killed: nothing more is said to its engine. */
void played_end(struct played_node *p);

/* NULL: there is no room. */
struct played_step *played_add(struct played_node *p,
			       struct turns_step_info is);
void played_gone(struct played_node *p, struct played_step *s);
void played_door(struct played_node *p, struct played_step *s);
void played_met(struct played_node *p, struct played_step *s);
void played_door_gone(struct played_node *p, struct played_step *s);

/* Pack what m->map has. */
void played_map_pack(struct played_map *m);
void played_map_free(struct played_map *m);
/* A map comes that has not come before. */
void played_map(struct played_node *p, const struct played_map *m);
/* Newer than the last one.  True: it is obeyed, now or later. */
bool played_strobe(struct played_node *p, uint64_t number,
		   const struct gang_strobe *st, uint64_t received,
		   bool slurmd);
void played_agreed(struct played_node *p, bool slurmd);
/* Returns when to call again. */
uint64_t played_late(struct played_node *p, bool slurmd);
void played_decide(struct played_node *p);
void played_open(struct played_node *p);
void played_returned(struct played_node *p);
void played_close(struct played_node *p);

/* The looks at a step, as agent_gang_steps.c has them. */
void played_signal(struct played_node *p, struct played_step *s);
void played_tracer(struct played_node *p, struct played_step *s, bool traced,
		   bool awaits, bool debug);
void played_srun(struct played_node *p, struct played_step *s, bool has);
void played_doubt(struct played_node *p, struct played_step *s, bool others);
void played_threads(struct played_node *p, struct played_step *s, bool there,
		    bool anew);
void played_waits(struct played_node *p, struct played_step *s, uint64_t waits,
		  uint64_t ns);

/* A guard continues what stands, but for whose freezer fails. */
void played_guard(struct played_node *p);
/* How many stand or fill, by the kernel. */
uint32_t played_standing(const struct played_node *p);
/* Does the kernel let it compute? */
static inline bool played_runs(const struct played_step *s)
{
	return !s->stands && !s->fills;
}

#endif
