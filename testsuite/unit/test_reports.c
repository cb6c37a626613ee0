/*
 * test_reports.c - cumulative sets: merged in any order, cut into parts and
 * put together again, whatever the network does to the parts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/idset.h"
#include "src/libstorm/wire/reports.h"
#include "unit.h"

#define IDS 300

/* ---------------------------------------------------------------- sets --- */

struct change {
	uint8_t kind;
	uint32_t code;
	struct storm_idset ids;
};

static void change_random(struct change *c, struct rnd *r)
{
	memset(c, 0, sizeof(*c));
	c->kind = (uint8_t) (1 + below(r, 3));
	c->code = below(r, 3) * 256;
	for (uint32_t n = 1 + below(r, 3); n; n--) {
		uint32_t first = below(r, IDS - 10);

		must(!storm_idset_add(&c->ids, first, first + below(r, 10)));
	}
}

static const struct storm_idset *ids_of(const struct storm_reports *r,
					uint8_t kind, uint32_t code)
{
	static const struct storm_idset none;

	for (uint32_t i = 0; i < r->count; i++)
		if (r->e[i].kind == kind && r->e[i].code == code)
			return &r->e[i].ids;
	return &none;
}

static bool same(const struct storm_reports *a, const struct storm_reports *b)
{
	if (a->count != b->count)
		return false;
	for (uint32_t i = 0; i < a->count; i++) {
		const struct storm_idset *s =
			ids_of(b, a->e[i].kind, a->e[i].code);

		if (!storm_idset_covers(s, &a->e[i].ids) ||
		    !storm_idset_covers(&a->e[i].ids, s))
			return false;
	}
	return true;
}

static void merge(void *arg, uint8_t kind, uint32_t code,
		  const struct storm_idset *ids)
{
	must(!storm_reports_add(arg, kind, code, ids, NULL));
}

static bool forget(struct storm_reports *r, uint8_t kind, uint32_t first,
		   uint32_t last)
{
	struct storm_range range = { first, last };
	const struct storm_idset ids = { &range, 1, 1 };
	bool any = false;

	must(!storm_reports_forget(r, kind, &ids, &any));
	return any;
}

/* What is forgotten is gone, and is not new when it comes again; all else stays. */
START_TEST(test_forget)
{
	struct storm_idset ids = { 0 }, fresh = { 0 };
	struct storm_reports a = { 0 };

	must(!storm_idset_add(&ids, 0, 9) && !storm_idset_add(&ids, 20, 29));
	merge(&a, 1, 0, &ids);
	merge(&a, 1, 256, &ids);
	merge(&a, 2, 0, &ids);
	must(forget(&a, 1, 5, 24) && !forget(&a, 1, 5, 24));
	must(!forget(&a, 1, 10, 19)); /* none of them was there */
	must(a.count == 3 && storm_idset_size(ids_of(&a, 1, 0)) == 10);
	must(storm_idset_size(ids_of(&a, 1, 256)) == 10 &&
	     storm_idset_size(ids_of(&a, 2, 0)) == 20);
	must(!storm_reports_add(&a, 1, 0, &ids, &fresh) && !fresh.count);
	must(storm_idset_size(ids_of(&a, 1, 0)) == 10);
	must(!storm_idset_add(&ids, 40, 40));
	must(!storm_reports_add(&a, 1, 0, &ids, &fresh));
	must(storm_idset_size(&fresh) == 1 && storm_idset_has(&fresh, 40));
	/* before they come */
	must(!forget(&a, 1, 50, 60));
	must(!storm_idset_add(&ids, 45, 65));
	storm_idset_clear(&fresh);
	must(!storm_reports_add(&a, 1, 0, &ids, &fresh));
	must(storm_idset_size(&fresh) == 10 && !storm_idset_has(&fresh, 55));
	must(forget(&a, 1, 0, 999) && a.forgotten[1].count == 1);
	must(a.count == 1 && !storm_reports_add(&a, 1, 7, &ids, NULL));
	must(a.count == 1); /* no entry for nothing */
	must(storm_reports_forget(&a, STORM_REPORT_KINDS, &ids, NULL) ==
	     STORM_EINVAL);
	must(storm_idset_size(ids_of(&a, 2, 0)) == 20);
	storm_idset_clear(&ids);
	storm_idset_clear(&fresh);
	storm_reports_clear(&a);
	must(!storm_reports_bytes(&a));
}
END_TEST

