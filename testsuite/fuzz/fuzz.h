/*
 * fuzz.h - what the harnesses share.  Each is one LLVMFuzzerTestOneInput()
 * over one decoder of the product, linked with the real sources: by libFuzzer
 * where configure was given --enable-fuzzing, by replay.c otherwise.
 *
 * A harness checks more than that nothing crashes.  What a decoder accepts must
 * encode to the same bytes, and what it keeps must stay within bounds; see must().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/libstorm/base/idset.h"
#include "src/libstorm/storm.h"
#include "src/libstorm/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifndef UNIT_H /* the unit tests have their own */
#define must(cond)                                                    \
	do {                                                          \
		if (!(cond)) {                                        \
			fprintf(stderr, "%s:%d: does not hold: %s\n", \
				__FILE__, __LINE__, #cond);           \
			abort();                                      \
		}                                                     \
	} while (0)

/* A copy on the heap of exactly this length: a read one byte too far is
 * seen. */
static inline uint8_t *exact(const void *buf, size_t len)
{
	uint8_t *p = malloc(len ? len : 1);

	must(p);
	if (len)
		memcpy(p, buf, len);
	return p;
}
#endif

/* Up to max bytes of the input; a u16 gives the number; free() them. */
static inline uint8_t *some(struct storm_in *i, size_t max, size_t *len)
{
	size_t n = storm_get16(i), left = (size_t) (i->end - i->p);

	n = n > max ? max : n;
	*len = n > left ? left : n;
	return exact(storm_get(i, *len), *len);
}

static inline bool same_set(const struct storm_idset *a,
			    const struct storm_idset *b)
{
	return a->count == b->count &&
	       (!a->count || !memcmp(a->r, b->r, a->count * sizeof(*a->r)));
}

/* Ascending, disjoint, not even touching, and up to max. */
static inline void must_be_set(const struct storm_idset *s, uint32_t max)
{
	must(s->count <= s->room);
	for (uint32_t i = 0; i < s->count; i++) {
		must(s->r[i].first <= s->r[i].last && s->r[i].last <= max);
		must(!i || s->r[i].first > (uint64_t) s->r[i - 1].last + 1);
	}
}

#endif
