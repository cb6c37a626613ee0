/*
 * test_sorted.c - sorted.h, beside a search one by one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/sorted.h"
#include "unit.h"

struct thing {
	uint8_t other[5];
	uint64_t key;
};

static uint64_t key_of(const void *thing)
{
	return ((const struct thing *) thing)->key;
}

START_TEST(test_at)
{
	struct rnd r = rnd_of(_i);
	struct thing t[40] = { 0 };
	uint32_t n = below(&r, 40);
	uint64_t key = _i % 3 ? 0 : UINT64_MAX - 200;

	for (uint32_t i = 0; i < n; i++)
		t[i].key = key += 1 + below(&r, 5);
	for (int k = 0; k < 100; k++) {
		uint64_t want = k < 2 ? k - 1ULL : key - 100 + below(&r, 120);
		uint32_t at = 0;

		while (at < n && t[at].key < want)
			at++;
		must(storm_sorted_at(t, n, sizeof(*t), want, key_of) == at);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sorted");
	TCase *t = tcase_create("sorted");

	tcase_add_loop_test(t, test_at, 0, unit_runs(30));
	suite_add_tcase(s, t);
	return unit_main(s);
}
