/*
 * fuzz_idset.c - sets of ids: one as it stands on the wire, one made of ranges
 * in any order, and what is computed of the two.
 *
 *   u32 highest id, idset, then {u32 first, u32 last} until the end
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "fuzz.h"

static void same_again(const struct storm_idset *s, uint32_t max)
{
	size_t len = 4 + 8 * (size_t) s->count;
	uint8_t *buf = malloc(len);
	struct storm_idset t = { 0 };
	struct storm_out o;
	struct storm_in i;

	must(buf);
	o = (struct storm_out) { buf, buf + len, false };
	storm_put_idset(&o, s);
	must(!o.bad && o.p == o.end);
	i = (struct storm_in) { buf, buf + len, false };
	storm_get_idset(&i, &t, max);
	must(storm_in_done(&i) && same_set(s, &t));
	storm_idset_clear(&t);
	free(buf);
}

struct sets {
	struct storm_idset a, b, both, less;
};

static void member(const struct sets *s, uint32_t id)
{
	bool a = storm_idset_has(&s->a, id), b = storm_idset_has(&s->b, id);

	must(storm_idset_has(&s->both, id) == (a || b));
	must(storm_idset_has(&s->less, id) == (a && !b));
}

/* Where something changes, and beside it. */
static void edges(const struct sets *s, const struct storm_idset *of)
{
	for (uint32_t i = 0; i < of->count; i++) {
		member(s, of->r[i].first - 1);
		member(s, of->r[i].first);
		member(s, of->r[i].last);
		member(s, of->r[i].last + 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct storm_in i = { data, data + size, false };
	uint32_t max = storm_get32(&i);
	struct sets s = { 0 };

	storm_get_idset(&i, &s.a, max);
	must_be_set(&s.a, max);
	if (!i.bad)
		same_again(&s.a, max);
	while (!i.bad && i.end - i.p >= 8) {
		uint32_t first = storm_get32(&i), last = storm_get32(&i);

		must(!storm_idset_add(&s.b, first, last) == (first <= last));
	}
	must_be_set(&s.b, UINT32_MAX);
	must(!storm_idset_minus(&s.a, &s.b, &s.less));
	must(!storm_idset_union(&s.both, &s.b));
	must(!storm_idset_union(&s.both, &s.a));
	must_be_set(&s.less, max);
	must_be_set(&s.both, UINT32_MAX);
	edges(&s, &s.a);
	edges(&s, &s.b);
	must(storm_idset_covers(&s.b, &s.a) == !s.less.count);
	must(storm_idset_covers(&s.both, &s.a) &&
	     storm_idset_covers(&s.both, &s.b));
	must(storm_idset_size(&s.both) ==
	     storm_idset_size(&s.b) + storm_idset_size(&s.less));
	storm_idset_clear(&s.a);
	storm_idset_clear(&s.b);
	storm_idset_clear(&s.both);
	storm_idset_clear(&s.less);
	return 0;
}
