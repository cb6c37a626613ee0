/*
 * minmax.h - the lesser and the greater of two times, sizes or counts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_MINMAX_H
#define STORM_MINMAX_H

#include <stdint.h>

static inline uint64_t storm_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t storm_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

#endif
