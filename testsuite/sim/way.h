/*
 * way.h - how long messages are on their way, in tests that play a network in
 * virtual time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_WAY_H
#define STORM_WAY_H

#include "src/libstorm/base/chance.h"
#include "src/libstorm/base/units.h"

/* The ns that a message takes beyond the shortest time of its way: mostly up to 10 us,
 * of 100 messages 8 have up to 60 us, and 2 up to 3 ms. */
static inline uint64_t way_tail(uint64_t *state)
{
	uint64_t kind = storm_chance_below(state, 50);

	if (!kind)
		return storm_chance_below(state, 3 * STORM_MS);
	return storm_chance_below(state, (kind <= 4 ? 60 : 10) * STORM_US);
}

#endif