/* Ids come and are forgotten in any order: each is new once, if at all. */
START_TEST(test_forget_some)
{
	struct rnd r = rnd_of(_i);
	bool told[IDS] = { false }, gone[IDS] = { false };
	struct storm_reports a = { 0 };

	for (int i = 0; i < 200; i++) {
		struct storm_idset fresh = { 0 };
		bool adds = below(&r, 3);
		struct change c;
		uint64_t kept = 0;

		change_random(&c, &r);
		must(!(adds ? storm_reports_add(&a, 1, 0, &c.ids, &fresh) :
			      storm_reports_forget(&a, 1, &c.ids, NULL)));
		for (uint32_t id = 0; id < IDS; id++) {
			bool in = storm_idset_has(&c.ids, id);

			must(storm_idset_has(&fresh, id) ==
			     (adds && in && !told[id] && !gone[id]));
			told[id] = told[id] || (adds && in);
			gone[id] = gone[id] || (!adds && in);
			kept += told[id] && !gone[id];
		}
		must(storm_idset_size(ids_of(&a, 1, 0)) == kept);
		must(storm_reports_fit(&a));
		storm_idset_clear(&fresh);
		storm_idset_clear(&c.ids);
	}
	storm_reports_clear(&a);
}
END_TEST

/* The result is the same in any order, with duplicates, and via other nodes. */
START_TEST(test_any_order)
{
	struct rnd r = rnd_of(_i);
	struct change c[20];
	struct storm_reports a = { 0 }, b = { 0 }, child[3] = { 0 };
	uint32_t n = 1 + below(&r, 20), *order = shuffled(&r, n);

	for (uint32_t i = 0; i < n; i++)
		change_random(&c[i], &r);
	for (uint32_t i = 0; i < n; i++)
		merge(&a, c[i].kind, c[i].code, &c[i].ids);
	for (uint32_t i = 0; i < n; i++) {
		struct change *k = &c[order[i]];

		merge(&child[below(&r, 3)], k->kind, k->code, &k->ids);
		merge(&child[below(&r, 3)], k->kind, k->code, &k->ids);
	}
	for (int i = 0; i < 6; i++) { /* each child twice, packed */
		size_t len;
		uint8_t done, *buf = storm_reports_pack(&child[i % 3], 0, &len);

		must(buf);
		buf = realloc(buf, len ? len : 1); /* no byte more */
		must(buf && !storm_reports_unpack(buf, len, &done, merge, &b));
		free(buf);
	}
	must(same(&a, &b));
	for (uint8_t kind = 0; kind < 5; kind++) {
		struct storm_idset got = { 0 }, want = { 0 };

		for (uint32_t i = 0; i < n; i++)
			if (c[i].kind == kind)
				must(!storm_idset_union(&want, &c[i].ids));
		must(!storm_reports_of(&b, kind, &got));
		must(storm_idset_covers(&got, &want) &&
		     storm_idset_covers(&want, &got));
		storm_idset_clear(&got);
		storm_idset_clear(&want);
	}
	for (uint32_t i = 0; i < n; i++)
		storm_idset_clear(&c[i].ids);
	for (int i = 0; i < 3; i++)
		storm_reports_clear(&child[i]);
	storm_reports_clear(&a);
	storm_reports_clear(&b);
	free(order);
}
END_TEST

