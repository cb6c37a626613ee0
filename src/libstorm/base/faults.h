/*
 * faults.h - nodes and what is wrong with them: a list that grows, and becomes
 * the outcome of an operation (struct storm_outcome).  storm_outcome_clear(), of
 * storm.h, is here too.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_FAULTS_H
#define STORM_FAULTS_H

#include "src/libstorm/storm.h"

/* All zeroes: empty. */
struct storm_faults {
	struct storm_fault *f;
	uint32_t count, room;
};

/* One fault for each node: the first reason given stays.  Without memory for
 * more the list stays as it is. */
void storm_faults_add(struct storm_faults *l, uint32_t node, enum storm_err why,
		      int sys);
/* Moves the list into an outcome, which is the caller's to clear; l is empty
 * then. */
void storm_faults_outcome(struct storm_faults *l, enum storm_state state,
			  struct storm_outcome *out);

/* A copy for the caller, who may keep it longer (out NULL: wants none). */
void storm_outcome_copy(struct storm_outcome *out,
			const struct storm_outcome *from);

#endif
