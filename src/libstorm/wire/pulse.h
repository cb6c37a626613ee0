/*
 * pulse.h - PULSE, the signs of life of a cluster domain, and the questions that
 * doubt asks.  They are small and many, and real-time threads send and take
 * them.  So they have a lane of their own, whose sequences no other thread
 * counts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PULSE_H
#define STORM_PULSE_H

#include "seal.h"

enum storm_pulse_kind {
	STORM_PULSE_SIGN = 1, /* node -> parent: it lives */
	STORM_PULSE_ASK,      /* owner -> node: does it live? */
	STORM_PULSE_ANSWER,   /* node -> owner; op: the sequence of the ASK */
	STORM_PULSE_NEWS,     /* node -> owner: of one of its children */
	STORM_PULSE_KINDS
};

/* What a node says of itself.  Its main loop has not run for long. */
#define STORM_PULSE_HUNG 0x1
/* It has heard nothing of the owner for long. */
#define STORM_PULSE_DEAF 0x2
#define STORM_PULSE_FLAGS 0x3

struct storm_pulse {
	uint8_t kind, flags; /* of NEWS: the child's */
	uint32_t node;	     /* NEWS: the child; else 0 */
	uint32_t silence;    /* NEWS: ms for which it was not heard; else 0 */
};

#define STORM_PULSE_BODY 12
#define STORM_PULSE_LEN (STORM_HEADER_LEN + STORM_PULSE_BODY + STORM_TAG_LEN)

/* A sender of pulses.  All zeroes: none. */
struct storm_pulse_tx {
	struct storm_seal *seal;
	uint64_t session;
	uint32_t self, epoch;
	uint8_t incarnation[STORM_INCARNATION_LEN];
	uint64_t sequence; /* of the last one; it is never set back */
};

/* Begin to send in this life, or in another one.  STORM_OK, or STORM_ENOMEM:
 * tx sends as before. */
int storm_pulse_tx_open(struct storm_pulse_tx *tx,
			const uint8_t key[STORM_KEY_LEN], uint64_t session,
			uint32_t self,
			const uint8_t inc[STORM_INCARNATION_LEN]);
void storm_pulse_tx_close(struct storm_pulse_tx *tx);
/* Seal one to out.  STORM_OK or STORM_ESYS. */
int storm_pulse_seal(struct storm_pulse_tx *tx, const struct storm_pulse *p,
		     uint64_t op, uint8_t out[static STORM_PULSE_LEN]);

/* One life of a node, or of the owner, whose pulses are taken.  All zeroes:
 * none. */
struct storm_pulse_rx {
	struct storm_seal *seal;
	uint32_t sender;
	uint8_t incarnation[STORM_INCARNATION_LEN];
	uint64_t top; /* the highest sequence that was taken */
};

/* Take pulses of this life from now on.  The same one as before: what was taken
 * is not taken again.  STORM_OK, or STORM_ENOMEM: none are taken. */
int storm_pulse_rx_open(struct storm_pulse_rx *rx,
			const uint8_t key[STORM_KEY_LEN], uint64_t session,
			uint32_t sender,
			const uint8_t inc[STORM_INCARNATION_LEN]);
void storm_pulse_rx_close(struct storm_pulse_rx *rx);
/* Verify a datagram whose header h was unpacked from buf.  STORM_OK: *out is
 * filled; STORM_EAUTH: another life's, an old one, or forged; STORM_EINVAL:
 * malformed. */
int storm_pulse_open(struct storm_pulse_rx *rx, const struct storm_header *h,
		     const uint8_t *buf, size_t len, struct storm_pulse *out);

#endif
