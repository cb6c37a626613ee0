/*
 * test_cast.c - the owner's state on the wire.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/idset.h"
#include "src/libstorm/wire/cast.h"
#include "src/libstorm/wire/excluded.h"
#include "unit.h"

#define COUNT 100 /* nodes in the domain */
#define FIXED 67  /* bytes without the u8 what and the sets' ranges */

static int unpack(struct storm_cast *c, const uint8_t *buf, size_t len,
		  uint32_t count)
{
	uint8_t *p = exact(buf, len);
	int err = storm_cast_unpack(c, p, len, count);

	/* what is refused owns nothing */
	must(!err || (!c->excluded.r && !c->p.r && !c->cmp_p.r));
	free(p);
	return err;
}

static void known(struct storm_cast *c)
{
	memset(c, 0, sizeof(*c));
	c->version = 0x0102030405060708ULL;
	c->flags = STORM_CAST_ASK | STORM_CAST_CHAIN;
	c->op = 3;
	c->size = 0x100000;
	c->chunk = 1396;
	c->sent = 0x80000;
	c->floor = 0x1000;
	c->decision = STORM_COMMIT;
	c->cmp = 2;
	c->cmp_var = STORM_VAR_HEARTBEAT;
	c->cmp_rel = STORM_NE;
	c->cmp_value = 8;
	c->has_digest = true;
	for (int i = 0; i < STORM_DIGEST_LEN; i++)
		c->digest[i] = (uint8_t) (0xa0 + i);
	must(!storm_idset_add(&c->p, 0, 1) && !storm_idset_add(&c->p, 5, 5));
	must(!storm_idset_add(&c->excluded, 4, 6));
}

START_TEST(test_golden)
{
	struct storm_cast c, d;
	uint8_t buf[256];
	size_t len;

	known(&c);
	len = storm_cast_pack(&c, buf, sizeof(buf));
	same_hex(
		buf, len,
		"01"
		"0102030405060708"
		"86"
		"0000000000000003"
		"0000000000100000"
		"00000574"
		"0000000000080000"
		"0000000000001000"
		"01"
		"0000000000000002"
		"01"
		"03"
		"0000000000000008"
		"a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf"
		"02"
		"0001"
		"0200"
		"00"
		"01"
		"0402");
	ck_assert_int_eq(unpack(&d, buf + 1, len - 1, COUNT), STORM_OK);
	ck_assert_uint_eq(d.version, c.version);
	ck_assert_uint_eq(d.flags, c.flags);
	ck_assert_uint_eq(d.op, c.op);
	ck_assert_uint_eq(d.size, c.size);
	ck_assert_uint_eq(d.chunk, c.chunk);
	ck_assert_uint_eq(d.sent, c.sent);
	ck_assert_uint_eq(d.decision, c.decision);
	ck_assert_uint_eq(d.cmp, c.cmp);
	ck_assert_uint_eq(d.cmp_var, c.cmp_var);
	ck_assert_uint_eq(d.cmp_rel, c.cmp_rel);
	ck_assert_uint_eq(d.cmp_value, c.cmp_value);
	must(d.has_digest && !memcmp(d.digest, c.digest, sizeof(c.digest)));
	ck_assert_uint_eq(d.p.count, 2);
	ck_assert_uint_eq(d.p.r[0].last, 1);
	ck_assert_uint_eq(d.p.r[1].first, 5);
	ck_assert_uint_eq(d.cmp_p.count, 0);
	ck_assert_uint_eq(d.excluded.count, 1);
	ck_assert_uint_eq(d.excluded.r[0].first, 4);
	ck_assert_uint_eq(d.excluded.r[0].last, 6);
	storm_cast_free(&d);
	storm_cast_free(&c);
}
END_TEST

static void set_random(struct rnd *r, struct storm_idset *s)
{
	for (uint32_t n = below(r, 20); n; n--) {
		uint32_t node = below(r, COUNT);

		must(!storm_idset_add(s, node, node));
	}
}

