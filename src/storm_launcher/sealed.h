/*
 * sealed.h - records on a stream of bytes: nobody reads, changes, repeats, moves or leaves
 * out one without the key.  No I/O.
 *
 * A record is the length of its text (u32), the sealed text and a tag of 16 bytes.  Its
 * number in its direction is the nonce, and is not sent: the stream has an order.  Each
 * direction has a key of its own, which follows from the common key and from a random
 * number of each end; a new one comes after so many records.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SEALED_H
#define STORM_SEALED_H

#include <sys/types.h>

#include "src/libstorm/wire/seal.h"

#define SEALED_VERSION 1 /* both ends must have the same */
#define SEALED_RANDOM 16
#define SEALED_HEAD 4
#define SEALED_MAX 16384 /* bytes of a text */
/* What a record has beside its text. */
#define SEALED_EXTRA (SEALED_HEAD + STORM_TAG_LEN)
#define SEALED_PER_KEY (UINT64_C(1) << 20) /* records */

/* The keys of the two differ. */
enum sealed_use {
	SEALED_CALL = 'C', /* the head called the keeper */
	SEALED_DOOR = 'D'  /* a launcher called the head */
};

struct sealed_form {
	enum sealed_use use;
	const uint8_t *key;		  /* STORM_KEY_LEN bytes */
	const uint8_t *caller, *answerer; /* SEALED_RANDOM bytes of each */
	bool calls;			  /* this is the caller's end */
	uint64_t per_key; /* records; 0: SEALED_PER_KEY; both ends have the same */
};

struct sealed; /* one end of a stream */

/* Keeps no pointer of f.  NULL: no memory, or OpenSSL failed. */
struct sealed *sealed_create(const struct sealed_form *f);
void sealed_destroy(struct sealed *s);

/* Seal 1 to SEALED_MAX bytes to out, which has len + SEALED_EXTRA.  False: OpenSSL
 * failed. */
bool sealed_put(struct sealed *s, const void *text, size_t len, uint8_t *out);

/* Open the first record of these bytes, in place.  The bytes that it takes, and its
 * text; 0: it is not whole; -1: it is not the next one of the other end. */
ssize_t sealed_get(struct sealed *s, uint8_t *buf, size_t have,
		   const uint8_t **text, size_t *len);

#endif
