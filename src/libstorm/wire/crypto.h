/*
 * crypto.h - the algorithms of OpenSSL that seal.c and digest.c use.  A process
 * fetches each once: a fetch by name searches OpenSSL's providers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CRYPTO_H
#define STORM_CRYPTO_H

#include <openssl/types.h>

/* NULL in it: OpenSSL has no such algorithm, and refuses to use it. */
struct storm_crypto {
	EVP_CIPHER *cipher; /* AES-256-GCM */
	EVP_MD *digest;	    /* SHA-256 */
	EVP_KDF *kdf;	    /* HKDF */
};

/* Any thread.  The first call initializes OpenSSL, a millisecond or more.  Valid
 * until the process ends. */
const struct storm_crypto *storm_crypto(void);

#endif