START_TEST(test_random)
{
	struct rnd r = rnd_of(_i);
	struct storm_cast c = { 0 }, d;
	uint8_t buf[1400], again[1400];
	size_t len;

	c.version = rnd64(&r);
	c.flags = (uint8_t) below(&r, STORM_CAST_FLAGS + 1);
	c.op = rnd64(&r);
	c.size = rnd64(&r) >> below(&r, 64);
	c.sent = c.size ? rnd64(&r) % c.size : 0;
	c.floor = c.sent ? rnd64(&r) % c.sent : 0;
	c.chunk = below(&r, 5) ?
			  STORM_CHUNK_MIN +
				  below(&r, STORM_DATAGRAM_MAX -
						    STORM_CHUNK_MIN + 1) :
			  0;
	c.decision = (uint8_t) below(&r, 3);
	c.cmp = rnd64(&r);
	c.cmp_var = (uint8_t) below(&r, STORM_VARS);
	c.cmp_rel = (uint8_t) below(&r, 4);
	c.cmp_value = rnd64(&r);
	c.has_digest = below(&r, 2);
	rnd_fill(&r, c.digest, sizeof(c.digest));
	if (!(c.flags & STORM_CAST_PARTS))
		set_random(&r, &c.excluded);
	set_random(&r, &c.p);
	set_random(&r, &c.cmp_p);
	len = storm_cast_pack(&c, buf, sizeof(buf));
	/* below 128 every number is a byte */
	must(len == 1 + FIXED + (c.has_digest ? STORM_DIGEST_LEN : 0) +
			    2 * (size_t) (c.p.count + c.cmp_p.count +
					  c.excluded.count));
	must(unpack(&d, buf + 1, len - 1, COUNT) == STORM_OK);
	must(storm_cast_pack(&d, again, sizeof(again)) == len);
	must(!memcmp(buf, again, len));
	storm_cast_free(&d);
	/* cut anywhere, or with something behind */
	for (size_t n = 0; n + 1 < len; n++)
		must(unpack(&d, buf + 1, n, COUNT) == STORM_EINVAL);
	buf[len] = 0;
	must(unpack(&d, buf + 1, len, COUNT) == STORM_EINVAL);
	for (size_t n = 0; n < len; n++)
		must(storm_cast_pack(&c, again, n) == 0);
	storm_cast_free(&c);
}
END_TEST

/* For any input, accepted values are within the bounds that callers rely on. */
START_TEST(test_noise)
{
	struct rnd r = rnd_of(_i);
	struct storm_cast c;
	uint8_t buf[256];
	size_t len;

	known(&c);
	len = storm_cast_pack(&c, buf, sizeof(buf));
	storm_cast_free(&c);
	for (int i = 0; i < 200; i++) {
		uint8_t bad[256];

		memcpy(bad, buf, len);
		for (uint32_t n = 1 + below(&r, 4); n; n--)
			bad[1 + below(&r, (uint32_t) len - 1)] =
				(uint8_t) rnd64(&r);
		if (unpack(&c, bad + 1, len - 1, COUNT))
			continue;
		must(c.sent <= c.size && c.decision <= STORM_ABORT);
		must(c.cmp_var < STORM_VARS && c.cmp_rel <= STORM_NE);
		must(!(c.flags & ~STORM_CAST_FLAGS));
		must(!c.chunk || (c.chunk >= STORM_CHUNK_MIN &&
				  c.chunk <= STORM_DATAGRAM_MAX));
		must(!c.excluded.count ||
		     c.excluded.r[c.excluded.count - 1].last < COUNT);
		storm_cast_free(&c);
	}
}
END_TEST

