/*
 * test_wire.c - fields, sets and headers; the vectors stand in
 * doc/wire-format.md too.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/idset.h"
#include "src/libstorm/wire/wire.h"
#include "unit.h"

/* ------------------------------------------------------------- cursors --- */

START_TEST(test_big_endian)
{
	uint8_t buf[15];
	struct storm_out o = { buf, buf + sizeof(buf), false };
	struct storm_in i = { buf, buf + sizeof(buf), false };

	storm_put8(&o, 0x01);
	storm_put16(&o, 0x2345);
	storm_put32(&o, 0x6789abcd);
	storm_put64(&o, 0xef0123456789abcdULL);
	ck_assert(!o.bad);
	ck_assert_ptr_eq(o.p, o.end);
	same_hex(buf, sizeof(buf), "0123456789abcdef0123456789abcd");
	ck_assert_uint_eq(storm_get8(&i), 0x01);
	ck_assert_uint_eq(storm_get16(&i), 0x2345);
	ck_assert_uint_eq(storm_get32(&i), 0x6789abcd);
	ck_assert_uint_eq(storm_get64(&i), 0xef0123456789abcdULL);
	ck_assert(storm_in_done(&i));
}
END_TEST

START_TEST(test_writer_stops)
{
	uint8_t buf[8];
	struct storm_out o = { buf, buf + 7, false };

	memset(buf, 0xee, sizeof(buf));
	storm_put32(&o, 1);
	ck_assert(!o.bad);
	storm_put32(&o, 2);
	ck_assert(o.bad);
	ck_assert_ptr_eq(o.p, buf + 4);
	/* it remembers, also where the next field would fit */
	storm_put8(&o, 3);
	ck_assert(o.bad);
	ck_assert_ptr_eq(o.p, buf + 4);
	same_hex(buf, 8, "00000001eeeeeeee");
}
END_TEST

START_TEST(test_reader_stops)
{
	uint8_t *buf = exact("\1\2\3\4\5\6\7", 7);
	struct storm_in i = { buf, buf + 7, false };

	ck_assert_uint_eq(storm_get32(&i), 0x01020304);
	ck_assert_uint_eq(storm_get32(&i), 0);
	ck_assert(i.bad);
	ck_assert_uint_eq(storm_get8(&i), 0);
	ck_assert_ptr_null(storm_get(&i, 0));
	ck_assert(!storm_in_done(&i));
	free(buf);
}
END_TEST

START_TEST(test_reader_huge)
{
	uint8_t *buf = exact("\1\2\3", 3);
	struct storm_in i = { buf, buf + 3, false };

	/* an announced length that would wrap the pointer */
	ck_assert_ptr_null(storm_get(&i, SIZE_MAX));
	ck_assert(i.bad);
	free(buf);
}
END_TEST

START_TEST(test_trailing)
{
	uint8_t buf[2] = { 1, 2 };
	struct storm_in i = { buf, buf + 2, false };

	storm_get8(&i);
	ck_assert(!i.bad);
	ck_assert(!storm_in_done(&i));
}
END_TEST

START_TEST(test_addr)
{
	struct storm_addr a = { .port = 8383 }, b;
	uint8_t buf[STORM_ADDR_LEN + 2];
	struct storm_out o = { buf, buf + sizeof(buf), false };

	memset(a.ip + 10, 0xff, 2);
	memcpy(a.ip + 12, "\xc0\x00\x02\x01", 4);
	storm_put_addr(&o, &a);
	ck_assert(!o.bad);
	same_hex(buf, sizeof(buf), "00000000000000000000ffffc000020120bf");
	for (size_t n = 0; n <= sizeof(buf); n++) {
		uint8_t *p = exact(buf, n);
		struct storm_in i = { p, p + n, false };

		storm_get_addr(&i, &b);
		must(storm_in_done(&i) == (n == sizeof(buf)));
		free(p);
	}
	ck_assert(!memcmp(&a.ip, &b.ip, sizeof(a.ip)));
	ck_assert_uint_eq(b.port, 8383);
}
END_TEST

