/*
 * fuzz_verbs.c - what anybody on the fabric can send to the connection manager's
 * port: where he is, and the memory of a reliable pair.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "fuzz.h"
#include "src/libstorm/verbs_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t again[VERBS_HELLO_LEN];
	struct verbs_hello h;
	struct verbs_ring r;

	_Static_assert(VERBS_RING_LEN <= sizeof(again), "room for both");
	if (storm_verbs_hello_unpack(data, size, &h)) {
		must(size >= VERBS_HELLO_LEN && h.mtu >= STORM_MTU_MIN);
		storm_verbs_hello_pack(&h, again);
		must(!memcmp(again, data, VERBS_HELLO_LEN));
	}
	if (storm_verbs_ring_unpack(data, size, &r)) {
		must(size >= VERBS_RING_LEN);
		must(r.class <= 1 && r.slot && r.slots >= 4 &&
		     r.slots <= 32768 && !(r.slots & (r.slots - 1)));
		storm_verbs_ring_pack(&r, again);
		must(!memcmp(again, data, VERBS_RING_LEN));
	}
	return 0;
}
