/*
 * fuzz_begin.c - an operation as it is announced.
 *
 *   u16 nodes less one, then the announcement
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "fuzz.h"
#include "src/libstorm/wire/open.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct storm_in i = { data, data + size, false };
	uint32_t count = storm_get16(&i) + 1u;
	struct storm_begin b;
	uint8_t *again;

	data = i.p;
	size = (size_t) (i.end - i.p);
	if (storm_begin_unpack(&b, data, size, count)) {
		must(!b.to.path && !b.p.r);
		return 0;
	}
	must_be_set(&b.p, count - 1);
	must(b.to.segment < STORM_SEGMENTS);
	must(storm_var_known(b.cmp.var) && b.cmp.rel <= STORM_NE);
	must(b.op && b.size <= INT64_MAX);
	must((b.to.kind == STORM_TARGET_FILE) == (b.to.path != NULL));
	must(!b.to.path || (*b.to.path && strlen(b.to.path) < STORM_PATH_MAX));
	must(!(b.to.flags & ~STORM_FILE_FLAGS));
	must(!(b.to.mode & ~STORM_FILE_MODE));
	must(size <= STORM_BEGIN_MAX);
	again = malloc(size);
	must(again && storm_begin_pack(&b, again, size) == size);
	must(!memcmp(again, data, size));
	must(!storm_begin_pack(&b, again, size - 1));
	free(again);
	storm_begin_free(&b);
	return 0;
}
