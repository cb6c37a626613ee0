/*
 * crypto.c - see crypto.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <pthread.h>

#include "crypto.h"

static struct storm_crypto crypto;

static void crypto_fetch(void)
{
	/* Without its clean-up at exit(), which takes time, and which another
	 * thread that still uses OpenSSL would not survive. */
	OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
	crypto.cipher = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
	crypto.digest = EVP_MD_fetch(NULL, "SHA2-256", NULL);
	crypto.kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
}

const struct storm_crypto *storm_crypto(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, crypto_fetch);
	return &crypto;
}
