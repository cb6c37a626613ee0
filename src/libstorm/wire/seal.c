/*
 * seal.c - see seal.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <stdlib.h>
#include <sys/random.h>

#include "crypto.h"
#include "seal.h"

/* Zeros, then the sequence. */
#define SEAL_NONCE_LEN 12
#define SEAL_NONCE_FIXED 4

/* A sender only seals and a receiver only unseals.  So the cipher's state, a
 * kilobyte or more, is created on first use. */
struct storm_seal {
	uint8_t sub[STORM_KEY_LEN];
	EVP_CIPHER_CTX *enc, *dec; /* keyed; only the nonce changes */
};

static int seal_derive(const uint8_t *key, const uint8_t *info, size_t info_len,
		       uint8_t out[static STORM_KEY_LEN])
{
	EVP_KDF *kdf = storm_crypto()->kdf;
	EVP_KDF_CTX *ctx = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
	char digest[] = "SHA256";
	OSSL_PARAM p[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest,
						 0),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY,
						  (void *) key, STORM_KEY_LEN),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO,
						  (void *) info, info_len),
		OSSL_PARAM_construct_end()
	};
	int ok = ctx && EVP_KDF_derive(ctx, out, STORM_KEY_LEN, p) == 1;

	EVP_KDF_CTX_free(ctx);
	return ok ? STORM_OK : STORM_ESYS;
}

struct storm_seal *storm_seal_create(const uint8_t key[STORM_KEY_LEN],
				     const uint8_t inc[STORM_INCARNATION_LEN],
				     uint64_t session, uint32_t sender,
				     enum storm_lane lane)
{
	uint8_t info[6 + STORM_INCARNATION_LEN + 8 + 4 + 1];
	struct storm_out o = { info, info + sizeof(info), false };
	struct storm_seal *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	storm_put(&o, "storm2", 6);
	storm_put(&o, inc, STORM_INCARNATION_LEN);
	storm_put64(&o, session);
	storm_put32(&o, sender);
	storm_put8(&o, (uint8_t) lane);
	if (seal_derive(key, info, sizeof(info), s->sub)) {
		storm_seal_destroy(s);
		return NULL;
	}
	return s;
}

void storm_seal_destroy(struct storm_seal *s)
{
	if (!s)
		return;
	EVP_CIPHER_CTX_free(s->enc);
	EVP_CIPHER_CTX_free(s->dec);
	OPENSSL_cleanse(s->sub, sizeof(s->sub));
	free(s);
}

/* Set the key for one direction.  False: no memory, or OpenSSL failed. */
static bool seal_keyed(EVP_CIPHER_CTX **ctx, const uint8_t *sub, int encrypt)
{
	if (*ctx)
		return true;
	*ctx = EVP_CIPHER_CTX_new();
	if (*ctx && EVP_CipherInit_ex(*ctx, storm_crypto()->cipher, NULL, sub,
				      NULL, encrypt) == 1)
		return true;
	EVP_CIPHER_CTX_free(*ctx);
	*ctx = NULL;
	return false;
}

static void seal_nonce(uint64_t sequence, uint8_t iv[static SEAL_NONCE_LEN])
{
	struct storm_out o = { iv, iv + SEAL_NONCE_LEN, false };

	storm_put32(&o, 0);
	storm_put64(&o, sequence);
}

int storm_seal_seal(struct storm_seal *s, const uint8_t hdr[STORM_HEADER_LEN],
		    uint64_t sequence, const uint8_t *body, size_t len,
		    uint8_t *out)
{
	EVP_CIPHER_CTX *c;
	uint8_t iv[SEAL_NONCE_LEN];
	int n, fin;

	seal_nonce(sequence, iv);
	if (!seal_keyed(&s->enc, s->sub, 1))
		return STORM_ESYS;
	c = s->enc;
	return EVP_EncryptInit_ex(c, NULL, NULL, NULL, iv) == 1 &&
			       EVP_EncryptUpdate(c, NULL, &n, hdr,
						 STORM_HEADER_LEN) == 1 &&
			       EVP_EncryptUpdate(c, out, &n, body, (int) len) ==
				       1 &&
			       EVP_EncryptFinal_ex(c, out + n, &fin) == 1 &&
			       EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG,
						   STORM_TAG_LEN,
						   out + len) == 1 ?
		       STORM_OK :
		       STORM_ESYS;
}

/* The key, and the part of the nonce that never changes. */
static bool seal_open_keyed(struct storm_seal *s)
{
	static const uint8_t first[SEAL_NONCE_LEN];

	return s->dec || (seal_keyed(&s->dec, s->sub, 0) &&
			  EVP_CIPHER_CTX_ctrl(s->dec, EVP_CTRL_GCM_SET_IV_FIXED,
					      -1, (void *) first) == 1);
}

/* Prepare for the body that follows this header.  One call sets the rest of the
 * nonce and the tag: two would take a sixth of the time that a datagram takes. */
