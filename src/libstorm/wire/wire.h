/*
 * wire.h - the wire format: the header of every datagram, and cursors that
 * read and write big-endian fields without ever leaving their buffer.
 * doc/wire-format.md draws it; test vectors are in testsuite/unit.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_WIRE_H
#define STORM_WIRE_H

#include <string.h>

#include "src/libstorm/storm.h"

#ifndef STORM_WIRE_VERSION /* the tests build one of another version */
#define STORM_WIRE_VERSION 2
#endif
#define STORM_WIRE_MAGIC 0x5354524dU /* "STRM", in OPEN and its refusal */
#define STORM_HEADER_LEN 52
#define STORM_TAG_LEN 16
#define STORM_INCARNATION_LEN 16
#define STORM_DATA_HEADER_LEN 8 /* offset of the chunk in the transfer */
#define STORM_DATAGRAM_MIN (STORM_HEADER_LEN + STORM_TAG_LEN)
#define STORM_DATAGRAM_MAX 9000
#define STORM_CHUNK_MIN 256
/* The smallest datagram that holds a chunk, in bytes: each link of a domain
 * takes it. */
#define STORM_MTU_MIN                                                 \
	(STORM_HEADER_LEN + STORM_DATA_HEADER_LEN + STORM_CHUNK_MIN + \
	 STORM_TAG_LEN)

enum storm_msg {
	STORM_MSG_CAST = 1,   /* owner -> all: state, begin, acknowledged */
	STORM_MSG_DATA = 2,   /* owner or repairing node -> all or one */
	STORM_MSG_STATUS = 3, /* node -> tree parent */
	STORM_MSG_NACK = 4,   /* node -> tree parent, grandparent or owner */
	STORM_MSG_REPORT = 5, /* node -> tree parent */
	STORM_MSG_REPORT_ACK = 6,  /* tree parent -> node */
	STORM_MSG_REQUEST = 7,	   /* node -> owner: run this operation */
	STORM_MSG_RESULT = 8,	   /* owner -> node: how it ended */
	STORM_MSG_STROBE = 9,	   /* owner -> all: op is its number */
	STORM_MSG_PULSE = 10,	   /* signs of life, and questions: pulse.h */
	STORM_MSG_GATHER = 11,	   /* owner -> all: op is its number */
	STORM_MSG_GATHERED = 12,   /* node -> tree parent or owner */
	STORM_MSG_GATHER_ACK = 13, /* a table has come whole */
	STORM_MSG_MAX = 14
};

#define STORM_HDR_RELAY \
	0x1 /* CAST, STROBE, GATHER: pass on to your tree children;
				   DATA: pass on to your chain successor */
#define STORM_HDR_FLAGS 0x1

struct storm_header {
	uint8_t type;
	uint16_t flags;
	uint32_t epoch;
	uint64_t session;
	uint8_t incarnation[STORM_INCARNATION_LEN];
	uint32_t sender; /* STORM_NO_NODE: the owner */
	uint64_t sequence;
	uint64_t op;
};

void storm_header_pack(const struct storm_header *h,
		       uint8_t out[static STORM_HEADER_LEN]);
/* Checks version, type, flags and length.  STORM_OK, EVERSION or EINVAL. */
int storm_header_unpack(struct storm_header *h, const uint8_t *buf, size_t len);

/* The length of an agent's answer to an OPEN that it refuses, if the sender is
 * authenticated.  All versions have the same answer. */
#define STORM_REFUSAL_LEN 8
/* A refusal in one number: why (enum storm_err), and an errno below 256 or
 * 0. */
#define STORM_REFUSAL(why, sys) ((enum storm_err)((why) | (sys) << 8))
#define STORM_REFUSAL_WHY(refusal) ((enum storm_err)((refusal) &0xff))
#define STORM_REFUSAL_SYS(refusal) ((int) ((refusal) >> 8 & 0xff))
/* Pack a refusal; why: a STORM_REFUSAL(), or just an error. */
void storm_refusal_pack(enum storm_err why,
			uint8_t out[static STORM_REFUSAL_LEN]);
/* Unpack one.  *sys: with STORM_EVERSION the agent's version, else an errno or
 * 0.  False: this is no refusal of an agent. */
bool storm_refusal_unpack(const uint8_t *buf, size_t len, enum storm_err *why,
			  int *sys);

/* A writer that has no room left sets bad and writes no more.  A reader at its
 * end sets bad and returns zeroes.  Check bad once, at the end. */
struct storm_out {
	uint8_t *p, *end;
	bool bad;
};
struct storm_in {
	const uint8_t *p, *end;
	bool bad;
};

void storm_put8(struct storm_out *o, uint8_t v);
void storm_put16(struct storm_out *o, uint16_t v);
void storm_put32(struct storm_out *o, uint32_t v);
void storm_put64(struct storm_out *o, uint64_t v);
void storm_put(struct storm_out *o, const void *buf, size_t len);
void storm_put_addr(struct storm_out *o, const struct storm_addr *a);
/* Write u32 count, then first and last of each range. */
void storm_put_idset(struct storm_out *o, const struct storm_idset *s);

/* Write the set in fewer bytes: as LEB128 numbers, each relative to the
 * previous one.  Every set has exactly one encoding. */
void storm_put_set(struct storm_out *o, const struct storm_idset *s);
/* The bytes that storm_put_set() writes. */
size_t storm_set_len(const struct storm_idset *s);

uint8_t storm_get8(struct storm_in *i);
uint16_t storm_get16(struct storm_in *i);
uint32_t storm_get32(struct storm_in *i);
uint64_t storm_get64(struct storm_in *i);
/* A pointer to len bytes of the buffer; or NULL, and bad is set. */
const uint8_t *storm_get(struct storm_in *i, size_t len);
void storm_get_addr(struct storm_in *i, struct storm_addr *a);
/* Read a set and add it to s.  bad is set by an id above max, ranges that do
 * not ascend, or lack of memory. */
void storm_get_idset(struct storm_in *i, struct storm_idset *s, uint32_t max);
void storm_get_set(struct storm_in *i, struct storm_idset *s, uint32_t max);
/* Was all read, without fault and with nothing left over?  */
static inline bool storm_in_done(const struct storm_in *i)
{
	return !i->bad && i->p == i->end;
}

#endif
