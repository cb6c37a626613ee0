/*
 * exchange.h - makes jobs need one row less, where some of them cannot share a
 * row.  That is to colour a graph with one colour less.  It exchanges jobs
 * between two rows (Kempe chains), so that most jobs stay in their row.
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
 * Change row[], which has the row of each of n jobs, 0 to rows - 1.  beside[]
 * has exchange_words(n) words for each job, with a bit for each other job that
 * cannot be in the same row; it is symmetric.  True: row[] needs one row less
 * now.  False: no way was found within `steps`, or there is no memory, and
 * row[] is unchanged.
 */
bool exchange_spare(uint32_t n, const uint64_t *beside, uint32_t *row,
		    uint32_t rows, uint64_t steps);

#endif
