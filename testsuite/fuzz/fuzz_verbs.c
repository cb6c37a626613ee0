/*
 * fuzz_verbs.c - what anybody on the fabric can send to the connection manager's
 * port: where an end is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "fuzz.h"
#include "src/libstorm/transport/verbs/verbs_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t again[VERBS_HELLO_LEN];
	struct verbs_hello h;

	if (storm_verbs_hello_unpack(data, size, &h)) {
		must(size >= VERBS_HELLO_LEN && h.mtu >= STORM_MTU_MIN);
		storm_verbs_hello_pack(&h, again);
		must(!memcmp(again, data, VERBS_HELLO_LEN));
	}
	return 0;
}