/* Each (kind, code, id) is returned as fresh once. */
START_TEST(test_fresh)
{
	struct rnd r = rnd_of(_i);
	struct storm_reports a = { 0 };
	static bool told[4][3][IDS];

	memset(told, 0, sizeof(told));
	for (int i = 0; i < 60; i++) {
		struct storm_idset fresh = { 0 };
		struct change c;

		change_random(&c, &r);
		must(!storm_reports_add(&a, c.kind, c.code, &c.ids, &fresh));
		for (uint32_t id = 0; id < IDS; id++) {
			bool *was = &told[c.kind][c.code / 256][id];
			bool in = storm_idset_has(&c.ids, id);

			must(storm_idset_has(&fresh, id) == (in && !*was));
			*was = *was || in;
		}
		storm_idset_clear(&fresh);
		storm_idset_clear(&c.ids);
	}
	storm_reports_clear(&a);
}
END_TEST

START_TEST(test_golden)
{
	struct storm_reports a = { 0 };
	struct storm_idset s = { 0 };
	uint8_t *buf, done = 0;
	size_t len;

	must(!storm_idset_add(&s, 0, 63));
	must(!storm_reports_add(&a, 2, 0, &s, NULL));
	storm_idset_clear(&s);
	must(!storm_idset_add(&s, 5, 5) && !storm_idset_add(&s, 9, 9));
	must(!storm_reports_add(&a, 3, 0x0100, &s, NULL));
	buf = storm_reports_pack(&a, 0x0c, &len);
	ck_assert_ptr_nonnull(buf);
	same_hex(buf, len,
		 "0c"
		 "02"
		 "00000000"
		 "00000001"
		 "00000000"
		 "0000003f"
		 "03"
		 "00000100"
		 "00000002"
		 "00000005"
		 "00000005"
		 "00000009"
		 "00000009");
	free(buf);
	storm_idset_clear(&s);
	storm_reports_clear(&a);
	ck_assert_uint_eq(a.count, 0);
	buf = storm_reports_pack(&a, 0x02, &len);
	ck_assert_ptr_nonnull(buf);
	same_hex(buf, len, "02");
	ck_assert_int_eq(storm_reports_unpack(buf, 1, &done, merge, &a),
			 STORM_OK);
	ck_assert_uint_eq(done, 0x02);
	/* not even that */
	done = 0;
	ck_assert_int_eq(storm_reports_unpack(buf, 0, &done, merge, &a),
			 STORM_EINVAL);
	ck_assert_uint_eq(done, 0);
	free(buf);
}
END_TEST

static void count(void *arg, uint8_t kind, uint32_t code,
		  const struct storm_idset *ids)
{
	(void) kind;
	(void) code;
	must(!ids->count || ids->r[ids->count - 1].last < UINT32_MAX);
	++*(int *) arg;
}

START_TEST(test_hostile_sets)
{
	struct rnd r = rnd_of(_i);
	struct storm_reports a = { 0 };
	uint8_t *buf, done = 0;
	size_t len;
	int n;

	for (int i = 0; i < 5; i++) {
		struct change c;

		change_random(&c, &r);
		merge(&a, c.kind, c.code, &c.ids);
		storm_idset_clear(&c.ids);
	}
	buf = storm_reports_pack(&a, 1, &len);
	must(buf);
	for (size_t cut = 0; cut < len; cut++) {
		uint8_t *p = exact(buf, cut);
		int err;

		n = 0;
		err = storm_reports_unpack(p, cut, &done, count, &n);
		/* a cut between entries is a shorter list, nothing else is */
		must(n <= (int) a.count && (err || n < (int) a.count));
		free(p);
	}
	for (int i = 0; i < 200; i++) {
		uint8_t *p = exact(buf, len);

		for (uint32_t k = 1 + below(&r, 4); k; k--)
			p[below(&r, (uint32_t) len)] = (uint8_t) rnd64(&r);
		storm_reports_unpack(p, len, &done, count, &n);
		free(p);
	}
	free(buf);
	/* an id that is no id */
	buf = exact("\0\1\0\0\0\0\0\0\0\1\xff\xff\xff\xff\xff\xff\xff\xff", 18);
	n = 0;
	must(storm_reports_unpack(buf, 18, &done, count, &n) == STORM_EINVAL &&
	     !n);
	free(buf);
	storm_reports_clear(&a);
}
END_TEST

