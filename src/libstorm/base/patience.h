/*
 * patience.h - how many ms to wait, as poll(2) has it: -1 is for ever.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PATIENCE_H
#define STORM_PATIENCE_H

#include "units.h"

/* The shorter one of two. */
static inline int storm_sooner(int a, int b)
{
	return b >= 0 && (a < 0 || b < a) ? b : a;
}

/* So many ns, rounded up, which are INT_MAX ms at most; UINT64_MAX is for ever. */
static inline int storm_patience(uint64_t ns)
{
	return ns == UINT64_MAX ? -1 : (int) (ns / STORM_MS) + (ns > 0);
}

#endif
