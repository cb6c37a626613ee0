/*
 * idset.h - sets of node or task numbers as ascending disjoint ranges.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_IDSET_H
#define STORM_IDSET_H

#include "src/libstorm/storm.h"

/* More operations than storm.h has.  STORM_OK, or STORM_ENOMEM with the set
 * unchanged. */
int storm_idset_union(struct storm_idset *s, const struct storm_idset *other);
/* out (empty before) = a without b. */
int storm_idset_minus(const struct storm_idset *a, const struct storm_idset *b,
		      struct storm_idset *out);
/* s = what is in both s and other. */
int storm_idset_keep(struct storm_idset *s, const struct storm_idset *other);
/* s = s without other. */
int storm_idset_drop(struct storm_idset *s, const struct storm_idset *other);
/* Does s have all of other?  */
bool storm_idset_covers(const struct storm_idset *s,
			const struct storm_idset *other);
/* Reduce s to max ranges or fewer, max at least 1.  It closes the smallest
 * gaps, so the set may grow, but never shrinks. */
void storm_idset_join(struct storm_idset *s, uint32_t max);

#endif
