/*
 * seal_rate.c - measure the cost of unsealing a datagram with each suite, from
 * which seal.c's suite was chosen, and how many bytes per second a core seals
 * and unseals.
 *
 *	seal_rate [BODY_BYTES]
 *
 * It makes the same calls as seal.c, with a new nonce and a tag each time.
 * `openssl speed` omits these, and they take a third of the time.  Prints medians
 * of 9 rounds, in ns per datagram and GB/s.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/libstorm/base/clock.h"
#include "src/libstorm/wire/seal.h"

#define BODY_MAX 9000
#define ROUNDS 9
#define TIMES 50000

static const char *const suites[] = { "AES-256-GCM", "AES-128-GCM",
				      "ChaCha20-Poly1305" };

static uint8_t header[STORM_HEADER_LEN], iv[12], tag[STORM_TAG_LEN];
static uint8_t plain[BODY_MAX], sealed[BODY_MAX], opened[BODY_MAX];

static bool seal(EVP_CIPHER_CTX *c, int len)
{
	int n;

	return EVP_EncryptInit_ex(c, NULL, NULL, NULL, iv) == 1 &&
	       EVP_EncryptUpdate(c, NULL, &n, header, sizeof(header)) == 1 &&
	       EVP_EncryptUpdate(c, sealed, &n, plain, len) == 1 &&
	       EVP_EncryptFinal_ex(c, sealed + n, &n) == 1 &&
	       EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, sizeof(tag),
				   tag) == 1;
}

static bool unseal(EVP_CIPHER_CTX *c, int len)
{
	int n;

	return EVP_DecryptInit_ex(c, NULL, NULL, NULL, iv) == 1 &&
	       EVP_DecryptUpdate(c, NULL, &n, header, sizeof(header)) == 1 &&
	       EVP_DecryptUpdate(c, opened, &n, sealed, len) == 1 &&
	       EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, sizeof(tag),
				   tag) == 1 &&
	       EVP_DecryptFinal_ex(c, opened + n, &n) == 1;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *) a, y = *(const double *) b;

	return (x > y) - (x < y);
}

static bool measure(const char *suite, int len)
{
	static const uint8_t key[32] = { 1 };
	EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, suite, NULL);
	EVP_CIPHER_CTX *enc = EVP_CIPHER_CTX_new();
	EVP_CIPHER_CTX *dec = EVP_CIPHER_CTX_new();
	double ns[ROUNDS];
	bool ok = cipher && enc && dec &&
		  EVP_EncryptInit_ex(enc, cipher, NULL, key, NULL) == 1 &&
		  EVP_DecryptInit_ex(dec, cipher, NULL, key, NULL) == 1 &&
		  seal(enc, len);

	for (int r = 0; ok && r < ROUNDS; r++) {
		uint64_t start = storm_now();

		for (int i = 0; ok && i < TIMES; i++)
			ok = unseal(dec, len);
		ns[r] = (double) (storm_now() - start) / TIMES;
	}
	if (ok) {
		qsort(ns, ROUNDS, sizeof(ns[0]), ascending);
		printf("%-18s %6.0f ns  %5.2f GB/s\n", suite, ns[ROUNDS / 2],
		       len / ns[ROUNDS / 2]);
	} else {
		fprintf(stderr, "seal_rate: OpenSSL has no working %s\n",
			suite);
	}
	EVP_CIPHER_CTX_free(enc);
	EVP_CIPHER_CTX_free(dec);
	EVP_CIPHER_free(cipher);
	return ok;
}

static uint8_t *place(void *arg, const uint8_t *head, size_t len)
{
	(void) head, (void) len;
	return arg;
}

/* By the calls of a sender, or of a node. */
static bool measure_calls(bool opens, int len)
{
	static const uint8_t key[STORM_KEY_LEN], inc[STORM_INCARNATION_LEN];
	static uint8_t out[BODY_MAX + STORM_TAG_LEN];
	struct storm_seal *s =
		storm_seal_create(key, inc, 1, 1, STORM_LANE_DATA);
	size_t bytes = (size_t) len;
	uint8_t head[STORM_DATA_HEADER_LEN];
	double ns[ROUNDS];
	bool ok = s && !storm_seal_seal(s, header, 1, plain, bytes, out);

	for (int r = 0; r < ROUNDS; r++) {
		uint64_t start = storm_now();

		for (int i = 0; ok && !opens && i < TIMES; i++)
			ok = !storm_seal_seal(s, header, 1, plain, bytes, out);
		for (int i = 0; ok && opens && i < TIMES; i++)
			ok = storm_seal_open_data(s, header, 1, out,
						  bytes + STORM_TAG_LEN, head,
						  place, opened);
		ns[r] = (double) (storm_now() - start) / TIMES;
	}
	qsort(ns, ROUNDS, sizeof(ns[0]), ascending);
	if (ok)
		printf("%-18s %6.0f ns  %5.2f GB/s\n",
		       opens ? "unseal" : "seal", ns[ROUNDS / 2],
		       len / ns[ROUNDS / 2]);
	storm_seal_destroy(s);
	return ok;
}

int main(int argc, char **argv)
{
	int len = argc > 1 ? atoi(argv[1]) : 1396;
	bool ok = true;

	if (argc > 2 || len < STORM_DATA_HEADER_LEN || len > BODY_MAX) {
		fprintf(stderr, "usage: seal_rate [BODY_BYTES], %d to %d\n",
			STORM_DATA_HEADER_LEN, BODY_MAX);
		return 2;
	}
	printf("unseal %d bytes:\n", len);
	for (size_t i = 0; i < sizeof(suites) / sizeof(suites[0]); i++)
		ok = measure(suites[i], len) && ok;
	printf("as seal.c does it:\n");
	ok = measure_calls(false, len) && ok;
	ok = measure_calls(true, len) && ok;
	return !ok;
}
