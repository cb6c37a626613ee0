/*
 * exchange.h - one row less for jobs of which some cannot share a row: to colour
 * a graph with a colour less, by exchanges between two rows (Kempe chains), so
 * that most jobs stay where they are.
 *
 * Pure.  The same call gives the same rows.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EXCHANGE_H
#define STORM_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

static inline uint32_t exchange_words(uint32_t n)
{
	return (n + 63) / 64;
}

/*
 * n jobs; beside[] has exchange_words(n) words for each, with a bit for each job
 * that cannot be in its row (both ways, and not for itself).  row[] is where they
 * are, 0 to rows - 1.  True: row[] needs a row less now.  False: it is as it was,
 * as nothing was found within so many steps, or there is no memory.
 */
bool exchange_spare(uint32_t n, const uint64_t *beside, uint32_t *row,
		    uint32_t rows, uint64_t steps);

#endif
