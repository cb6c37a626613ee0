/*
 * clock.h - the clock of the programs that host the protocol.  The protocol
 * itself gets the time from its caller.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CLOCK_H
#define STORM_CLOCK_H

#include <time.h>

#include "units.h"

/* CLOCK_MONOTONIC in ns. */
static inline uint64_t storm_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t) ts.tv_sec * STORM_SEC + (uint64_t) ts.tv_nsec;
}

/* The time of day: Unix time in ms. */
static inline uint64_t storm_unix_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t) ts.tv_sec * 1000 + (uint64_t) ts.tv_nsec / STORM_MS;
}

#endif