static bool seal_open_begin(struct storm_seal *s, const uint8_t *hdr,
			    uint64_t sequence, const uint8_t *tag)
{
	uint8_t iv[SEAL_NONCE_LEN];
	OSSL_PARAM p[] = { OSSL_PARAM_construct_octet_string(
				   OSSL_CIPHER_PARAM_AEAD_TAG, (void *) tag,
				   STORM_TAG_LEN),
			   OSSL_PARAM_construct_octet_string(
				   OSSL_CIPHER_PARAM_AEAD_TLS1_SET_IV_INV,
				   iv + SEAL_NONCE_FIXED,
				   SEAL_NONCE_LEN - SEAL_NONCE_FIXED),
			   OSSL_PARAM_construct_end() };
	int n;

	seal_nonce(sequence, iv);
	return seal_open_keyed(s) &&
	       EVP_CIPHER_CTX_set_params(s->dec, p) == 1 &&
	       EVP_DecryptUpdate(s->dec, NULL, &n, hdr, STORM_HEADER_LEN) == 1;
}

static bool seal_open_bytes(struct storm_seal *s, const uint8_t *from,
			    size_t len, uint8_t *to)
{
	int n;

	return EVP_DecryptUpdate(s->dec, to, &n, from, (int) len) == 1;
}

/* Verify the tag. */
static bool seal_open_end(struct storm_seal *s)
{
	uint8_t none[STORM_TAG_LEN];
	int n;

	return EVP_DecryptFinal_ex(s->dec, none, &n) == 1;
}

int storm_seal_open(struct storm_seal *s, const uint8_t hdr[STORM_HEADER_LEN],
		    uint64_t sequence, const uint8_t *body, size_t len,
		    uint8_t *out)
{
	if (len < STORM_TAG_LEN)
		return STORM_EAUTH;
	len -= STORM_TAG_LEN;
	return seal_open_begin(s, hdr, sequence, body + len) &&
			       seal_open_bytes(s, body, len, out) &&
			       seal_open_end(s) ?
		       STORM_OK :
		       STORM_EAUTH;
}

uint8_t *storm_seal_open_data(struct storm_seal *s,
			      const uint8_t hdr[STORM_HEADER_LEN],
			      uint64_t sequence, const uint8_t *body,
			      size_t len,
			      uint8_t head[static STORM_DATA_HEADER_LEN],
			      storm_place_fn place, void *arg)
{
	size_t rest = len - STORM_DATA_HEADER_LEN - STORM_TAG_LEN;
	uint8_t *out;

	if (!seal_open_begin(s, hdr, sequence, body + len - STORM_TAG_LEN) ||
	    !seal_open_bytes(s, body, STORM_DATA_HEADER_LEN, head))
		return NULL;
	out = place(arg, head, rest);
	return seal_open_bytes(s, body + STORM_DATA_HEADER_LEN, rest, out) &&
			       seal_open_end(s) ?
		       out :
		       NULL;
}

uint32_t storm_group_key(const uint8_t key[STORM_KEY_LEN], uint64_t session)
{
	uint8_t info[6 + 8 + 5], out[STORM_KEY_LEN];
	struct storm_out o = { info, info + sizeof(info), false };
	struct storm_in i = { out, out + sizeof(out), false };
	uint32_t qkey = 0;

	storm_put(&o, "storm2", 6);
	storm_put64(&o, session);
	storm_put(&o, "group", 5);
	if (!seal_derive(key, info, sizeof(info), out))
		qkey = storm_get32(&i) & 0x7fffffff;
	OPENSSL_cleanse(out, sizeof(out));
	return qkey;
}

int storm_random(void *buf, size_t len)
{
	/* from the kernel: OpenSSL's generator takes milliseconds to start, and
	 * a launch waits for it */
	uint8_t *p = buf;

	while (len) {
		ssize_t n = getrandom(p, len, 0);

		if (n < 0 && errno != EINTR)
			return STORM_ESYS;
		if (n > 0) {
			p += n;
			len -= (size_t) n;
		}
	}
	return STORM_OK;
}

void storm_sha256(const void *buf, size_t len, uint8_t out[static 32])
{
	EVP_Digest(buf, len, out, NULL, EVP_sha256(), NULL);
}

static uint64_t *replay_word(struct storm_replay *w, uint64_t sequence)
{
	return &w->seen[sequence % STORM_REPLAY_WINDOW / 64];
}

static uint64_t replay_bit(uint64_t sequence)
{
	return 1ULL << sequence % 64;
}

bool storm_replay_fresh(const struct storm_replay *w, uint64_t sequence)
{
	if (sequence > w->top)
		return true;
	if (w->top - sequence >= STORM_REPLAY_WINDOW)
		return false;
	return !(w->seen[sequence % STORM_REPLAY_WINDOW / 64] &
		 replay_bit(sequence));
}

void storm_replay_accept(struct storm_replay *w, uint64_t sequence)
{
	if (sequence <= w->top && w->top - sequence >= STORM_REPLAY_WINDOW)
		return;
	/* the bits between belonged to older sequences */
	if (sequence > w->top && sequence - w->top >= STORM_REPLAY_WINDOW)
		memset(w->seen, 0, sizeof(w->seen));
	else
		for (uint64_t s = w->top; s < sequence; s++)
			*replay_word(w, s + 1) &= ~replay_bit(s + 1);
	*replay_word(w, sequence) |= replay_bit(sequence);
	if (sequence > w->top)
		w->top = sequence;
}
