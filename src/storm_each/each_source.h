/*
 * each_source.h - the arguments of tasks, row by row: `:::` lists, files, standard input,
 * and their products.  Memory is bounded by the longest row and by all sources but the
 * first; --shuf, and each_sources_count(), keep all rows.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EACH_SOURCE_H
#define STORM_EACH_SOURCE_H

#include <stdint.h>

struct each_options;
struct each_sources;

struct each_row {
	uint32_t count;
	char **arg; /* end with a NUL byte; they have no other */
};

/* The options have to stay.  NULL: it was said why. */
struct each_sources *each_sources_open(const struct each_options *o);

/* 1; 0 at the end; -1: it was said why.  The row is the caller's. */
int each_sources_next(struct each_sources *s, struct each_row *row);

/* How many rows there are in all, if no stream has to be read for that; else 0. */
uint64_t each_sources_total(const struct each_sources *s);

/* How many there are in any case.  It reads ahead to the end, and keeps what it reads.
 * -1: it was said why. */
int64_t each_sources_count(struct each_sources *s);

/* NULL is nothing. */
void each_sources_close(struct each_sources *s);

/* Afterwards it is empty.  An empty one is nothing. */
void each_row_free(struct each_row *row);

#endif
