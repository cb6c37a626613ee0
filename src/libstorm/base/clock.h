/*
 * clock.h - the clock of the programs that host the protocol.  The protocol
 * itself gets the time from its caller.
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

/* CLOCK_MONOTONIC in ns. */
static inline uint64_t storm_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t) ts.tv_sec * STORM_SEC + (uint64_t) ts.tv_nsec;
}

#endif
