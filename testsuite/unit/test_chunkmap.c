/*
 * test_chunkmap.c - which chunks have arrived, against an array of flags.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/chunkmap.h"
#include "unit.h"

/* All gaps in [from, below), one after the other. */
static void check_gaps(const struct storm_chunkmap *m, const bool *has,
		       uint64_t from, uint64_t below_)
{
	uint64_t i = from, first, last;
	uint64_t end = below_ < m->count ? below_ : m->count;

	while (storm_chunkmap_gap(m, &from, below_, &first, &last)) {
		while (i < end && has[i])
			i++;
		must(i < end && first == i);
		while (i < end && !has[i])
			i++;
		must(last == i - 1);
		must(from == i);
	}
	while (i < end && has[i])
		i++;
	must(i >= end);
}

static void check(const struct storm_chunkmap *m, const bool *has,
		  struct rnd *r)
{
	uint64_t have = 0, prefix = 0, high = 0;

	while (prefix < m->count && has[prefix])
		prefix++;
	for (uint64_t i = 0; i < m->count; i++) {
		must(storm_chunkmap_has(m, i) == has[i]);
		have += has[i];
		if (has[i])
			high = i + 1;
	}
	must(m->have == have && m->prefix == prefix && m->high == high);
	must(storm_chunkmap_full(m) == (have == m->count));
	must(storm_chunkmap_progress(m) ==
	     (prefix == m->count ? m->size : prefix * m->chunk));
	check_gaps(m, has, 0, m->count);
	check_gaps(m, has, 0, m->high);
	check_gaps(m, has, below(r, (uint32_t) m->count + 2),
		   below(r, (uint32_t) m->count + 5));
}

START_TEST(test_random)
{
	struct rnd r = rnd_of(_i);
	uint32_t chunk = 1 + below(&r, 1500);
	uint32_t n = below(&r, 400), step;
	uint64_t size = n ? (uint64_t) (n - 1) * chunk + 1 + below(&r, chunk) :
			    0;
	uint32_t *order = shuffled(&r, n);
	bool *has = calloc(n + 1, sizeof(*has));
	struct storm_chunkmap m;
	uint64_t bytes = 0;

	must(has && !storm_chunkmap_init(&m, size, chunk));
	must(m.count == n);
	if (_i % 3 == 0) /* nearly in order, as the network does it */
		for (uint32_t i = 0; i < n; i++)
			order[i] = i;
	for (uint32_t i = 0; _i % 3 == 0 && i + 5 < n; i += 5) {
		uint32_t k = i + below(&r, 5), swap = order[i];

		order[i] = order[k];
		order[k] = swap;
	}
	step = 1 + below(&r, 30);
	for (uint32_t i = 0; i < n; i++) {
		if (i % step == 0)
			check(&m, has, &r);
		storm_chunkmap_set(&m, order[i]);
		has[order[i]] = true;
		bytes += storm_chunkmap_len(&m, order[i]);
	}
	check(&m, has, &r);
	must(storm_chunkmap_full(&m) && m.prefix == n);
	must(bytes == size && storm_chunkmap_progress(&m) == size);
	storm_chunkmap_free(&m);
	free(order);
	free(has);
}
END_TEST

/* A datagram's fields name a chunk of this transfer, or none. */
START_TEST(test_index)
{
	struct storm_chunkmap m;

	must(!storm_chunkmap_init(&m, 1050, 100));
	ck_assert_uint_eq(m.count, 11);
	for (uint64_t off = 0; off < 1300; off++)
		for (size_t len = 0; len < 130; len++) {
			bool good = off % 100 == 0 &&
				    ((off < 1000 && len == 100) ||
				     (off == 1000 && len == 50));

			must(storm_chunkmap_index(&m, off, len) ==
			     (good ? off / 100 : m.count));
		}
	must(storm_chunkmap_index(&m, UINT64_MAX, 100) == m.count);
	must(storm_chunkmap_index(&m, UINT64_MAX - 15, 50) == m.count);
	must(storm_chunkmap_index(&m, 0, SIZE_MAX) == m.count);
	storm_chunkmap_free(&m);
	/* the last one is whole */
	must(!storm_chunkmap_init(&m, 1000, 100));
	ck_assert_uint_eq(m.count, 10);
	must(storm_chunkmap_index(&m, 900, 100) == 9);
	must(storm_chunkmap_index(&m, 1000, 0) == m.count);
	storm_chunkmap_free(&m);
}
END_TEST

/* A transfer of 1 TiB of which nothing came: asked for piece by piece, without
 * looking at all of it each time. */
START_TEST(test_long_gap)
{
	struct storm_chunkmap m;
	uint64_t first, last, asked = 0, from = 0;

	must(!storm_chunkmap_init(&m, 1ULL << 40, 256));
	for (int i = 0; i < 10000; i++) {
		uint64_t at = 0;

		must(storm_chunkmap_gap(&m, &at, m.count, &first, &last));
		must(first == 0 && last == STORM_CHUNKMAP_RUN - 1);
	}
	/* the pieces join */
	while (storm_chunkmap_gap(&m, &from, 3 * STORM_CHUNKMAP_RUN + 5, &first,
				  &last)) {
		must(first == asked);
		asked = last + 1;
	}
	must(asked == 3 * STORM_CHUNKMAP_RUN + 5);
	storm_chunkmap_free(&m);
}
END_TEST

START_TEST(test_empty)
{
	struct storm_chunkmap m;
	uint64_t from = 0, first, last;

	must(!storm_chunkmap_init(&m, 0, 1400));
	ck_assert(storm_chunkmap_full(&m));
	ck_assert_uint_eq(m.count, 0);
	ck_assert_uint_eq(storm_chunkmap_progress(&m), 0);
	ck_assert_uint_eq(storm_chunkmap_index(&m, 0, 0), m.count);
	ck_assert(!storm_chunkmap_gap(&m, &from, 10, &first, &last));
	storm_chunkmap_free(&m);
	storm_chunkmap_free(&m);
}
END_TEST

#ifndef __SANITIZE_ADDRESS__ /* it takes such a size for a mistake */
/* An announced size that no memory holds is an error, no overflow. */
START_TEST(test_huge)
{
	struct storm_chunkmap m;

	ck_assert_int_eq(storm_chunkmap_init(&m, UINT64_MAX, 1), STORM_ENOMEM);
	ck_assert_uint_eq(m.count, UINT64_MAX);
	storm_chunkmap_free(&m);
}
END_TEST
#endif

int main(void)
{
	Suite *s = suite_create("chunkmap");
	TCase *t = tcase_create("chunkmap");

	tcase_add_test(t, test_index);
	tcase_add_test(t, test_long_gap);
	tcase_add_test(t, test_empty);
#ifndef __SANITIZE_ADDRESS__
	tcase_add_test(t, test_huge);
#endif
	tcase_add_loop_test(t, test_random, 0, unit_runs(60));
	suite_add_tcase(s, t);
	return unit_main(s);
}
