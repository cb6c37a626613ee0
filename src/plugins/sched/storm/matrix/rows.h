/*
 * rows.h - rows of columns, in which sets of columns are busy or free: a bit for
 * each column, and those that are busy are set.
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

/* Are these free, all of them? */
bool row_range_free(const uint64_t *row, uint32_t first, uint32_t last);
bool row_fits(const uint64_t *row, const struct storm_idset *s);

/* Columns of s that are free become busy and the other way round. */
void row_flip(uint64_t *row, const struct storm_idset *s);

/* Rows for at least n, of so many columns; new ones are free.  STORM_OK or
 * STORM_ENOMEM. */
int rows_make(uint64_t ***rows, uint32_t *have, uint32_t n, uint32_t columns);
void rows_free(uint64_t **rows, uint32_t n);

#endif