/* An owner that invents codes must not make an agent search for ever, or store
 * them all; known codes still work. */
START_TEST(test_many_codes)
{
	struct storm_reports a = { 0 };
	struct storm_idset one = { 0 }, two = { 0 }, fresh = { 0 };
	uint32_t n = 0;

	must(!storm_idset_add(&one, 1, 1));
	must(!storm_idset_add(&two, 2, 2));
	while (n < 300000 && !storm_reports_add(&a, 3, n, &one, NULL))
		n++;
	/* every wait status of every kind fits many times */
	ck_assert_uint_eq(n, STORM_REPORT_CODES);
	ck_assert_uint_eq(a.count, n);
	ck_assert_int_eq(storm_reports_add(&a, 3, n, &one, &fresh),
			 STORM_ETOOBIG);
	ck_assert_uint_eq(fresh.count, 0);
	ck_assert_int_eq(storm_reports_add(&a, 3, 7, &two, &fresh), STORM_OK);
	ck_assert_uint_eq(storm_idset_size(&fresh), 1);
	ck_assert_uint_eq(a.count, n);
	/* and so do values, and the end */
	must(!storm_reports_add(&a, STORM_REPORT_TERMINATED, 0, &one, NULL));
	for (n = 1; n < 300000; n++)
		if (storm_reports_add(&a, STORM_REPORT_VALUE, n, &one, NULL))
			break;
	ck_assert_uint_eq(n, STORM_REPORT_CODES_MORE);
	storm_reports_clear(&a);
	storm_idset_clear(&one);
	storm_idset_clear(&two);
	storm_idset_clear(&fresh);
}
END_TEST

START_TEST(test_too_big)
{
	struct storm_reports a = { 0 };
	struct storm_idset s = { 0 };
	size_t len = 0;

	for (uint32_t i = 0; i <= STORM_REPORTS_MAX / 8; i++)
		must(!storm_idset_add(&s, 2 * i, 2 * i));
	must(!storm_reports_add(&a, 1, 0, &s, NULL));
	must(!storm_reports_fit(&a));
	ck_assert_ptr_null(storm_reports_pack(&a, 0, &len));
	storm_reports_clear(&a);
	storm_idset_clear(&s);
}
END_TEST

/* --------------------------------------------------------------- parts --- */

/* One part of the bytes, as nm_report.c sends it. */
static uint8_t *part_of(const uint8_t *buf, size_t len, uint64_t version,
			uint32_t each, uint32_t part, size_t *out_len)
{
	uint32_t parts = (uint32_t) (len / each) + (len % each != 0 || !len);
	size_t off = (size_t) part * each;
	size_t n = len - off < each ? len - off : each;
	uint8_t *p = malloc(STORM_REPORT_PART_HEADER + n);
	struct storm_out o = { p, p + STORM_REPORT_PART_HEADER + n, false };

	must(p);
	storm_put64(&o, version);
	storm_put16(&o, (uint16_t) part);
	storm_put16(&o, (uint16_t) parts);
	storm_put32(&o, each);
	storm_put(&o, buf + off, n);
	must(!o.bad && o.p == o.end);
	*out_len = STORM_REPORT_PART_HEADER + n;
	return p;
}

static uint32_t parts_of(size_t len, uint32_t each)
{
	return (uint32_t) (len / each) + (len % each != 0 || !len);
}

/* Parts arrive in any order, some of them twice, some only at the second or
 * third attempt. Then the next version arrives. */