/* ---------------------------------------------------------------- sets --- */

static bool get_set(const void *buf, size_t len, uint32_t max,
		    struct storm_idset *s)
{
	uint8_t *p = exact(buf, len);
	struct storm_in i = { p, p + len, false };
	bool ok;

	storm_get_idset(&i, s, max);
	ok = storm_in_done(&i);
	free(p);
	return ok;
}

START_TEST(test_idset_random)
{
	struct rnd r = rnd_of(_i);
	struct storm_idset a = { 0 }, b = { 0 };
	uint8_t buf[2048];
	struct storm_out o = { buf, buf + sizeof(buf), false };
	size_t len;

	for (uint32_t n = below(&r, 30); n; n--) {
		uint32_t first = below(&r, 1000);

		must(!storm_idset_add(&a, first, first + below(&r, 30)));
	}
	storm_put_idset(&o, &a);
	must(!o.bad);
	len = (size_t) (o.p - buf);
	must(len == 4 + 8 * (size_t) a.count);
	must(get_set(buf, len, 2000, &b));
	must(a.count == b.count);
	for (uint32_t i = 0; i < a.count; i++)
		must(a.r[i].first == b.r[i].first &&
		     a.r[i].last == b.r[i].last);
	for (size_t n = 0; n < len; n++) {
		storm_idset_clear(&b);
		must(!get_set(buf, n, 2000, &b));
	}
	storm_idset_clear(&b);
	buf[len] = 0;
	must(!get_set(buf, len + 1, 2000, &b));
	storm_idset_clear(&b);
	/* the largest one is the limit */
	if (a.count) {
		uint32_t top = a.r[a.count - 1].last;

		must(get_set(buf, len, top, &b));
		storm_idset_clear(&b);
		must(!top || !get_set(buf, len, top - 1, &b));
	}
	storm_idset_clear(&a);
	storm_idset_clear(&b);
}
END_TEST

static const struct {
	const char *what, *bytes;
	size_t len;
	bool good;
} sets[] = {
#define SET(what, bytes, good)                       \
	{                                            \
		what, bytes, sizeof(bytes) - 1, good \
	}
#define R(a, b) "\0\0\0" a "\0\0\0" b
	SET("empty", "\0\0\0\0", true),
	SET("one", "\0\0\0\1" R("\5", "\5"), true),
	SET("two", "\0\0\0\2" R("\1", "\2") R("\4", "\5"), true),
	SET("adjacent", "\0\0\0\2" R("\1", "\2") R("\3", "\5"), true),
	SET("last before first", "\0\0\0\1" R("\5", "\4"), false),
	SET("descending", "\0\0\0\2" R("\4", "\5") R("\1", "\2"), false),
	SET("overlapping", "\0\0\0\2" R("\1", "\4") R("\4", "\5"), false),
	SET("the same twice", "\0\0\0\2" R("\1", "\1") R("\1", "\1"), false),
	SET("beyond the limit", "\0\0\0\1" R("\1", "\x65"), false),
	SET("after the last number",
	    "\0\0\0\2"
	    "\0\0\0\0\xff\xff\xff\xff" R("\0", "\0"),
	    false),
	SET("one more announced", "\0\0\0\2" R("\5", "\5"), false),
	SET("2^29 announced", "\x20\0\0\1" R("\5", "\5"), false),
	SET("2^32-1 announced", "\xff\xff\xff\xff" R("\5", "\5"), false),
};

START_TEST(test_idset_fixed)
{
	struct storm_idset s = { 0 };

	/* the last number allowed is 0x64, and that is one past it in a case */
	if (get_set(sets[_i].bytes, sets[_i].len, 0x64, &s) != sets[_i].good)
		ck_abort_msg("%s", sets[_i].what);
	storm_idset_clear(&s);
	/* without a limit 2^32-1 is a number as any other, but the last one */
	if (!strcmp(sets[_i].what, "after the last number"))
		ck_assert(
			!get_set(sets[_i].bytes, sets[_i].len, UINT32_MAX, &s));
	storm_idset_clear(&s);
}
END_TEST

