/*
 * test_idset.c - sets of numbers, against an array of flags.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/idset.h"
#include "unit.h"

#define U 200 /* how many numbers the model knows */

/* the lowest, the highest, and where a signed number would turn over */
static const uint32_t bases[] = { 0, 1, UINT32_MAX - U + 1, 0x7fffffb0 };

struct model {
	struct storm_idset set;
	uint32_t base;
	bool in[U];
};

static void model_check(const struct model *m)
{
	const struct storm_idset *s = &m->set;
	uint64_t n = 0;

	for (uint32_t i = 0; i < U; i++) {
		must(storm_idset_has(s, m->base + i) == m->in[i]);
		n += m->in[i];
	}
	must(storm_idset_size(s) == n);
	must(s->count <= s->room);
	for (uint32_t i = 0; i < s->count; i++) {
		must(s->r[i].first <= s->r[i].last);
		/* adjacent ranges are one range: covers() relies on it */
		must(!i || (uint64_t) s->r[i - 1].last + 1 < s->r[i].first);
	}
}

static void model_random(struct model *m, struct rnd *r, uint32_t base)
{
	uint32_t n = below(r, 40), most = 1 + below(r, 20);

	memset(m, 0, sizeof(*m));
	m->base = base;
	while (n--) {
		uint32_t first = below(r, U), last = first + below(r, most);

		if (last >= U)
			last = U - 1;
		must(storm_idset_add(&m->set, base + first, base + last) ==
		     STORM_OK);
		for (uint32_t i = first; i <= last; i++)
			m->in[i] = true;
		model_check(m);
	}
}

START_TEST(test_algebra)
{
	struct rnd r = rnd_of(_i);
	uint32_t base = bases[_i % 4];
	struct model a, b, d = { .base = base }, u = { .base = base };
	bool covers = true;

	model_random(&a, &r, base);
	model_random(&b, &r, base);
	for (uint32_t i = 0; i < U; i++) {
		d.in[i] = a.in[i] && !b.in[i];
		u.in[i] = a.in[i] || b.in[i];
		covers = covers && (a.in[i] || !b.in[i]);
	}
	must(storm_idset_minus(&a.set, &b.set, &d.set) == STORM_OK);
	model_check(&d);
	must(storm_idset_union(&u.set, &a.set) == STORM_OK);
	must(storm_idset_union(&u.set, &b.set) == STORM_OK);
	model_check(&u);
	must(storm_idset_covers(&a.set, &b.set) == covers);
	must(storm_idset_covers(&u.set, &a.set));
	must(storm_idset_covers(&u.set, &b.set));
	must(storm_idset_covers(&a.set, &d.set));
	must(!d.set.count || !storm_idset_covers(&b.set, &d.set));
	/* a set holds itself, and adding it again changes nothing */
	must(storm_idset_union(&u.set, &u.set) == STORM_OK);
	model_check(&u);
	storm_idset_clear(&a.set);
	storm_idset_clear(&b.set);
	storm_idset_clear(&d.set);
	storm_idset_clear(&u.set);
}
END_TEST

START_TEST(test_empty)
{
	struct storm_idset e = { 0 }, s = { 0 }, out = { 0 };

	ck_assert(!storm_idset_has(&e, 0));
	ck_assert(!storm_idset_has(&e, UINT32_MAX));
	ck_assert_uint_eq(storm_idset_size(&e), 0);
	ck_assert(storm_idset_covers(&e, &e));
	ck_assert_int_eq(storm_idset_add(&s, 5, 4), STORM_EINVAL);
	ck_assert_uint_eq(s.count, 0);
	ck_assert_int_eq(storm_idset_add(&s, 5, 5), STORM_OK);
	ck_assert(storm_idset_covers(&s, &e));
	ck_assert(!storm_idset_covers(&e, &s));
	ck_assert_int_eq(storm_idset_minus(&e, &s, &out), STORM_OK);
	ck_assert_uint_eq(out.count, 0);
	ck_assert_int_eq(storm_idset_union(&s, &e), STORM_OK);
	ck_assert_uint_eq(storm_idset_size(&s), 1);
	storm_idset_clear(&s);
	ck_assert_ptr_null(s.r);
	ck_assert_uint_eq(s.room, 0);
	storm_idset_clear(&s);
}
END_TEST

