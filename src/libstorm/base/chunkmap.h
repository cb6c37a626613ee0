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
	uint64_t size;	      /* bytes in all */
	uint32_t chunk;	      /* bytes of every chunk but the last */
	uint64_t count, have; /* chunks in all, arrived */
	uint64_t prefix;      /* index of the first one missing */
	uint64_t high;	      /* index behind the last one that arrived */
};

/* Bytes of memory that the map of a transfer of size bytes takes. */
uint64_t storm_chunkmap_bytes(uint64_t size, uint32_t chunk);
/* Make the map of a transfer of size bytes, with all chunks missing.  chunk is
 * not 0.  STORM_OK or STORM_ENOMEM. */
int storm_chunkmap_init(struct storm_chunkmap *m, uint64_t size,
			uint32_t chunk);
void storm_chunkmap_free(struct storm_chunkmap *m);
/* The index of the chunk that begins at this byte and has this length; count if
 * there is none. */
uint64_t storm_chunkmap_index(const struct storm_chunkmap *m, uint64_t off,
			      size_t len);
bool storm_chunkmap_has(const struct storm_chunkmap *m, uint64_t i);
/* Mark chunk i, which must be missing. */
void storm_chunkmap_set(struct storm_chunkmap *m, uint64_t i);
bool storm_chunkmap_full(const struct storm_chunkmap *m);
/* Bytes from the start up to the first gap. */
uint64_t storm_chunkmap_progress(const struct storm_chunkmap *m);
/* Find the next run of missing chunks in [*from, below), of at most
 * STORM_CHUNKMAP_RUN chunks.  Sets *first and *last, and moves *from to where
 * the next search begins.  False: none. */
#define STORM_CHUNKMAP_RUN 4096
bool storm_chunkmap_gap(const struct storm_chunkmap *m, uint64_t *from,
			uint64_t below, uint64_t *first, uint64_t *last);
/* Bytes of chunk i. */
size_t storm_chunkmap_len(const struct storm_chunkmap *m, uint64_t i);

#endif
