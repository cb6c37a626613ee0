/*
 * units.h - units of time: libstorm's times are nanoseconds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_UNITS_H
#define STORM_UNITS_H

#include <stdint.h>

#define STORM_US 1000ULL
#define STORM_MS 1000000ULL
#define STORM_SEC 1000000000ULL
#define STORM_NEVER UINT64_MAX /* a time that does not come */

#endif
