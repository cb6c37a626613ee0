/*
 * idset.h - sets of node or task numbers as ascending disjoint ranges.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_IDSET_H
#define STORM_IDSET_H

#include "src/libstorm/storm.h"

/* Beside those in storm.h.  0 or STORM_ENOMEM; the set is unchanged on failure. */
int storm_idset_union(struct storm_idset *s, const struct storm_idset *other);
/* out (empty before) = a without b. */
int storm_idset_minus(const struct storm_idset *a, const struct storm_idset *b,
		      struct storm_idset *out);
/* Of s only what is in other, too. */
int storm_idset_keep(struct storm_idset *s, const struct storm_idset *other);
bool storm_idset_covers(const struct storm_idset *s,
			const struct storm_idset *other);
/* To at most max ranges, at least 1: the smallest gaps are closed, so the set
 * may only grow. */
void storm_idset_join(struct storm_idset *s, uint32_t max);

#endif