/* -------------------------------------------------------------- header --- */

static const struct storm_header known = {
	.type = STORM_MSG_STATUS,
	.flags = 0,
	.epoch = 2,
	.session = 0x0123456789abcdefULL,
	.incarnation = { 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
			 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f },
	.sender = 7,
	.sequence = 42,
	.op = 3,
};
#define KNOWN_HEX                          \
	"02030000"                         \
	"00000002"                         \
	"0123456789abcdef"                 \
	"101112131415161718191a1b1c1d1e1f" \
	"00000007"                         \
	"000000000000002a"                 \
	"0000000000000003"

/* One form for each set, in as few bytes as its numbers need. */
START_TEST(test_set)
{
	struct rnd r = rnd_of(_i);
	struct storm_idset a = { 0 }, b = { 0 };
	uint8_t buf[400], again[400];
	struct storm_out o = { buf, buf + sizeof(buf), false };
	struct storm_out o2 = { again, again + sizeof(again), false };
	struct storm_in in;
	uint32_t top = below(&r, 2) ? 100 : 4000000000u;
	size_t len;

	for (uint32_t n = below(&r, 20); n; n--) {
		uint32_t first = below(&r, top);

		must(!storm_idset_add(&a, first, first + below(&r, 300)));
	}
	storm_put_set(&o, &a);
	must(!o.bad);
	len = (size_t) (o.p - buf);
	in = (struct storm_in) { buf, buf + len, false };
	storm_get_set(&in, &b, UINT32_MAX);
	must(storm_in_done(&in) && a.count == b.count);
	must(!a.count || !memcmp(a.r, b.r, a.count * sizeof(*a.r)));
	storm_idset_clear(&b);
	/* cut anywhere; with a byte changed it is refused, or another set */
	for (size_t n = 0; n < len; n++) {
		in = (struct storm_in) { buf, buf + n, false };
		storm_get_set(&in, &b, UINT32_MAX);
		must(in.bad);
		storm_idset_clear(&b);
		buf[n] ^= (uint8_t) (1 + below(&r, 255));
		in = (struct storm_in) { buf, buf + len, false };
		storm_get_set(&in, &b, UINT32_MAX);
		if (storm_in_done(&in)) {
			o2.p = again;
			storm_put_set(&o2, &b);
			must((size_t) (o2.p - again) == len);
			must(!memcmp(buf, again, len));
		}
		storm_idset_clear(&b);
		o.p = buf;
		storm_put_set(&o, &a);
	}
	if (a.count) {
		in = (struct storm_in) { buf, buf + len, false };
		storm_get_set(&in, &b, a.r[a.count - 1].last - 1);
		must(in.bad);
		storm_idset_clear(&b);
	}
	storm_idset_clear(&a);
}
END_TEST

START_TEST(test_header_golden)
{
	uint8_t buf[STORM_DATAGRAM_MIN] = { 0 };
	struct storm_header h;

	storm_header_pack(&known, buf);
	same_hex(buf, STORM_HEADER_LEN, KNOWN_HEX);
	memset(&h, 0, sizeof(h));
	ck_assert_int_eq(storm_header_unpack(&h, buf, sizeof(buf)), STORM_OK);
	ck_assert_uint_eq(h.type, known.type);
	ck_assert_uint_eq(h.flags, known.flags);
	ck_assert_uint_eq(h.epoch, known.epoch);
	ck_assert_uint_eq(h.session, known.session);
	ck_assert(!memcmp(h.incarnation, known.incarnation,
			  sizeof(h.incarnation)));
	ck_assert_uint_eq(h.sender, known.sender);
	ck_assert_uint_eq(h.sequence, known.sequence);
	ck_assert_uint_eq(h.op, known.op);
}
END_TEST

