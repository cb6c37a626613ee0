/*
 * chunkmap.h - which chunks of a transfer have arrived.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHUNKMAP_H
#define STORM_CHUNKMAP_H

#include "src/libstorm/storm.h"

struct storm_chunkmap {
	uint64_t *bits;
	uint64_t size;		/* bytes in all */
	uint32_t chunk;		/* bytes of every chunk but the last */
	uint64_t count, have;
	uint64_t prefix;	/* first one missing */
	uint64_t high;		/* one past the highest that arrived */
};

int storm_chunkmap_init(struct storm_chunkmap *m, uint64_t size,
			uint32_t chunk);
void storm_chunkmap_free(struct storm_chunkmap *m);
/* Index of the chunk at this offset and of this length, or count where there
 * is no such chunk. */
uint64_t storm_chunkmap_index(const struct storm_chunkmap *m, uint64_t off,
			      size_t len);
bool storm_chunkmap_has(const struct storm_chunkmap *m, uint64_t i);
void storm_chunkmap_set(struct storm_chunkmap *m, uint64_t i);
bool storm_chunkmap_full(const struct storm_chunkmap *m);
/* Bytes from the start without a gap. */
uint64_t storm_chunkmap_progress(const struct storm_chunkmap *m);
/* Next run of missing chunks in [*from, below), a long one in pieces of
 * STORM_CHUNKMAP_RUN: sets first and last and moves *from past it; false:
 * none. */
#define STORM_CHUNKMAP_RUN 4096
bool storm_chunkmap_gap(const struct storm_chunkmap *m, uint64_t *from,
			uint64_t below, uint64_t *first, uint64_t *last);
/* Length of chunk i. */
size_t storm_chunkmap_len(const struct storm_chunkmap *m, uint64_t i);

#endif
