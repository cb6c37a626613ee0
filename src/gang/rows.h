/*
 * rows.h - rows of columns, as bit sets: the bit of a busy column is set.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_ROWS_H
#define STORM_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libstorm/storm.h"

static inline size_t row_words(uint32_t columns)
{
	return ((size_t) columns + 63) / 64;
}

/* Are all of these columns free? */
bool row_range_free(const uint64_t *row, uint32_t first, uint32_t last);
bool row_fits(const uint64_t *row, const struct storm_idset *s);

/* Make free columns of s busy, and busy ones free. */
void row_flip(uint64_t *row, const struct storm_idset *s);

/* Extend *rows, which has *have rows, to at least n rows of so many columns;
 * new rows are free.  STORM_OK or STORM_ENOMEM. */
int rows_make(uint64_t ***rows, uint32_t *have, uint32_t n, uint32_t columns);
void rows_free(uint64_t **rows, uint32_t n);

#endif