START_TEST(test_parts)
{
	struct rnd r = rnd_of(_i);
	struct storm_report_rx x = { 0 };
	uint64_t version = 0;

	for (int round = 0; round < 4; round++) {
		size_t len = below(&r, 5) ? below(&r, 3000) : 0, total = 0;
		uint32_t each = 1 + below(&r, 200), n = parts_of(len, each);
		uint32_t *order = shuffled(&r, n), left = n;
		uint8_t *buf = malloc(len + 1);
		bool *in = calloc(n, sizeof(*in));

		must(buf && in);
		rnd_fill(&r, buf, len);
		version += 1 + below(&r, 3);
		while (left) {
			for (uint32_t i = 0; i < n && left; i++) {
				uint32_t part = order[i];
				size_t plen;
				uint8_t *p;
				int got;

				if (below(&r, 3) == 0)
					continue; /* lost */
				p = part_of(buf, len, version, each, part,
					    &plen);
				left -= !in[part];
				in[part] = true;
				got = storm_report_rx_part(&x, p, plen,
							   UINT64_MAX, &total);
				must(got == (left ? 0 : 1));
				free(p);
			}
		}
		must(total == len && !memcmp(x.buf, buf, len));
		storm_report_rx_done(&x);
		must(x.done == version && !x.buf && !x.seen);
		/* it is sent again: our acknowledgement was lost */
		for (uint32_t i = 0; i < n; i++) {
			size_t plen;
			uint8_t *p = part_of(buf, len, version, each, i, &plen);

			must(storm_report_rx_part(&x, p, plen, UINT64_MAX,
						  &total) == 2);
			must(x.done == version);
			free(p);
		}
		free(order);
		free(buf);
		free(in);
	}
	storm_report_rx_reset(&x);
}
END_TEST

/* A newer version while an older one is half there, in both orders. */
START_TEST(test_versions)
{
	static const uint8_t old[] = "oldoldold", new[] = "newnewnewnew";
	struct storm_report_rx x = { 0 };
	size_t len, total = 0;
	uint8_t *p;

	p = part_of(old, 9, 5, 3, 0, &len);
	ck_assert_int_eq(storm_report_rx_part(&x, p, len, UINT64_MAX, &total),
			 0);
	free(p);
	p = part_of(new, 12, 6, 4, 2, &len);
	ck_assert_int_eq(storm_report_rx_part(&x, p, len, UINT64_MAX, &total),
			 0);
	ck_assert_uint_eq(x.version, 6);
	free(p);
	for (uint32_t i = 0; i < 3; i++) { /* late, and of no use */
		p = part_of(old, 9, 5, 3, i, &len);
		ck_assert_int_eq(storm_report_rx_part(&x, p, len, UINT64_MAX,
						      &total),
				 0);
		free(p);
	}
	ck_assert_uint_eq(x.have, 1);
	for (uint32_t i = 0; i < 2; i++) {
		p = part_of(new, 12, 6, 4, i, &len);
		ck_assert_int_eq(storm_report_rx_part(&x, p, len, UINT64_MAX,
						      &total),
				 i == 1);
		free(p);
	}
	ck_assert_uint_eq(total, 12);
	ck_assert(!memcmp(x.buf, new, 12));
	storm_report_rx_done(&x);
	p = part_of(old, 9, 5, 3, 1, &len);
	ck_assert_int_eq(storm_report_rx_part(&x, p, len, UINT64_MAX, &total),
			 2);
	free(p);
	storm_report_rx_reset(&x);
	ck_assert_uint_eq(x.done, 0);
}
END_TEST

static int raw(struct storm_report_rx *x, uint64_t version, uint16_t part,
	       uint16_t parts, uint32_t each, size_t n)
{
	uint8_t *p = calloc(1, STORM_REPORT_PART_HEADER + n);
	struct storm_out o = { p, p + STORM_REPORT_PART_HEADER, false };
	size_t total;
	int got;

	must(p);
	storm_put64(&o, version);
	storm_put16(&o, part);
	storm_put16(&o, parts);
	storm_put32(&o, each);
	got = storm_report_rx_part(x, p, STORM_REPORT_PART_HEADER + n,
				   UINT64_MAX, &total);
	free(p);
	return got;
}

