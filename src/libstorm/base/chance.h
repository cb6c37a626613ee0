/*
 * chance.h - pseudo-random numbers from a seed (SplitMix64): the same seed
 * gives the same numbers, so that a run can be repeated.  Not for secrets: see
 * storm_random().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHANCE_H
#define STORM_CHANCE_H

#include <stdbool.h>
#include <stdint.h>

/* The next number.  *state is initially the seed; any value is valid. */
static inline uint64_t storm_chance(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* A number from 0 to n - 1; n is not 0. */
static inline uint64_t storm_chance_below(uint64_t *state, uint64_t n)
{
	return storm_chance(state) % n;
}

static inline bool storm_chance_percent(uint64_t *state, uint32_t percent)
{
	return storm_chance_below(state, 100) < percent;
}

/* True with a probability of ppm in a million.  With ppm 0 it consumes no
 * number. */
static inline bool storm_chance_ppm(uint64_t *state, uint32_t ppm)
{
	return ppm && storm_chance_below(state, 1000000) < ppm;
}

#endif
