/*
 * pmi1_pairs.h - keys and their values, as ranks put them: found by key, and as bytes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PMI1_PAIRS_H
#define STORM_PMI1_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pmi1_pair;

/* Zero it. */
struct pmi1_pairs {
	struct pmi1_pair **slot; /* by a hash of the key */
	size_t slots, count;
	size_t bytes; /* of keys and values */
};

/* A value takes the place of the one that the key had.  False: no memory. */
bool pmi1_pairs_add(struct pmi1_pairs *p, const char *key, const char *value);
/* Likewise all that pmi1_pair_put() has written.  False: it is malformed, too. */
bool pmi1_pairs_add_all(struct pmi1_pairs *p, const uint8_t *buf, size_t len);
/* NULL: there is none.  It is p's. */
const char *pmi1_pairs_find(const struct pmi1_pairs *p, const char *key);
void pmi1_pairs_clear(struct pmi1_pairs *p);

/* A pair as bytes: their number, then how many they are behind a buffer's.  False: no
 * memory. */
size_t pmi1_pair_len(const char *key, const char *value);
bool pmi1_pair_put(uint8_t **buf, size_t *have, size_t *room, const char *key,
		   const char *value);

#endif
