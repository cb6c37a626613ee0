/*
 * fuzz_cast.c - the owner's state.
 *
 *   u16 nodes less one, then what follows the u8 what
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "fuzz.h"
#include "src/libstorm/wire/cast.h"

static void same(const struct storm_cast *a, const struct storm_cast *b)
{
	must(a->version == b->version && a->flags == b->flags);
	must(a->op == b->op && a->size == b->size && a->chunk == b->chunk &&
	     a->sent == b->sent && a->floor == b->floor &&
	     a->decision == b->decision);
	must(a->cmp == b->cmp && a->cmp_var == b->cmp_var &&
	     a->cmp_rel == b->cmp_rel && a->cmp_value == b->cmp_value);
	must(a->has_digest == b->has_digest &&
	     !memcmp(a->digest, b->digest, sizeof(a->digest)));
	must(same_set(&a->p, &b->p) && same_set(&a->cmp_p, &b->cmp_p) &&
	     same_set(&a->excluded, &b->excluded));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct storm_in i = { data, data + size, false };
	uint32_t count = storm_get16(&i) + 1u;
	struct storm_cast c, again;
	uint8_t *buf;
	size_t len;

	if (storm_cast_unpack(&c, i.p, (size_t) (i.end - i.p), count))
		return 0;
	must_be_set(&c.p, count - 1);
	must_be_set(&c.cmp_p, count - 1);
	must_be_set(&c.excluded, count - 1);
	must(c.sent <= c.size && c.cmp_var < STORM_VARS);
	buf = malloc(size + 1);
	must(buf);
	len = storm_cast_pack(&c, buf, size + 1);
	must(len && !storm_cast_unpack(&again, buf + 1, len - 1, count));
	same(&c, &again);
	must(storm_cast_pack(&c, buf, len) == len);
	must(!storm_cast_pack(&c, buf, len - 1));
	storm_cast_free(&again);
	storm_cast_free(&c);
	free(buf);
	return 0;
}
