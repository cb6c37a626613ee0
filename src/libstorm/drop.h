/*
 * drop.h - seeded loss on receipt, before unsealing (tests, stormlab).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_DROP_H
#define STORM_DROP_H

#include <stdbool.h>
#include <stdint.h>

struct storm_drop {
	uint32_t ppm;		/* of a million datagrams */
	uint64_t state;		/* the seed, at first */
	uint64_t dropped;
};

/* Is this one lost?  splitmix64: a fixed sequence for a seed, so that a test
 * can be repeated. */
static inline bool storm_drop(struct storm_drop *d)
{
	uint64_t z;

	if (!d->ppm)
		return false;
	z = d->state += 0x9e3779b97f4a7c15ull;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	if ((z ^ (z >> 31)) % 1000000 >= d->ppm)
		return false;
	d->dropped++;
	return true;
}

#endif
