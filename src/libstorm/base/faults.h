/*
 * faults.h - a growing list of failed nodes with their errors.  It becomes the
 * outcome of an operation (struct storm_outcome).  faults.c also defines
 * storm_outcome_clear() of storm.h.
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

/* Add a fault.  The first fault of a node is kept, later ones are ignored.  If
 * there is no memory, the list is unchanged. */
void storm_faults_add(struct storm_faults *l, uint32_t node, enum storm_err why,
		      int sys);
/* Move the list into *out, which the caller clears.  l is empty afterwards. */
void storm_faults_outcome(struct storm_faults *l, enum storm_state state,
			  struct storm_outcome *out);

/* Copy an outcome.  The caller clears the copy.  out NULL: no copy. */
void storm_outcome_copy(struct storm_outcome *out,
			const struct storm_outcome *from);

#endif
