/*
 * sealed.c - see sealed.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <openssl/crypto.h>
#include <stdlib.h>

#include "sealed.h"

enum { CALLER, ANSWERER };

struct sealed_way {
	struct storm_seal *seal; /* NULL: of no epoch yet */
	uint64_t number, epoch;
};

struct sealed {
	uint8_t key[STORM_KEY_LEN], inc[STORM_INCARNATION_LEN];
	uint64_t per_key;
	bool calls;
	struct sealed_way out, in;
};

struct sealed *sealed_create(const struct sealed_form *f)
{
	static const char label[] = "storm carrier";
	uint8_t what[sizeof(label) + 2 * SEALED_RANDOM], sum[32];
	struct storm_out o = { what, what + sizeof(what), false };
	struct sealed *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	storm_put(&o, label, sizeof(label) - 1);
	storm_put8(&o, (uint8_t) f->use);
	storm_put(&o, f->caller, SEALED_RANDOM);
	storm_put(&o, f->answerer, SEALED_RANDOM);
	storm_sha256(what, sizeof(what), sum);
	memcpy(s->inc, sum, sizeof(s->inc));
	memcpy(s->key, f->key, sizeof(s->key));
	s->per_key = f->per_key ? f->per_key : SEALED_PER_KEY;
	s->calls = f->calls;
	return s;
}

void sealed_destroy(struct sealed *s)
{
	if (!s)
		return;
	storm_seal_destroy(s->out.seal);
	storm_seal_destroy(s->in.seal);
	OPENSSL_cleanse(s->key, sizeof(s->key));
	free(s);
}

/* The key of the next record, which both ends count.  False: OpenSSL failed. */
static bool sealed_keyed(const struct sealed *s, struct sealed_way *w,
			 uint32_t sender)
{
	uint64_t epoch = w->number / s->per_key;

	if (w->seal && w->epoch == epoch)
		return true;
	storm_seal_destroy(w->seal);
	w->epoch = epoch;
	w->seal = storm_seal_create(s->key, s->inc, epoch, sender,
				    STORM_LANE_CONTROL);
	return w->seal != NULL;
}

/* What is not secret, and must not be changed. */
static void sealed_header(size_t len, uint8_t (*out)[STORM_HEADER_LEN])
{
	struct storm_out o = { *out, *out + sizeof(*out), false };

	memset(*out, 0, sizeof(*out));
	storm_put32(&o, (uint32_t) len);
	storm_put32(&o, SEALED_VERSION);
}

bool sealed_put(struct sealed *s, const void *text, size_t len, uint8_t *out)
{
	struct sealed_way *w = &s->out;
	struct storm_out o = { out, out + SEALED_HEAD, false };
	uint8_t header[STORM_HEADER_LEN];

	if (!len || len > SEALED_MAX ||
	    !sealed_keyed(s, w, s->calls ? CALLER : ANSWERER))
		return false;
	storm_put32(&o, (uint32_t) len);
	sealed_header(len, &header);
	return !storm_seal_seal(w->seal, header, ++w->number, text, len,
				out + SEALED_HEAD);
}

ssize_t sealed_get(struct sealed *s, uint8_t *buf, size_t have,
		   const uint8_t **text, size_t *len)
{
	struct sealed_way *w = &s->in;
	struct storm_in in = { buf, buf + have, false };
	uint8_t header[STORM_HEADER_LEN];
	size_t n = storm_get32(&in);

	if (in.bad)
		return 0;
	if (!n || n > SEALED_MAX)
		return -1;
	if (have < n + SEALED_EXTRA)
		return 0;
	if (!sealed_keyed(s, w, s->calls ? ANSWERER : CALLER))
		return -1;
	sealed_header(n, &header);
	if (storm_seal_open(w->seal, header, ++w->number, buf + SEALED_HEAD,
			    n + STORM_TAG_LEN, buf + SEALED_HEAD))
		return -1;
	*text = buf + SEALED_HEAD;
	*len = n;
	return (ssize_t) (n + SEALED_EXTRA);
}
