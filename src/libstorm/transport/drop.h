/*
 * drop.h - seeded loss on receipt, before unsealing (tests, stormlab).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_DROP_H
#define STORM_DROP_H

#include "src/libstorm/base/chance.h"

struct storm_drop {
	uint32_t ppm;		/* of a million datagrams */
	uint64_t state;		/* the seed, at first */
	uint64_t dropped;
};

/* Is this one lost? */
static inline bool storm_drop(struct storm_drop *d)
{
	bool lost = storm_chance_ppm(&d->state, d->ppm);

	d->dropped += lost;
	return lost;
}

#endif