#define REFUSED(change)                                                     \
	do {                                                                \
		struct storm_cast c_, d_;                                   \
		uint8_t buf_[256];                                          \
		size_t len_;                                                \
		known(&c_);                                                 \
		c_.change;                                                  \
		len_ = storm_cast_pack(&c_, buf_, sizeof(buf_));            \
		if (unpack(&d_, buf_ + 1, len_ - 1, COUNT) != STORM_EINVAL) \
			ck_abort_msg("taken: %s", #change);                 \
		storm_cast_free(&c_);                                       \
	} while (0)

START_TEST(test_refused)
{
	struct storm_cast c, d;
	uint8_t buf[256];
	size_t len;

	REFUSED(flags = 0x20);
	REFUSED(flags = 0x40);
	REFUSED(sent = 0x100001);
	REFUSED(decision = STORM_ABORT + 1);
	REFUSED(decision = 255);
	REFUSED(cmp_var = STORM_VARS);
	REFUSED(cmp_rel = STORM_NE + 1);
	REFUSED(chunk = 1);
	REFUSED(chunk = STORM_CHUNK_MIN - 1);
	REFUSED(chunk = STORM_DATAGRAM_MAX + 1);
	REFUSED(chunk = UINT32_MAX);
	/* excluded nodes here, and in parts */
	known(&c);
	len = storm_cast_pack(&c, buf, sizeof(buf));
	storm_cast_free(&c);
	buf[9] |= STORM_CAST_PARTS;
	ck_assert_int_eq(unpack(&d, buf + 1, len - 1, COUNT), STORM_EINVAL);
	/* a node that the domain does not have */
	known(&c);
	len = storm_cast_pack(&c, buf, sizeof(buf));
	ck_assert_int_eq(unpack(&d, buf + 1, len - 1, 6), STORM_EINVAL);
	ck_assert_int_eq(unpack(&d, buf + 1, len - 1, 7), STORM_OK);
	storm_cast_free(&d);
	storm_cast_free(&c);
}
END_TEST

/* A state has room for three sets that are as long as they may be. */
START_TEST(test_room)
{
	struct storm_idset *set[3];
	struct storm_cast c;
	uint8_t buf[STORM_DATAGRAM_MAX];
	size_t max = STORM_MTU_MIN + (size_t) _i * 97 - STORM_HEADER_LEN -
		     STORM_TAG_LEN;

	known(&c);
	storm_cast_free(&c);
	set[0] = &c.p;
	set[1] = &c.cmp_p;
	set[2] = &c.excluded;
	for (int i = 0; i < 3; i++)
		for (uint32_t n = 0;
		     storm_set_len(set[i]) + 4 <= storm_cast_set_max(max);
		     n += 2 + (n & 2) * 100)
			must(!storm_idset_add(set[i], n, n));
	ck_assert_uint_gt(c.excluded.count, 20);
	ck_assert(storm_cast_pack(&c, buf, max));
	/* without those excluded it has room in any case */
	must(!storm_idset_add(&c.excluded, 30000, 60000));
	for (uint32_t n = 0; n < 30000; n += 2)
		must(!storm_idset_add(&c.excluded, n, n));
	ck_assert(!storm_cast_pack(&c, buf, max));
	c.flags |= STORM_CAST_PARTS;
	ck_assert(storm_cast_pack(&c, buf, max));
	storm_cast_free(&c);
}
END_TEST

/* ------------------------------------------------------- excluded, in parts --- */

static int take(struct storm_excluded *x, const uint8_t *buf, size_t len,
		uint32_t count)
{
	uint8_t *p = exact(buf, len);
	int part = storm_excluded_take(x, p, len, count);

	free(p);
	return part;
}

/* Parts in any order, and more than once: any number of nodes, any MTU. */
START_TEST(test_excluded)
{
	struct rnd r = rnd_of(_i);
	uint32_t count = 1 + below(&r, _i % 3 ? 2000 : STORM_NODES_MAX);
	size_t max = STORM_MTU_MIN - STORM_HEADER_LEN - STORM_TAG_LEN +
		     (_i % 2 ? below(&r, 8000) : 0);
	struct storm_idset out = { 0 }, got = { 0 };
	uint16_t parts = storm_excluded_parts(count, max);
	uint32_t *order = shuffled(&r, parts), most = below(&r, count) + 1;
	struct storm_excluded x = { 0 };
	uint8_t buf[STORM_DATAGRAM_MAX];

	must(parts >= 1 && parts <= STORM_EXCLUDED_PARTS);
	for (uint32_t n = 0; n < most; n++) {
		uint32_t node = below(&r, count);

		must(!storm_idset_add(&out, node, node));
	}
	for (uint16_t i = 0; i < parts; i++) {
		uint16_t part = (uint16_t) order[i];
		size_t len = storm_excluded_pack(&out, count, part, parts, buf);

		must(!storm_excluded_whole(&x));
		must(len <= max && buf[0] == STORM_CAST_EXCLUDED);
		/* too short, too long */
		must(take(&x, buf + 1, len - 2, count) == -1);
		must(take(&x, buf + 1, len, count) == -1);
		must(take(&x, buf + 1, len - 1, count) == part);
		must(take(&x, buf + 1, len - 1, count) == part);
	}
	must(storm_excluded_whole(&x));
	must(!storm_excluded_set(&x, count, &got));
	must(storm_idset_covers(&got, &out) && storm_idset_covers(&out, &got));
	storm_excluded_free(&x);
	storm_idset_clear(&out);
	storm_idset_clear(&got);
	free(order);
}
END_TEST

START_TEST(test_excluded_refused)
{
	struct storm_excluded x = { 0 };

#define PART(hex_, count_) \
	take(&x, (const uint8_t *) (hex_), sizeof(hex_) - 1, count_)
	/* 20 nodes are 3 bytes */
	ck_assert_int_eq(PART("\0\0\0\1\xff\xff\xf0", 20), 0);
	ck_assert(storm_excluded_whole(&x));
	ck_assert_int_eq(PART("\0\0\0\1\xff\xff\xf1", 20), -1); /* node 23 */
	ck_assert_int_eq(PART("\0\0\0\1\xff\xff", 20), -1);
	ck_assert_int_eq(PART("\0\0\0\0\xff\xff\xf0", 20), -1);
	ck_assert_int_eq(PART("\0\1\0\1\xff\xff\xf0", 20), -1);
	ck_assert_int_eq(PART("\0\0\0\41\xff", 800), -1); /* 33 parts */
	ck_assert_int_eq(PART("\0\3\0\4\xff", 20), -1);	  /* beyond the end */
	ck_assert_int_eq(PART("\0\0\0\1", 20), -1);
	ck_assert_int_eq(PART("\0\0\0", 20), -1);
	/* another division begins anew */
	ck_assert_int_eq(PART("\0\2\0\3\xf0", 20), 2);
	ck_assert(!storm_excluded_whole(&x));
#undef PART
	storm_excluded_free(&x);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("cast");
	TCase *t = tcase_create("cast");

	tcase_add_test(t, test_golden);
	tcase_add_loop_test(t, test_random, 0, unit_runs(50));
	tcase_add_loop_test(t, test_noise, 0, unit_runs(20));
	tcase_add_test(t, test_refused);
	tcase_add_loop_test(t, test_room, 0, 60);
	tcase_add_loop_test(t, test_excluded, 0, unit_runs(30));
	tcase_add_test(t, test_excluded_refused);
	suite_add_tcase(s, t);
	return unit_main(s);
}
