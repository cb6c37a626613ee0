/*
 * places_table.h - the function of the module storm_hwloc.so, which a launcher loads: it
 * asks hwloc of which core, domain of memory and socket each CPU is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PLACES_TABLE_H
#define STORM_PLACES_TABLE_H

#include "places.h"

#define PLACES_TABLE "storm_hwloc_table"

/* The caller gives so many CPUs with their numbers, and it writes the rest.  0, or an
 * errno, and nothing is written: ENODATA, hwloc does not know one of them.  It may take
 * some ms.  No other thread may call it, or change the environment, at the same time. */
typedef int places_table(struct place_cpu *cpus, uint32_t count);

#endif
