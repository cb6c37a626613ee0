/*
 * prepare.c - initialize in a thread what the first domain needs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <pthread.h>
#include <stdbool.h>

#include "prepare.h"
#include "src/libstorm/base/thread.h"
#include "src/libstorm/wire/digest.h"
#include "src/libstorm/wire/seal.h"

static struct {
	pthread_t thread;
	bool started;
} prepare;

/* A datagram sealed and digested: OpenSSL is initialized, its pages are read. */
void storm_prepare_here(void)
{
	static const uint8_t key[STORM_KEY_LEN], inc[STORM_INCARNATION_LEN],
		text[STORM_HEADER_LEN];
	uint8_t out[sizeof(text) + STORM_TAG_LEN], sum[STORM_DIGEST_LEN];
	struct storm_seal *s =
		storm_seal_create(key, inc, 0, 0, STORM_LANE_DATA);
	struct storm_digest *d = storm_digest_create();

	if (s)
		storm_seal_seal(s, text, 0, text, sizeof(text), out);
	if (d) {
		storm_digest_add(d, text, sizeof(text));
		storm_digest_end(d, sum);
	}
	storm_digest_destroy(d);
	storm_seal_destroy(s);
}

static void *prepare_thread(void *arg)
{
	storm_prepare_here();
	return arg;
}

void storm_prepare(void)
{
	if (!prepare.started)
		prepare.started = !storm_thread_start(&prepare.thread,
						      prepare_thread, NULL);
}