START_TEST(test_header_random)
{
	struct rnd r = rnd_of(_i);
	struct storm_header h, g;
	uint8_t buf[STORM_DATAGRAM_MIN] = { 0 }, again[STORM_HEADER_LEN];

	memset(&h, 0, sizeof(h));
	h.type = (uint8_t) (1 + below(&r, STORM_MSG_MAX - 1));
	h.flags = (uint16_t) below(&r, 2);
	h.epoch = (uint32_t) rnd64(&r);
	h.session = rnd64(&r);
	rnd_fill(&r, h.incarnation, sizeof(h.incarnation));
	h.sender = (uint32_t) rnd64(&r);
	h.sequence = rnd64(&r);
	h.op = rnd64(&r);
	storm_header_pack(&h, buf);
	must(storm_header_unpack(&g, buf, sizeof(buf)) == STORM_OK);
	storm_header_pack(&g, again);
	must(!memcmp(buf, again, sizeof(again)));
}
END_TEST

START_TEST(test_header_lengths)
{
	static uint8_t big[STORM_DATAGRAM_MAX + 1];
	struct storm_header h;

	storm_header_pack(&known, big);
	for (size_t n = 0; n < STORM_DATAGRAM_MIN; n++) {
		uint8_t *p = exact(big, n);

		must(storm_header_unpack(&h, p, n) == STORM_EINVAL);
		free(p);
	}
	ck_assert_int_eq(storm_header_unpack(&h, big, STORM_DATAGRAM_MIN),
			 STORM_OK);
	ck_assert_int_eq(storm_header_unpack(&h, big, STORM_DATAGRAM_MAX),
			 STORM_OK);
	ck_assert_int_eq(storm_header_unpack(&h, big, sizeof(big)),
			 STORM_EINVAL);
}
END_TEST

START_TEST(test_header_fields)
{
	uint8_t buf[STORM_DATAGRAM_MIN] = { 0 };
	struct storm_header h;

	for (int v = 0; v < 256; v++) {
		storm_header_pack(&known, buf);
		buf[0] = (uint8_t) v;
		must(storm_header_unpack(&h, buf, sizeof(buf)) ==
		     (v == STORM_WIRE_VERSION ? STORM_OK : STORM_EVERSION));
		storm_header_pack(&known, buf);
		buf[1] = (uint8_t) v;
		must(storm_header_unpack(&h, buf, sizeof(buf)) ==
		     (v >= 1 && v < STORM_MSG_MAX ? STORM_OK : STORM_EINVAL));
	}
	for (int bit = 0; bit < 16; bit++) {
		storm_header_pack(&known, buf);
		buf[2] = (uint8_t) ((1 << bit) >> 8);
		buf[3] = (uint8_t) (1 << bit);
		must(storm_header_unpack(&h, buf, sizeof(buf)) ==
		     (bit == 0 ? STORM_OK : STORM_EINVAL));
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("wire");
	TCase *t = tcase_create("cursors");

	tcase_add_test(t, test_big_endian);
	tcase_add_test(t, test_writer_stops);
	tcase_add_test(t, test_reader_stops);
	tcase_add_test(t, test_reader_huge);
	tcase_add_test(t, test_trailing);
	tcase_add_test(t, test_addr);
	suite_add_tcase(s, t);
	t = tcase_create("sets");
	tcase_add_loop_test(t, test_idset_random, 0, unit_runs(100));
	tcase_add_loop_test(t, test_set, 0, unit_runs(100));
	tcase_add_loop_test(t, test_idset_fixed, 0,
			    sizeof(sets) / sizeof(*sets));
	suite_add_tcase(s, t);
	t = tcase_create("header");
	tcase_add_test(t, test_header_golden);
	tcase_add_loop_test(t, test_header_random, 0, unit_runs(100));
	tcase_add_test(t, test_header_lengths);
	tcase_add_test(t, test_header_fields);
	suite_add_tcase(s, t);
	return unit_main(s);
}
