/*
 * call.c - see call.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <openssl/crypto.h>
#include <stdlib.h>

#include "call.h"

bool call_begin(struct call *c, const uint8_t key[static RUN_KEY])
{
	memcpy(c->key, key, RUN_KEY);
	return !storm_random(c->secret, CALL_SECRET) &&
	       !storm_random(c->caller, SEALED_RANDOM);
}

/* A sum for one use: of both keys, and of the caller's number. */
static void call_sum(const struct call *c, char use, uint8_t (*out)[CALL_PROOF])
{
	static const char label[] = "storm call";
	uint8_t what[sizeof(label) + RUN_KEY + CALL_SECRET + SEALED_RANDOM];
	struct storm_out o = { what, what + sizeof(what), false };

	storm_put(&o, label, sizeof(label) - 1);
	storm_put8(&o, (uint8_t) use);
	storm_put(&o, c->key, RUN_KEY);
	storm_put(&o, c->secret, CALL_SECRET);
	storm_put(&o, c->caller, SEALED_RANDOM);
	storm_sha256(what, sizeof(what), *out);
	OPENSSL_cleanse(what, sizeof(what));
}

void call_hide(const struct call *c, uint8_t (*out)[CALL_LEN])
{
	struct storm_out o = { *out, *out + sizeof(*out), false };
	uint8_t proof[CALL_PROOF];

	call_sum(c, 'P', &proof);
	storm_put(&o, c->secret, CALL_SECRET);
	storm_put(&o, c->caller, SEALED_RANDOM);
	storm_put(&o, proof, CALL_PROOF);
}

const char *call_read(struct call *c, const uint8_t key[static RUN_KEY],
		      uint32_t uid, uint32_t own, const void *buf, size_t len)
{
	struct storm_in in = { buf, (const uint8_t *) buf + len, false };
	const uint8_t *secret = storm_get(&in, CALL_SECRET);
	const uint8_t *caller = storm_get(&in, SEALED_RANDOM);
	const uint8_t *proof = storm_get(&in, CALL_PROOF);
	uint8_t right[CALL_PROOF];

	if (uid != own)
		return "it is another user's";
	if (!storm_in_done(&in))
		return "its credential hides something else";
	memcpy(c->key, key, RUN_KEY);
	memcpy(c->secret, secret, CALL_SECRET);
	memcpy(c->caller, caller, SEALED_RANDOM);
	call_sum(c, 'P', &right);
	if (CRYPTO_memcmp(right, proof, CALL_PROOF))
		return "it is for another start of launchers";
	return NULL;
}

struct sealed *call_sealed(const struct call *c,
			   const uint8_t answerer[static SEALED_RANDOM],
			   bool calls)
{
	uint8_t key[CALL_PROOF];
	const struct sealed_form f = { .use = SEALED_CALL,
				       .key = key,
				       .caller = c->caller,
				       .answerer = answerer,
				       .calls = calls };
	struct sealed *s;

	_Static_assert(CALL_PROOF == STORM_KEY_LEN, "a sum is a key");
	call_sum(c, 'K', &key);
	s = sealed_create(&f);
	OPENSSL_cleanse(key, sizeof(key));
	return s;
}

uint8_t *call_frame(const char *cred, size_t *len)
{
	size_t text = strlen(cred) + 1;
	uint8_t *frame = malloc(RUN_FRAME_HEADER + 4 + text);
	struct storm_out o = { frame + RUN_FRAME_HEADER,
			       frame + RUN_FRAME_HEADER + 4 + text, false };

	if (!frame)
		return NULL;
	run_frame_head(frame, RUN_CALL, 4 + text);
	storm_put32(&o, RUN_VERSION);
	storm_put(&o, cred, text);
	*len = RUN_FRAME_HEADER + 4 + text;
	return frame;
}

const char *call_cred(struct storm_in *body)
{
	bool ours = storm_get32(body) == RUN_VERSION;

	if (body->bad || !ours || body->p == body->end || body->end[-1])
		return NULL;
	return (const char *) body->p;
}
