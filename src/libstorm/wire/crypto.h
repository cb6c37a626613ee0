/*
 * crypto.h - the algorithms of OpenSSL that seal.c and digest.c use.  A process
 * fetches each only once, because a fetch searches OpenSSL's providers by name.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CRYPTO_H
#define STORM_CRYPTO_H

#include <openssl/types.h>

/* A member is NULL if OpenSSL lacks the algorithm; OpenSSL's calls then
 * fail. */
struct storm_crypto {
	EVP_CIPHER *cipher; /* AES-256-GCM */
	EVP_MD *digest;	    /* SHA-256 */
	EVP_KDF *kdf;	    /* HKDF */
};

/* The algorithms; never NULL, and valid until the process ends.  The first call
 * initializes OpenSSL, which takes a millisecond or more.  Any thread. */
const struct storm_crypto *storm_crypto(void);

#endif
