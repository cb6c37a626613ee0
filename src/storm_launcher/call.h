/*
 * call.h - the head, in a step, calls its keeper on another host: what both show each
 * other before the first record.  No socket, and no munged.
 *
 * The caller sends CALL with a MUNGE credential that only this user can decode.  It hides
 * a secret of this call, and a proof that its maker has the key of the step: so it is for
 * this start of launchers.  The keeper answers with a random number.  The key of the
 * records (sealed.h) follows from the secret and from the step's key.  So the first
 * record of each end proves all the rest: the keeper has decoded the credential, and the
 * caller repeats nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CALL_H
#define STORM_CALL_H

#include "run_wire.h"
#include "sealed.h"

#define CALL_SECRET 32
#define CALL_PROOF 32
/* Bytes that a credential hides. */
#define CALL_LEN (CALL_SECRET + SEALED_RANDOM + CALL_PROOF)
/* Bytes of a frame's body, and of the answer's frame. */
#define CALL_MAX 4096
#define CALL_ANSWER (RUN_FRAME_HEADER + SEALED_RANDOM)

/* A call, at either end. */
struct call {
	uint8_t key[RUN_KEY]; /* of the step */
	uint8_t secret[CALL_SECRET], caller[SEALED_RANDOM];
};

/* A new one.  False: the kernel gives no random numbers. */
bool call_begin(struct call *c, const uint8_t key[static RUN_KEY]);
/* What its credential hides. */
void call_hide(const struct call *c, uint8_t (*out)[CALL_LEN]);
/* What a credential of user uid, for user own, has hidden, for the start of launchers
 * with this key.  NULL; or why it is refused. */
const char *call_read(struct call *c, const uint8_t key[static RUN_KEY],
		      uint32_t uid, uint32_t own, const void *buf, size_t len);
/* One end of the stream behind the answer.  NULL: no memory, or OpenSSL failed. */
struct sealed *call_sealed(const struct call *c,
			   const uint8_t answerer[static SEALED_RANDOM],
			   bool calls);

/* The frame with a credential, malloc()ed, *len bytes; NULL: no memory. */
uint8_t *call_frame(const char *cred, size_t *len);
/* The credential in a frame's body; NULL: it is malformed, or of another version. */
const char *call_cred(struct storm_in *body);

#endif
