/*
 * seal_rate.c - what it costs to unseal a datagram, by suite: the measurement
 * behind the choice in seal.c; and how many bytes a second one core seals and
 * unseals, and several (pace.h).
 *
 *	seal_rate [BODY_BYTES]
 *
 * Makes the calls that seal.c makes, a new nonce and a tag each time; what
 * `openssl speed` prints leaves those out, and they are a third of the whole.
 * Medians of 9 rounds, in ns for a datagram and GB/s.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/crew.h"
#include "src/libstorm/wire/seal.h"

#define BODY_MAX 9000
#define ROUNDS 9
#define TIMES 50000

static const char *const suites[] = {
	"AES-256-GCM", "AES-128-GCM", "ChaCha20-Poly1305"
};

static uint8_t header[STORM_HEADER_LEN], iv[12], tag[STORM_TAG_LEN];
static uint8_t plain[BODY_MAX], sealed[BODY_MAX], opened[BODY_MAX];

#define RUN 44			/* datagrams at once, as in link.c */
#define RUNS 1000

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

struct runs {
	struct storm_seal *seal;
	struct storm_crew *crew;
	struct storm_piece piece[RUN];
	struct storm_sealed sealed[RUN];
	bool ok;
};

static void seal_run(struct runs *x)
{
	x->ok = x->ok && !storm_seal_all(x->seal, x->piece, RUN, x->crew);
}

static void open_run(struct runs *x)
{
	storm_seal_open_all(x->seal, x->sealed, RUN, x->crew);
	for (size_t i = 0; i < RUN; i++)
		x->ok = x->ok && x->sealed[i].opened;
}

static void measure_runs(struct runs *x, void (*run)(struct runs *x),
			 const char *does, unsigned int size, int len)
{
	double ns[ROUNDS];

	for (int r = 0; r < ROUNDS; r++) {
		uint64_t start = storm_now();

		for (int i = 0; x->ok && i < RUNS; i++)
			run(x);
		ns[r] = (double) (storm_now() - start) / RUNS / RUN;
	}
	qsort(ns, ROUNDS, sizeof(ns[0]), ascending);
	if (x->ok)
		printf("%-6s by %u %15.0f ns  %5.2f GB/s\n", does, size,
		       ns[ROUNDS / 2], len / ns[ROUNDS / 2]);
}

static bool by_crew(unsigned int size, int len)
{
	static const uint8_t key[STORM_KEY_LEN], inc[STORM_INCARNATION_LEN];
	static uint8_t out[RUN][BODY_MAX + STORM_TAG_LEN], back[RUN][BODY_MAX];
	static struct runs x;

	x.crew = size > 1 ? storm_crew_start(size) : NULL;
	x.seal = storm_seal_create(key, inc, 1, 1, STORM_LANE_DATA);
	x.ok = x.seal && (x.crew || size == 1);
	for (size_t i = 0; i < RUN; i++) {
		x.piece[i] = (struct storm_piece) {
			.hdr = header, .body = plain, .sequence = i,
			.len = (size_t) len, .out = out[i],
		};
		x.sealed[i] = (struct storm_sealed) {
			.hdr = header, .body = out[i], .sequence = i,
			.len = (size_t) len + STORM_TAG_LEN, .out = back[i],
		};
	}
	measure_runs(&x, seal_run, "seal", size, len);
	measure_runs(&x, open_run, "unseal", size, len);
	storm_crew_stop(x.crew);
	storm_seal_destroy(x.seal);
	return x.ok;
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
	printf("%d bytes, %d at once, AES-256-GCM, by so many cores:\n", len,
	       RUN);
	for (unsigned int size = 1; size <= 4; size *= 2)
		ok = by_crew(size, len) && ok;
	return !ok;
}