START_TEST(test_hostile_parts)
{
	struct storm_report_rx x = { 0 };
	size_t total;

	for (size_t n = 0; n < STORM_REPORT_PART_HEADER; n++) {
		uint8_t *p = calloc(1, n + 1);

		must(p);
		p = realloc(p, n ? n : 1);
		must(storm_report_rx_part(&x, p, n, UINT64_MAX, &total) == -1);
		free(p);
	}
	ck_assert_int_eq(raw(&x, 1, 0, 0, 100, 100), -1);
	ck_assert_int_eq(raw(&x, 1, 1, 1, 100, 100), -1);
	ck_assert_int_eq(raw(&x, 1, 65535, 65535, 4, 4), -1);
	ck_assert_int_eq(raw(&x, 1, 0, 2, 100, 99), -1);
	ck_assert_int_eq(raw(&x, 1, 0, 2, 100, 101), -1);
	ck_assert_int_eq(raw(&x, 1, 1, 2, 100, 101), -1);
	ck_assert_int_eq(raw(&x, 1, 0, 1, STORM_DATAGRAM_MAX + 1, 1), -1);
	ck_assert_int_eq(raw(&x, 1, 0, 1, UINT32_MAX, 1), -1);
	/* more than any node may report: no memory is allocated */
	ck_assert_int_eq(raw(&x, 1, 0, 65535, STORM_DATAGRAM_MAX,
			     STORM_DATAGRAM_MAX),
			 -1);
	ck_assert_ptr_null(x.buf);
	/* one version is cut in one way */
	ck_assert_int_eq(raw(&x, 7, 0, 3, 100, 100), 0);
	ck_assert_int_eq(raw(&x, 7, 1, 4, 100, 100), -1);
	ck_assert_int_eq(raw(&x, 7, 1, 3, 90, 90), -1);
	ck_assert_int_eq(raw(&x, 7, 5, 6, 100, 100), -1);
	ck_assert_int_eq(raw(&x, 7, 1, 3, 100, 100), 0);
	ck_assert_int_eq(raw(&x, 7, 2, 3, 100, 0), 1);
	storm_report_rx_reset(&x);
	/* parts of nothing */
	ck_assert_int_eq(raw(&x, 8, 0, 1, 0, 0), 1);
	storm_report_rx_reset(&x);
	ck_assert_int_eq(raw(&x, 8, 65534, 65535, 0, 0), 0);
	storm_report_rx_reset(&x);
	/* version 0 is used by no node */
	ck_assert_int_eq(raw(&x, 0, 0, 1, 10, 10), 2);
}
END_TEST

START_TEST(test_noisy_parts)
{
	struct rnd r = rnd_of(_i);
	struct storm_report_rx x = { 0 };
	size_t total = 0;

	for (int i = 0; i < 500; i++) {
		uint32_t each = below(&r, 20);
		int got = raw(&x, below(&r, 4), (uint16_t) below(&r, 5),
			      (uint16_t) below(&r, 6), each,
			      below(&r, 3) ? each : below(&r, 25));

		must(got >= -1 && got <= 2);
		if (got == 1) {
			uint32_t all = 0;

			total = (size_t) (x.parts - 1) * x.part_len +
				x.last_len;
			/* all of it may be read */
			for (size_t k = 0; k < total; k++)
				all += x.buf[k];
			must(!all);
			if (below(&r, 2))
				storm_report_rx_done(&x);
			else
				storm_report_rx_reset(&x);
		}
	}
	storm_report_rx_reset(&x);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("reports");
	TCase *t = tcase_create("sets");

	tcase_add_test(t, test_golden);
	tcase_add_test(t, test_forget);
	tcase_add_loop_test(t, test_forget_some, 0, unit_runs(20));
	tcase_add_loop_test(t, test_any_order, 0, unit_runs(100));
	tcase_add_loop_test(t, test_fresh, 0, unit_runs(20));
	tcase_add_loop_test(t, test_hostile_sets, 0, unit_runs(20));
	tcase_add_test(t, test_many_codes);
	tcase_add_test(t, test_too_big);
	suite_add_tcase(s, t);
	t = tcase_create("parts");
	tcase_add_loop_test(t, test_parts, 0, unit_runs(50));
	tcase_add_test(t, test_versions);
	tcase_add_test(t, test_hostile_parts);
	tcase_add_loop_test(t, test_noisy_parts, 0, unit_runs(50));
	suite_add_tcase(s, t);
	return unit_main(s);
}
