/*
 * clock.h - the one clock of the programs around the protocol.  The protocol
 * itself is given the time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CLOCK_H
#define STORM_CLOCK_H

#include <stdint.h>
#include <time.h>

#define STORM_US 1000ULL
#define STORM_MS 1000000ULL
#define STORM_SEC 1000000000ULL
#define STORM_NEVER UINT64_MAX

static inline uint64_t storm_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t) ts.tv_sec * STORM_SEC + (uint64_t) ts.tv_nsec;
}

#endif
