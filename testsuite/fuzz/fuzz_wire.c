/*
 * fuzz_wire.c - the header of a datagram, and what an agent answers to an OPEN
 * that it does not take.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "fuzz.h"

static void header(const uint8_t *data, size_t size)
{
	uint8_t again[STORM_HEADER_LEN];
	struct storm_header h;

	if (storm_header_unpack(&h, data, size))
		return;
	must(size >= STORM_DATAGRAM_MIN && size <= STORM_DATAGRAM_MAX);
	storm_header_pack(&h, again);
	must(!memcmp(again, data, sizeof(again)));
}

static void refusal(const uint8_t *data, size_t size)
{
	enum storm_err why;
	int sys;

	if (!storm_refusal_unpack(data, size, &why, &sys))
		return;
	must(size == STORM_REFUSAL_LEN);
	must(why > STORM_OK && why < STORM_ERROR_END);
	/* a version, or a byte that says more of the reason */
	must(sys >= 0 && (why == STORM_EVERSION || sys <= UINT8_MAX));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct storm_in i = { data, data + size, false };
	struct storm_addr a;

	header(data, size);
	refusal(data, size);
	while (!i.bad)
		storm_get_addr(&i, &a);
	return 0;
}
