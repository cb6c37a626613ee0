/*
 * schedule.h - what a domain is asked to do, on what network, and what goes
 * wrong meanwhile: all from a seed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include "faults.h"
#include "src/storm_sim/oracle.h"
#include "src/storm_sim/recorder.h"

#define SCHEDULE_GLOBALS 4 /* variables in use */

enum step_kind {
	STEP_FILE,
	STEP_MESSAGE,
	STEP_SEGMENT,
	STEP_COMPARE,	    /* of a global variable, perhaps with a write */
	STEP_COMPARE_OWN,   /* unordered */
	STEP_OWN_TO_GLOBAL, /* an own variable is compared, a global one
				   written */
	STEP_RAISE,	    /* every node raises its own variable */
	STEP_REPORT,	    /* every node's tasks exit */
	STEP_READ,	    /* some nodes read some places */
	STEP_KINDS
};

struct step {
	enum step_kind kind;
	uint64_t after; /* ns after the step before */
	bool wait;	/* ... and when all before it have ended */
	bool forget;	/* its initiator thinks better of it, soon */
	uint64_t forget_after;
	struct storm_idset to; /* P; empty: all */
	uint64_t size;
	uint32_t target; /* segment, or variable that is written */
	uint32_t var;	 /* compared */
	enum storm_relation rel;
	uint64_t operand;
	bool writes;
};

struct schedule {
	uint64_t seed;
	struct storm_sim_conf conf;
	uint64_t chance; /* for what is left open */
	bool early;	 /* faults may come before all is OPEN */
	bool rides;	 /* the first transfer goes with OPEN */
	bool small;	 /* few and short enough for the black box */
	struct step *step;
	uint32_t steps;
	struct faults faults;
	/* one more fault, right after so many turns of anybody since OPEN; in
	 * no time if there are not so many */
	uint64_t turns;
	struct fault at_turn;
};

void schedule_make(struct schedule *s, uint64_t seed);
void schedule_free(struct schedule *s);
void schedule_print(const struct schedule *s);

/* Run it, and judge it: false, and why.  turns is then what is left of it. */
bool schedule_run(struct schedule *s, bool verbose, char why[ORACLE_WHY]);

#endif
