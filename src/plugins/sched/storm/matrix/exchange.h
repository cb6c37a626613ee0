/*
 * exchange.h - spare a row of jobs, of which some cannot share a row.  This is
 * to colour a graph with one colour less.  It exchanges jobs between two rows
 * (Kempe chains), so that most jobs stay in their row.
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
 * n jobs.  beside[] has exchange_words(n) words for each job, with a bit for
 * each job that cannot be in its row: symmetric, and not for itself.  row[] has
 * each job's row, 0 to rows - 1.  True: row[] needs one row less now.  False:
 * row[] is unchanged, because no way was found within `steps`, or out of
 * memory.
 */
bool exchange_spare(uint32_t n, const uint64_t *beside, uint32_t *row,
		    uint32_t rows, uint64_t steps);

#endif
