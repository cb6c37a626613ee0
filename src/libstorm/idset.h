/*
 * idset.h - sets of node or task numbers as ascending disjoint ranges.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_IDSET_H
#define STORM_IDSET_H

#include "storm.h"

/* 0 or STORM_ENOMEM; the set is unchanged on failure. */
int storm_idset_add(struct storm_idset *s, uint32_t first, uint32_t last);
int storm_idset_union(struct storm_idset *s, const struct storm_idset *other);
/* out (empty before) = a without b. */
int storm_idset_minus(const struct storm_idset *a, const struct storm_idset *b,
		      struct storm_idset *out);
bool storm_idset_has(const struct storm_idset *s, uint32_t id);
bool storm_idset_covers(const struct storm_idset *s,
			const struct storm_idset *other);
uint64_t storm_idset_size(const struct storm_idset *s);
void storm_idset_clear(struct storm_idset *s);	/* empties and frees */

#endif
