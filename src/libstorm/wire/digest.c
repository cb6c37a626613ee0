/*
 * digest.c - see digest.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <openssl/evp.h>
#include <stdlib.h>

#include "crypto.h"
#include "digest.h"

struct storm_digest {
	EVP_MD_CTX *ctx;
	bool bad;
};

struct storm_digest *storm_digest_create(void)
{
	struct storm_digest *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->ctx = EVP_MD_CTX_new();
	if (d->ctx &&
	    EVP_DigestInit_ex(d->ctx, storm_crypto()->digest, NULL) == 1)
		return d;
	storm_digest_destroy(d);
	return NULL;
}

void storm_digest_destroy(struct storm_digest *d)
{
	if (!d)
		return;
	EVP_MD_CTX_free(d->ctx);
	free(d);
}

void storm_digest_add(struct storm_digest *d, const void *buf, size_t len)
{
	d->bad |= EVP_DigestUpdate(d->ctx, buf, len) != 1;
}

bool storm_digest_end(struct storm_digest *d,
		      uint8_t out[static STORM_DIGEST_LEN])
{
	d->bad |= EVP_DigestFinal_ex(d->ctx, out, NULL) != 1;
	return !d->bad;
}
