/*
 * digest.h - SHA-256 of the data of a transfer, piece by piece.  The owner
 * announces it, and each node compares.  A seal proves that a member sent a
 * datagram; the digest proves that all data together are what the owner sent.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_DIGEST_H
#define STORM_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORM_DIGEST_LEN 32

struct storm_digest;

/* NULL: OpenSSL failed or no memory. */
struct storm_digest *storm_digest_create(void);
void storm_digest_destroy(struct storm_digest *d); /* NULL is fine */
void storm_digest_add(struct storm_digest *d, const void *buf, size_t len);
/* The digest of all that was added; nothing can be added after this.  False:
 * OpenSSL failed. */
bool storm_digest_end(struct storm_digest *d,
		      uint8_t out[static STORM_DIGEST_LEN]);

#endif
