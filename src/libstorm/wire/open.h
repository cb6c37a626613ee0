/*
 * open.h - OPEN: how a domain and its session key reach the nodes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_OPEN_H
#define STORM_OPEN_H

#include "src/libstorm/base/idset.h"
#include "seal.h"

#define STORM_OPEN_MAX (4u << 20)	/* 65536 nodes with names of 40 bytes */
#define STORM_CRED_MAX 8192
#define STORM_NONCE_LEN 16
#define STORM_PATH_MAX 4096
#define STORM_WINDOW_MIN 65536

/* An ordered COMPARE-AND-WRITE: the operation's kind, beside the targets of
 * transfers, and what it asks. */
#define STORM_KIND_COMPARE 4
struct storm_comparison {
	uint32_t var;
	enum storm_relation rel;
	uint64_t value;
	bool writes;
	struct storm_assign write;
};
bool storm_var_known(uint32_t var);	/* own or global */
bool storm_relation_holds(uint64_t a, enum storm_relation rel, uint64_t b);

/* An ordered operation as it is announced: travels in OPEN or as BEGIN. */
struct storm_begin {
	uint64_t op, size;
	struct storm_idset p;	/* owned; empty: all members */
	struct storm_target to;	/* to.kind may be STORM_KIND_COMPARE; to.path:
				   owned, malloc()ed */
	struct storm_comparison cmp;
};
#define STORM_BEGIN_MAX (STORM_PATH_MAX + 128 + 10 * STORM_SET_RANGES)
/* A node set that a caller gives, in a domain of count nodes: EINVAL, ETOOBIG. */
int storm_begin_check_set(const struct storm_idset *P, uint32_t count);
static inline bool storm_begin_names(const struct storm_begin *b,
				     uint32_t node)
{
	return !b->p.count || storm_idset_has(&b->p, node);
}
/* Bytes written to buf, 0 where it does not fit.  count: nodes in the domain. */
size_t storm_begin_pack(const struct storm_begin *b, uint8_t *buf, size_t max);
int storm_begin_unpack(struct storm_begin *b, const uint8_t *buf, size_t len,
		       uint32_t count);
void storm_begin_free(struct storm_begin *b);

/* An OPEN: of storm_open_verify(), or as its owner has filled it for
 * storm_open_seal().  storm_open_free(). */
struct storm_open {
	/* from the credential */
	uint32_t uid, gid;
	uint8_t key[STORM_KEY_LEN];
	uint64_t session;	/* first 8 bytes of SHA-256(body) */
	/* from the stream */
	uint32_t self;
	bool late;		/* sent when its first epoch was over */
	/* from the body */
	uint8_t nonce[STORM_NONCE_LEN];	/* random: no session can be guessed */
	uint32_t job_id, step_id, step_het;
	struct storm_addr owner, group;
	bool multicast;
	uint32_t radix, mtu;
	uint64_t window, dead_timeout, op_timeout, heartbeat;
	uint64_t cluster;	/* which cluster domain; 0: a step domain */
	uint32_t epoch;		/* the first one of this owner */
	bool founding;		/* the cluster domain's first owner: nobody has
				   anything to remember */
	uint8_t *authority;
	size_t authority_len;
	struct storm_node *nodes;	/* names owned */
	uint32_t count;
	struct storm_idset excluded;	/* as the epoch begins */
	bool has_begin;
	struct storm_begin begin;	/* of the first operation */
	/* as received or made: what the children get */
	char *cred;
	uint8_t *body;
	size_t body_len;
	/* NULL, or how many OPENs of one thread (the simulator's) share
	 * authority, nodes and their names, cred and body */
	uint32_t *shared;
};

/* Owner: pack the body, make the key's credential; fills session, key, cred,
 * body.  0 or an error. */
int storm_open_seal(struct storm_open *o, uint32_t agent_uid);
/* Another credential for the same key: one that was decoded on a node is a replay
 * there, also to the agent that comes after, and none is good for ever.  0 or an
 * error: the one before stays. */
int storm_open_renew(struct storm_open *o, uint32_t agent_uid);
/* The stream for one node; malloc()ed. NULL: no memory. */
uint8_t *storm_open_stream(const struct storm_open *o, uint32_t node,
			   size_t *len);
/* Session of a stream, for deduplication before any decoding, whatever its
 * version; also finds frames that are not OPENs at all. */
int storm_open_peek(const void *buf, size_t len, uint64_t *session);
/* All streams of an OPEN are the same from here on; before it stands which node
 * they are for. */
#define STORM_OPEN_SAME 12
uint32_t storm_open_node(const void *buf);

/* Any thread: check a stream's credential and parse it.  STORM_OK and *out,
 * or an error; EVERSION: authentic, but of another version. */
int storm_open_verify(const void *buf, size_t len, struct storm_open **out);
void storm_open_free(struct storm_open *o);

/* What a host may ask of an OPEN or of a session made from it. */
struct storm_open_info {
	uint32_t uid, gid;		/* who: from the credential */
	uint32_t job_id, step_id, step_het;
	uint64_t cluster;		/* 0: a step domain */
	const void *authority;		/* owned by the OPEN */
	size_t authority_len;
	uint32_t count;			/* nodes in the domain */
	uint32_t self;			/* which one is this node */
	const char *self_name;
};
void storm_open_info(const struct storm_open *o, struct storm_open_info *out);

#endif
