/*
 * excluded.h - CAST_EXCLUDED: the excluded nodes of an epoch as a bitmap in
 * parts.  It replaces their ranges in the owner's state, where these would take
 * too much of its one datagram.  An epoch has only one such set, so parts may
 * be lost, doubled and reordered.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EXCLUDED_H
#define STORM_EXCLUDED_H

#include "wire.h"

/* 65,536 nodes are 8 KiB: 32 parts in the smallest datagrams. */
#define STORM_EXCLUDED_PARTS 32
#define STORM_EXCLUDED_HEADER 5 /* u8 what, u16 part, u16 parts */

/* The number of parts for a domain of count nodes, in bodies of max bytes. */
uint16_t storm_excluded_parts(uint32_t count, size_t max);
/* Write a part to buf, with the u8 what.  Returns its bytes, at most the max of
 * storm_excluded_parts(). */
size_t storm_excluded_pack(const struct storm_idset *out, uint32_t count,
			   uint16_t part, uint16_t parts, uint8_t *buf);

/* A receiver's side.  All zeroes: nothing was received. */
struct storm_excluded {
	uint8_t *bits;
	uint32_t have; /* a bit for each part */
	uint16_t parts;
};
/* Take the part that follows the u8 what; count: nodes in the domain.  Returns
 * the part's number; -1: malformed, or no memory. */
int storm_excluded_take(struct storm_excluded *x, const uint8_t *buf,
			size_t len, uint32_t count);
/* Have all parts come?  */
bool storm_excluded_whole(const struct storm_excluded *x);
/* Add the nodes to out, once x is whole.  STORM_OK or STORM_ENOMEM. */
int storm_excluded_set(const struct storm_excluded *x, uint32_t count,
		       struct storm_idset *out);
void storm_excluded_free(struct storm_excluded *x);

#endif
