/*
 * seal.h - seals each datagram: AES-256-GCM (OpenSSL 3) over the body, with the
 * whole header as associated data.  A sender's subkey is HKDF-SHA256(session
 * key; incarnation, session, sender, lane).  So two senders, two incarnations
 * of one sender, and its two lanes have keys of their own.  The nonce is the
 * header's sequence, which a sender never uses twice.  The suite is the fastest
 * for a datagram (contribs/bench/seal_rate).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SEAL_H
#define STORM_SEAL_H

#include "wire.h"

#define STORM_KEY_LEN 32

/* DATA have sequences of their own.  So they do not push control messages out
 * of the window by which a replay of these is found. */
enum storm_lane {
	STORM_LANE_CONTROL,
	STORM_LANE_DATA,
	STORM_LANES,		       /* those of a link */
	STORM_LANE_PULSE = STORM_LANES /* another thread's: pulse.h */
};

struct storm_seal; /* one sender's lane, ready to seal and unseal */

/* NULL: OpenSSL failed or no memory. */
struct storm_seal *storm_seal_create(const uint8_t key[STORM_KEY_LEN],
				     const uint8_t inc[STORM_INCARNATION_LEN],
				     uint64_t session, uint32_t sender,
				     enum storm_lane lane);
void storm_seal_destroy(struct storm_seal *s);

/* Seal len bytes of body to out, followed by the tag; out may be body.
 * STORM_OK or STORM_ESYS. */
int storm_seal_seal(struct storm_seal *s, const uint8_t hdr[STORM_HEADER_LEN],
		    uint64_t sequence, const uint8_t *body, size_t len,
		    uint8_t *out);
/* Verify and decrypt len bytes, tag included, to out, len - STORM_TAG_LEN
 * bytes.  STORM_OK or STORM_EAUTH; then out holds garbage. */
int storm_seal_open(struct storm_seal *s, const uint8_t hdr[STORM_HEADER_LEN],
		    uint64_t sequence, const uint8_t *body, size_t len,
		    uint8_t *out);

/* Returns the place for the rest of DATA, len bytes.  The head says which it
 * is, but is not verified yet.  So the place must hold nothing that is still
 * needed. */
typedef uint8_t *(*storm_place_fn)(void *arg,
				   const uint8_t head[STORM_DATA_HEADER_LEN],
				   size_t len);
/* Verify and decrypt DATA, at least a head and the tag.  Unseals the head
 * first, and then the rest to where place() says, which is returned.  NULL: not
 * authentic; then head and that place hold garbage. */
uint8_t *storm_seal_open_data(struct storm_seal *s,
			      const uint8_t hdr[STORM_HEADER_LEN],
			      uint64_t sequence, const uint8_t *body,
			      size_t len,
			      uint8_t head[static STORM_DATA_HEADER_LEN],
			      storm_place_fn place, void *arg);

/* The key that separates a session's multicasts from others of the same group
 * (verbs: the Q_Key).  Only members can derive it.  Its highest bit is 0,
 * because Q_Keys with that bit need privileges.  0: OpenSSL failed. */
uint32_t storm_group_key(const uint8_t key[STORM_KEY_LEN], uint64_t session);

/* Fill buf with random bytes from the kernel.  STORM_OK or STORM_ESYS. */
int storm_random(void *buf, size_t len);
void storm_sha256(const void *buf, size_t len, uint8_t out[static 32]);

/*
 * A window over the sequences of control messages, as in RFC 4303.  fresh():
 * this one was not accepted before, and is not too old to tell.  The window is
 * as wide as a receive queue is deep, because a unicast may overtake all
 * multicasts that wait in another queue.
 */
#define STORM_REPLAY_WINDOW 1024
struct storm_replay {
	uint64_t top; /* the highest that was accepted */
	uint64_t seen[STORM_REPLAY_WINDOW / 64]; /* rings of bits */
};
bool storm_replay_fresh(const struct storm_replay *w, uint64_t sequence);
void storm_replay_accept(struct storm_replay *w, uint64_t sequence);

#endif
