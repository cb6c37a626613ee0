/*
 * chance.h - numbers from a seed (SplitMix64).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef CHANCE_H
#define CHANCE_H

#include <stdbool.h>
#include <stdint.h>

struct chance { uint64_t state; };

static inline uint64_t chance64(struct chance *c)
{
	uint64_t z = c->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* 0 ... n - 1 */
static inline uint64_t chance_below(struct chance *c, uint64_t n)
{
	return chance64(c) % n;
}

static inline bool chance_in(struct chance *c, uint32_t percent)
{
	return chance_below(c, 100) < percent;
}

#endif
