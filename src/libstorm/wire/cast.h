/*
 * cast.h - CAST, from the owner to all nodes: the owner's whole state in one
 * datagram, repeated until the STATUS of the tree shows that all nodes have it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CAST_H
#define STORM_CAST_H

#include "digest.h"
#include "wire.h"

enum storm_cast_what {
	STORM_CAST_STATE = 1,	/* struct storm_cast */
	STORM_CAST_BEGIN = 2,	/* u16 part, u16 parts, bytes */
	STORM_CAST_ACKED = 3,	/* u8 kind, idset: reports that the owner has */
	STORM_CAST_WELCOME = 4, /* u32 node, incarnation, u64 op: this node is
				   a member again, and takes no part in
				   operations up to op */
	STORM_CAST_EXCLUDED = 5 /* a part of a set, see excluded.h */
};

enum storm_decision { STORM_UNDECIDED = 0, STORM_COMMIT = 1, STORM_ABORT = 2 };

#define STORM_CAST_CLOSING 0x1 /* the domain ends */
#define STORM_CAST_ASK 0x2     /* send a STATUS now, news or not */
#define STORM_CAST_CHAIN 0x4   /* data go along the chain, not by multicast */
#define STORM_CAST_DIRECT \
	0x8 /* the receiver's parent is silent: also send
				   STATUS to the owner */
#define STORM_CAST_PARTS \
	0x10 /* the excluded nodes of this epoch come in
				   parts, not in here */
#define STORM_CAST_FLAGS 0x1f
#define STORM_CAST_DIGEST 0x80 /* on the wire: the digest is in it */

struct storm_cast {
	uint64_t version; /* of the owner's state; higher wins */
	uint8_t flags;
	uint64_t op, size;    /* the operation under way, or the last one */
	struct storm_idset p; /* its nodes; empty: all members */
	uint32_t chunk;	      /* bytes of DATA in a datagram; 0: not known */
	uint64_t sent;	      /* bytes sent so far */
	uint64_t floor;	      /* bytes that every node must have written */
	uint8_t decision;
	uint64_t cmp; /* comparison asked for; 0: none */
	uint8_t cmp_var, cmp_rel;
	uint64_t cmp_value;
	bool has_digest; /* all is sent, and this is its digest */
	uint8_t digest[STORM_DIGEST_LEN];
	struct storm_idset cmp_p;    /* empty: all members */
	struct storm_idset excluded; /* fenced nodes, all epochs so far */
};

void storm_cast_free(struct storm_cast *c); /* its sets, not c */
/* Bytes of a state without its sets, with the u8 what. */
#define STORM_CAST_FIXED 97
/* The most bytes that each of its sets may take in a body of max bytes. */
static inline size_t storm_cast_set_max(size_t max)
{
	return (max - STORM_CAST_FIXED) / 3;
}
/* Pack c, with the u8 what.  Returns the bytes written to buf; 0: more than
 * max. */
size_t storm_cast_pack(const struct storm_cast *c, uint8_t *buf, size_t max);
/* Unpack what follows the u8 what; count: nodes in the domain.  STORM_OK: the
 * caller frees c by storm_cast_free().  STORM_EINVAL: malformed, nothing to
 * free. */
int storm_cast_unpack(struct storm_cast *c, const uint8_t *buf, size_t len,
		      uint32_t count);

#endif
