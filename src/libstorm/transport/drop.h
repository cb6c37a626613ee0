/*
 * drop.h - seeded loss on receipt, before unsealing (tests, stormlab).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_DROP_H
#define STORM_DROP_H

#include "src/libstorm/base/chance.h"

struct storm_drop {
	uint32_t ppm;	/* so many of a million datagrams are lost */
	uint64_t state; /* of the generator; initially the seed */
	uint64_t dropped;
};

/* Must this datagram be dropped?  Counts those that must. */
static inline bool storm_drop(struct storm_drop *d)
{
	bool lost = storm_chance_ppm(&d->state, d->ppm);

	d->dropped += lost;
	return lost;
}

#endif