START_TEST(test_everything)
{
	struct storm_idset all = { 0 }, s = { 0 }, out = { 0 };

	ck_assert_int_eq(storm_idset_add(&all, 0, UINT32_MAX), STORM_OK);
	ck_assert_uint_eq(storm_idset_size(&all), 1ULL << 32);
	ck_assert_int_eq(storm_idset_add(&s, 0, 0), STORM_OK);
	ck_assert_int_eq(storm_idset_add(&s, UINT32_MAX, UINT32_MAX), STORM_OK);
	ck_assert_uint_eq(s.count, 2);
	ck_assert(storm_idset_covers(&all, &s));
	ck_assert_int_eq(storm_idset_minus(&all, &s, &out), STORM_OK);
	ck_assert_uint_eq(out.count, 1);
	ck_assert_uint_eq(out.r[0].first, 1);
	ck_assert_uint_eq(out.r[0].last, UINT32_MAX - 1);
	ck_assert_int_eq(storm_idset_union(&s, &out), STORM_OK);
	ck_assert_uint_eq(s.count, 1);
	ck_assert_uint_eq(storm_idset_size(&s), 1ULL << 32);
	storm_idset_clear(&out);
	ck_assert_int_eq(storm_idset_minus(&s, &all, &out), STORM_OK);
	ck_assert_uint_eq(out.count, 0);
	storm_idset_clear(&all);
	storm_idset_clear(&s);
	storm_idset_clear(&out);
}
END_TEST

/* Every second task of a large step, and then the others: with a scan of the
 * whole set for each range this takes minutes. */
START_TEST(test_many)
{
	struct storm_idset even = { 0 }, odd = { 0 }, one = { 0 };
	const uint32_t n = 400000;

	for (uint32_t i = 0; i < n; i++) {
		must(!storm_idset_add(&even, 2 * i, 2 * i));
		must(!storm_idset_add(&odd, 2 * i + 1, 2 * i + 1));
	}
	ck_assert_uint_eq(even.count, n);
	ck_assert_int_eq(storm_idset_union(&even, &odd), STORM_OK);
	ck_assert_uint_eq(even.count, 1);
	ck_assert_uint_eq(storm_idset_size(&even), 2 * (uint64_t) n);
	/* and in between, so that nothing melts together */
	for (uint32_t i = 0; i < n; i++)
		must(!storm_idset_add(&one, 4 * i, 4 * i));
	storm_idset_clear(&odd);
	for (uint32_t i = 0; i < n; i++)
		must(!storm_idset_add(&odd, 4 * i + 2, 4 * i + 2));
	ck_assert_int_eq(storm_idset_union(&one, &odd), STORM_OK);
	ck_assert_uint_eq(one.count, 2 * n);
	storm_idset_clear(&even);
	storm_idset_clear(&odd);
	storm_idset_clear(&one);
}
END_TEST

/* The common part, and the rest of a set that must fit in few ranges. */
START_TEST(test_keep_and_join)
{
	struct rnd r = rnd_of(_i);
	struct storm_idset s = { 0 }, p = { 0 }, both = { 0 };
	uint32_t max = 1 + below(&r, 12), count;

	for (uint32_t n = below(&r, 30); n; n--) {
		uint32_t a = below(&r, 200), b = below(&r, 200);

		must(!storm_idset_add(&s, a, a + below(&r, 4)));
		must(!storm_idset_add(&p, b, b + below(&r, 4)));
	}
	must(!storm_idset_union(&both, &s));
	must(!storm_idset_keep(&both, &p));
	for (uint32_t i = 0; i < 210; i++)
		must(storm_idset_has(&both, i) ==
		     (storm_idset_has(&s, i) && storm_idset_has(&p, i)));
	count = s.count;
	storm_idset_clear(&both);
	must(!storm_idset_union(&both, &s));
	storm_idset_join(&s, max);
	must(s.count == (count < max ? count : max));
	must(storm_idset_covers(&s, &both));
	for (uint32_t i = 1; i < s.count; i++)
		must(s.r[i].first > s.r[i - 1].last + 1);
	/* nothing beyond its ends, and no gap closed that is larger than one
	 * that is left */
	if (count)
		must(s.r[0].first == both.r[0].first &&
		     s.r[s.count - 1].last == both.r[count - 1].last);
	for (uint32_t i = 0; i + 1 < both.count && count > max; i++) {
		uint32_t g = both.r[i + 1].first - both.r[i].last;

		for (uint32_t k = 1; k < s.count; k++)
			must(!storm_idset_has(&s, both.r[i].last + 1) ||
			     g <= s.r[k].first - s.r[k - 1].last);
	}
	storm_idset_clear(&s);
	storm_idset_clear(&p);
	storm_idset_clear(&both);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("idset");
	TCase *t = tcase_create("sets");

	tcase_add_test(t, test_empty);
	tcase_add_test(t, test_everything);
	tcase_add_test(t, test_many);
	tcase_add_loop_test(t, test_algebra, 0, unit_runs(400));
	tcase_add_loop_test(t, test_keep_and_join, 0, unit_runs(400));
	suite_add_tcase(s, t);
	return unit_main(s);
}
