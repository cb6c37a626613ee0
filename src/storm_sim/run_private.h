/*
 * run_private.h - the parts of a run: run.c issues the operations and the
 * faults, figures.c counts, run_state.c has what both share.  The run is
 * recorded (recorder.h), and checked at its end (oracle.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SIM_RUN_PRIVATE_H
#define STORM_SIM_RUN_PRIVATE_H

#include "oracle.h"
#include "recorder.h"
#include "run.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"
#include "src/storm_sim/engine/sim.h"

/* A transfer or a comparison that was issued. */
struct issued {
	struct recorder_token t; /* first; its number, from 1 */
	const struct op *op;
	bool launch;
	uint8_t kind; /* of a launch's reports */
	uint8_t *buf;
	enum storm_state state;
	struct storm_idset heard; /* nodes whose reports have arrived */
};

/* An action that storm_sim takes at a given time. */
struct action {
	uint64_t at, order;
	enum { DO_FAULT, DO_RESTART, DO_CALM, DO_REPORT } what;
	uint32_t number; /* fault, or node */
	struct issued *launch;
};

struct run {
	const struct scenario *s;
	struct storm_sim *sim;
	struct storm_owner *owner; /* NULL: it has crashed */
	bool dying;
	uint32_t n;
	char *why;
	size_t room; /* of why */
	bool bad;
	uint64_t random, start;
	struct action *action; /* a heap */
	uint32_t actions, action_room;
	uint64_t order;
	uint64_t until; /* when the run of the simulation ends at the latest */

	bool opened, ended; /* the operation under way */
	enum storm_compare compare;
	struct storm_outcome out;
	uint64_t reported_at;
	struct recorder rec;
	struct issued *issued;
	uint32_t nissued, transfers, launches;
	struct storm_idset broken, named; /* nodes */
	bool faulted;			  /* there was a fault of any kind */
	uint64_t calm_at;		  /* pauses and cuts are over */

	json_object *ops;		  /* figures */
	struct storm_sim_traffic *before; /* nodes, then the owner */
	uint64_t op_start;
};

/* run_state.c.  Record a violation; only the first one is kept. */
void run_violated(struct run *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
uint64_t run_draw(struct run *r); /* any number, by the seed */
void action_add(struct run *r, struct action a);
struct action action_take(struct run *r); /* the first; there must be one */
/* The time of the first action; STORM_NEVER: none. */
uint64_t action_next(const struct run *r);
static inline uint64_t ns_of(double seconds)
{
	return (uint64_t) (seconds * STORM_SEC + 0.5);
}
static inline bool in_set(const struct run *r, const struct op *o,
			  uint32_t node)
{
	return node >= o->first &&
	       (o->last == UINT32_MAX ? node < r->n : node <= o->last);
}

/* figures.c */
void figures_begin(struct run *r);
void figures_end(struct run *r, const struct op *o);
json_object *figures_whole(struct run *r, double wall);

#endif
