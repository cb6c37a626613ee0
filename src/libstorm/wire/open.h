/*
 * open.h - OPEN: how a domain and its session key reach the nodes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_OPEN_H
#define STORM_OPEN_H

#include "nodelist.h"
#include "seal.h"
#include "src/libstorm/base/idset.h"

#define STORM_OPEN_MAX (4u << 20) /* 65536 nodes with names of 40 bytes */
#define STORM_CRED_MAX 8192
#define STORM_NONCE_LEN 16
#define STORM_PATH_MAX 4096
#define STORM_WINDOW_MIN 65536

/* An ordered COMPARE-AND-WRITE: its kind, one after those of enum
 * storm_target_kind, and what it asks. */
#define STORM_KIND_COMPARE 4
struct storm_comparison {
	uint32_t var;
	enum storm_relation rel;
	uint64_t value;
	bool writes;
	struct storm_assign write;
};
bool storm_var_known(uint32_t var); /* own or global */
bool storm_relation_holds(uint64_t a, enum storm_relation rel, uint64_t b);

/* The announcement of an ordered operation, sent in an OPEN or as BEGIN. */
struct storm_begin {
	uint64_t op, size;
	struct storm_idset p;	/* owned; empty: all members */
	struct storm_target to; /* to.kind may be STORM_KIND_COMPARE; to.path:
				   owned, malloc()ed */
	struct storm_comparison cmp;
};
#define STORM_BEGIN_MAX (STORM_PATH_MAX + 128 + 10 * STORM_SET_RANGES)
/* Check a caller's node set, in a domain of count nodes.  STORM_OK; EINVAL:
 * empty or out of range; ETOOBIG: too many ranges. */
int storm_begin_check_set(const struct storm_idset *P, uint32_t count);
/* Is this node one of those that the operation is for?  */
static inline bool storm_begin_names(const struct storm_begin *b, uint32_t node)
{
	return !b->p.count || storm_idset_has(&b->p, node);
}
/* Pack b.  Returns the bytes written to buf; 0: they are more than max. */
size_t storm_begin_pack(const struct storm_begin *b, uint8_t *buf, size_t max);
/* Unpack b; count: nodes in the domain.  STORM_OK: the caller frees b by
 * storm_begin_free().  EINVAL or ENOMEM: nothing to free. */
int storm_begin_unpack(struct storm_begin *b, const uint8_t *buf, size_t len,
		       uint32_t count);
void storm_begin_free(struct storm_begin *b); /* what it owns, not b */

/* An OPEN.  storm_open_verify() makes it from a stream, or an owner fills it in
 * for storm_open_seal().  Free it by storm_open_free(). */
struct storm_open {
	/* from the credential */
	uint32_t uid, gid;
	uint8_t key[STORM_KEY_LEN];
	uint64_t session; /* first 8 bytes of SHA-256(body) */
	/* from the stream */
	uint32_t self;
	bool late; /* sent after its first epoch had ended */
	/* from the body */
	uint8_t nonce[STORM_NONCE_LEN]; /* random: no session can be guessed */
	uint32_t job_id, step_id, step_het;
	struct storm_addr owner, group;
	bool multicast;
	uint32_t radix, mtu;
	uint64_t window, dead_timeout, op_timeout, heartbeat;
	uint64_t cluster; /* which cluster's domain; 0: a step domain */
	uint32_t epoch;	  /* the first one of this owner */
	bool founding;	  /* the cluster domain's first owner: no node
				   has state of an earlier one */
	uint8_t *authority;
	size_t authority_len;
	struct storm_nodes nodes; /* as received, in body */
	uint32_t count;
	struct storm_idset excluded; /* as the epoch begins */
	bool has_begin;
	struct storm_begin begin; /* of the first operation */
	/* as received or made; passed on to the children */
	char *cred;
	uint8_t *body;
	size_t body_len;
	/* NULL, or the number of OPENs of one thread (the simulator's) that
	 * share authority, nodes, excluded, cred and body */
	uint32_t *shared;
};

/* For an owner: pack the body and make the key's credential, which waits for
 * munged.  Sets session, key, cred and body.  STORM_OK or an error. */
int storm_open_seal(struct storm_open *o, uint32_t agent_uid);
/* Make another credential for the same key.  MUNGE credentials expire, and a
 * node that has decoded one refuses it as a replay, after its agent's restart
 * too.  STORM_OK, or an error: the old credential stays. */
int storm_open_renew(struct storm_open *o, uint32_t agent_uid);
/* The stream for one node, malloc()ed, *len bytes.  NULL: no memory. */
uint8_t *storm_open_stream(const struct storm_open *o, uint32_t node,
			   size_t *len);
/* The session of a stream of any version, for deduplication before the
 * credential is decoded.  STORM_EINVAL or STORM_ETOOBIG: this is no OPEN. */
int storm_open_peek(const void *buf, size_t len, uint64_t *session);
/* The streams of one OPEN differ only before this offset.  The last 4 bytes
 * there are the number of the node that the stream is for:
 * storm_open_node(). */
#define STORM_OPEN_SAME 12
uint32_t storm_open_node(const void *buf);

/* Check a stream's credential and parse it.  STORM_OK and *out, which the
 * caller frees; or an error.  STORM_EVERSION: authentic, but of another
 * version.  Any thread; it waits for munged. */
int storm_open_verify(const void *buf, size_t len, struct storm_open **out);
void storm_open_free(struct storm_open *o);

/* What programs can learn about an OPEN, or about a session made from it. */
struct storm_open_info {
	uint32_t uid, gid; /* of the owner; from the credential */
	uint32_t job_id, step_id, step_het;
	uint64_t cluster;      /* 0: a step domain */
	const void *authority; /* owned by the OPEN */
	size_t authority_len;
	uint32_t count; /* nodes in the domain */
	uint32_t self;	/* which one is this node */
	char self_name[STORM_NAME_MAX + 1];
};
void storm_open_info(const struct storm_open *o, struct storm_open_info *out);

#endif
