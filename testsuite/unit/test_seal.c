/*
 * test_seal.c - sealing, and the window against replay.  The vectors were
 * computed by another implementation (RFC 5869 by hand over HMAC-SHA256, and
 * AES-256-GCM of the Python package cryptography); doc/wire-format.md
 * has them too.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/wire/seal.h"
#include "unit.h"

#define SESSION 0x0123456789abcdefULL
#define SENDER 7
#define SEQUENCE 42
#define BODY "all for one and one for all"
#define BODY_LEN (sizeof(BODY) - 1)
#define ROOM 256

static uint8_t key[STORM_KEY_LEN], inc[STORM_INCARNATION_LEN];

static const char *const golden[STORM_LANES] = {
	/* STATUS in the control lane, DATA in its own */
	"c2db41dc590413a854566e55a0975e0d070930a5e43316aa11fa67"
	"65978c499db4f9a8b3f206a201623f1f",
	"8f7ecec1d230f4c849798f25aefa26f4a6a4e59e618e30854a3feb"
	"537c0a61adffd8d72654c6081357dde4",
};

static void setup(void)
{
	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t) i;
	for (size_t i = 0; i < sizeof(inc); i++)
		inc[i] = (uint8_t) (0x10 + i);
}

static struct storm_seal *seal_of(enum storm_lane lane)
{
	struct storm_seal *s =
		storm_seal_create(key, inc, SESSION, SENDER, lane);

	must(s);
	return s;
}

static void header_of(enum storm_lane lane, uint8_t out[STORM_HEADER_LEN])
{
	struct storm_header h = {
		.type = lane == STORM_LANE_DATA ? STORM_MSG_DATA :
						  STORM_MSG_STATUS,
		.epoch = 2,
		.session = SESSION,
		.sender = SENDER,
		.sequence = SEQUENCE,
		.op = 3,
	};

	memcpy(h.incarnation, inc, sizeof(inc));
	storm_header_pack(&h, out);
}

START_TEST(test_golden)
{
	struct storm_seal *s = seal_of((enum storm_lane) _i);
	uint8_t hdr[STORM_HEADER_LEN], out[ROOM], back[ROOM];

	header_of((enum storm_lane) _i, hdr);
	ck_assert_int_eq(storm_seal_seal(s, hdr, SEQUENCE,
					 (const uint8_t *) BODY, BODY_LEN, out),
			 STORM_OK);
	same_hex(out, BODY_LEN + STORM_TAG_LEN, golden[_i]);
	ck_assert_int_eq(storm_seal_open(s, hdr, SEQUENCE, out,
					 BODY_LEN + STORM_TAG_LEN, back),
			 STORM_OK);
	ck_assert(!memcmp(back, BODY, BODY_LEN));
	storm_seal_destroy(s);
}
END_TEST

START_TEST(test_random)
{
	struct rnd r = rnd_of(_i);
	struct storm_seal *s = seal_of(STORM_LANE_DATA);
	uint8_t hdr[STORM_HEADER_LEN], *plain, *out, *back;
	size_t len = below(&r, 3) ? below(&r, 2000) : below(&r, 4);
	uint64_t seq = rnd64(&r);
	uint32_t at;

	rnd_fill(&r, hdr, sizeof(hdr));
	plain = exact(NULL, 0);
	plain = realloc(plain, len + 1);
	rnd_fill(&r, plain, len);
	out = malloc(len + STORM_TAG_LEN);
	back = malloc(len + 1);
	must(plain && out && back);
	must(!storm_seal_seal(s, hdr, seq, plain, len, out));
	must(!storm_seal_open(s, hdr, seq, out, len + STORM_TAG_LEN, back));
	must(!memcmp(plain, back, len));
	/* in place too, as link.c and udp.c do it */
	out = realloc(out, len + STORM_TAG_LEN);
	must(out);
	memcpy(out, plain, len);
	must(!storm_seal_seal(s, hdr, seq, out, len, out));
	/* a bit of the body or the tag, of the header, another sequence */
	at = below(&r, (uint32_t) (len + STORM_TAG_LEN) * 8);
	out[at / 8] ^= (uint8_t) (1 << at % 8);
	must(storm_seal_open(s, hdr, seq, out, len + STORM_TAG_LEN, back) ==
	     STORM_EAUTH);
	out[at / 8] ^= (uint8_t) (1 << at % 8);
	at = below(&r, STORM_HEADER_LEN * 8);
	hdr[at / 8] ^= (uint8_t) (1 << at % 8);
	must(storm_seal_open(s, hdr, seq, out, len + STORM_TAG_LEN, back) ==
	     STORM_EAUTH);
	hdr[at / 8] ^= (uint8_t) (1 << at % 8);
	must(storm_seal_open(s, hdr, seq ^ 1ULL << below(&r, 64), out,
			     len + STORM_TAG_LEN, back) == STORM_EAUTH);
	must(!storm_seal_open(s, hdr, seq, out, len + STORM_TAG_LEN, out));
	must(!memcmp(plain, out, len));
	free(plain);
	free(out);
	free(back);
	storm_seal_destroy(s);
}
END_TEST

/* Every byte of what is on the wire is covered. */
START_TEST(test_tampered)
{
	struct storm_seal *s = seal_of(STORM_LANE_CONTROL);
	uint8_t d[STORM_HEADER_LEN + BODY_LEN + STORM_TAG_LEN], back[ROOM];
	uint8_t *body = d + STORM_HEADER_LEN;
	size_t len = BODY_LEN + STORM_TAG_LEN;

	header_of(STORM_LANE_CONTROL, d);
	must(!storm_seal_seal(s, d, SEQUENCE, (const uint8_t *) BODY, BODY_LEN,
			      body));
	for (size_t i = 0; i < sizeof(d); i++) {
		d[i] ^= 0x20;
		must(storm_seal_open(s, d, SEQUENCE, body, len, back) ==
		     STORM_EAUTH);
		d[i] ^= 0x20;
	}
	for (size_t n = 0; n < len; n++) {
		uint8_t *p = exact(body, n);

		must(storm_seal_open(s, d, SEQUENCE, p, n, back) ==
		     STORM_EAUTH);
		free(p);
	}
	must(!storm_seal_open(s, d, SEQUENCE, body, len, back));
	storm_seal_destroy(s);
}
END_TEST

/* Two of anything never share a key, hence no nonce. */
START_TEST(test_subkeys)
{
	uint8_t hdr[STORM_HEADER_LEN], out[ROOM], other[ROOM], back[ROOM];
	size_t len = BODY_LEN + STORM_TAG_LEN;
	struct storm_seal *s = seal_of(STORM_LANE_CONTROL);

	header_of(STORM_LANE_CONTROL, hdr);
	must(!storm_seal_seal(s, hdr, SEQUENCE, (const uint8_t *) BODY,
			      BODY_LEN, out));
	for (int what = 0; what < 6; what++) {
		uint8_t k[STORM_KEY_LEN], n[STORM_INCARNATION_LEN];
		struct storm_seal *t;

		memcpy(k, key, sizeof(k));
		memcpy(n, inc, sizeof(n));
		k[STORM_KEY_LEN - 1] ^= what == 0;
		n[0] ^= what == 1;
		t = storm_seal_create(k, n, SESSION ^ (what == 2),
				      what == 3 ? STORM_NO_NODE : SENDER,
				      what == 4 ? STORM_LANE_DATA :
						  STORM_LANE_CONTROL);
		must(t);
		must(!storm_seal_seal(t, hdr, SEQUENCE, (const uint8_t *) BODY,
				      BODY_LEN, other));
		/* what == 5 is the same key: the comparison can succeed */
		must(!memcmp(out, other, BODY_LEN) == (what == 5));
		must(storm_seal_open(t, hdr, SEQUENCE, out, len, back) ==
		     (what == 5 ? STORM_OK : STORM_EAUTH));
		storm_seal_destroy(t);
	}
	storm_seal_destroy(s);
	storm_seal_destroy(NULL);
}
END_TEST

START_TEST(test_digest_and_random)
{
	uint8_t a[32], b[32];

	storm_sha256("abc", 3, a); /* FIPS 180-2 */
	same_hex(a, 32,
		 "ba7816bf8f01cfea414140de5dae2223"
		 "b00361a396177a9cb410ff61f20015ad");
	ck_assert_int_eq(storm_random(a, sizeof(a)), STORM_OK);
	ck_assert_int_eq(storm_random(b, sizeof(b)), STORM_OK);
	ck_assert(memcmp(a, b, sizeof(a)));
}
END_TEST

/* -------------------------------------------------------------- window --- */

#define SEQS 16384
#define WINDOW STORM_REPLAY_WINDOW

/* Compare with a list of all sequences ever seen. */
START_TEST(test_replay_random)
{
	struct rnd r = rnd_of(_i);
	struct storm_replay w = { 0 };
	static bool seen[SEQS];
	uint64_t top = 0, at = 1;

	memset(seen, 0, sizeof(seen));
	for (int i = 0; i < 2000; i++) {
		uint64_t seq;
		bool fresh;

		/* reordered, repeated, now and then far ahead */
		seq = at + below(&r, below(&r, 9) ? 100 : 3 * WINDOW);
		seq = seq > 50 ? seq - 50 : 1;
		if (!below(&r, 9))
			seq = 1 + below(&r, (uint32_t) at);
		at += below(&r, 100) ? below(&r, 3) : below(&r, 120);
		if (seq >= SEQS)
			break;
		fresh = !seen[seq] && seq + WINDOW > top;
		must(storm_replay_fresh(&w, seq) == fresh);
		/* asking changes nothing: a forged one must not */
		must(storm_replay_fresh(&w, seq) == fresh);
		if (!fresh || !below(&r, 5))
			continue;
		storm_replay_accept(&w, seq);
		seen[seq] = true;
		if (seq > top)
			top = seq;
		must(!storm_replay_fresh(&w, seq));
	}
	must(top > 500);
}
END_TEST

START_TEST(test_replay_edges)
{
	struct storm_replay w = { 0 };

	storm_replay_accept(&w, WINDOW + 36);
	for (uint64_t s = 0; s <= 2 * WINDOW; s++)
		must(storm_replay_fresh(&w, s) == (s > 36 && s != WINDOW + 36));
	storm_replay_accept(&w, 37);
	must(!storm_replay_fresh(&w, 37));
	/* moves that one to the last place */
	storm_replay_accept(&w, 2 * WINDOW + 35);
	must(!storm_replay_fresh(&w, WINDOW + 36) &&
	     storm_replay_fresh(&w, WINDOW + 37));
	storm_replay_accept(&w, 3 * WINDOW + 35);
	must(!storm_replay_fresh(&w, 2 * WINDOW + 35) &&
	     storm_replay_fresh(&w, 2 * WINDOW + 36));
	storm_replay_accept(&w, UINT64_MAX);
	must(!storm_replay_fresh(&w, UINT64_MAX));
	must(!storm_replay_fresh(&w, 1));
	must(storm_replay_fresh(&w, UINT64_MAX - (WINDOW - 1)));
	must(!storm_replay_fresh(&w, UINT64_MAX - WINDOW));
	/* too old to be remembered: no harm */
	storm_replay_accept(&w, 5);
	must(!storm_replay_fresh(&w, 5) && w.top == UINT64_MAX);
}
END_TEST

#define LARGE 4096

/* A place for DATA, by what their first bytes say. */
static uint8_t *place_by_head(void *arg, const uint8_t *head, size_t len)
{
	must(len <= LARGE);
	return (uint8_t *) arg + head[0];
}

/* The head gives the place of the rest. Nothing else is written to. */
START_TEST(test_open_data)
{
	enum { HEAD = STORM_DATA_HEADER_LEN };
	struct storm_seal *s = seal_of(STORM_LANE_DATA);
	uint8_t hdr[STORM_HEADER_LEN], body[LARGE], sealed[LARGE], head[HEAD];
	uint8_t places[256 + LARGE], *out;
	struct rnd r = rnd_of(_i);

	must(s);
	for (int k = 0; k < 50; k++) {
		size_t len = HEAD + below(&r, LARGE - HEAD - STORM_TAG_LEN);
		uint64_t sequence = rnd64(&r);
		bool forged = !below(&r, 5);

		rnd_fill(&r, hdr, sizeof(hdr));
		rnd_fill(&r, body, len);
		must(!storm_seal_seal(s, hdr, sequence, body, len, sealed));
		if (forged)
			sealed[below(&r, (uint32_t) len + STORM_TAG_LEN)] ^=
				(uint8_t) (1 << below(&r, 8));
		memset(places, 0xee, sizeof(places));
		out = storm_seal_open_data(s, hdr, sequence, sealed,
					   len + STORM_TAG_LEN, head,
					   place_by_head, places);
		must(!out == forged);
		must(forged || (!memcmp(head, body, HEAD) &&
				!memcmp(out, body + HEAD, len - HEAD)));
		for (size_t i = 0; i < sizeof(places); i++)
			must(places[i] == 0xee ||
			     (i >= head[0] && i - head[0] < len - HEAD));
	}
	storm_seal_destroy(s);
}
END_TEST

/* The tag that distinguishes sessions' multicast, by another implementation. */
START_TEST(test_group_key)
{
	uint8_t other[STORM_KEY_LEN];

	ck_assert_uint_eq(storm_group_key(key, SESSION), 0x2868c805);
	must(storm_group_key(key, SESSION + 1) != 0x2868c805);
	memcpy(other, key, sizeof(other));
	other[0] ^= 1;
	must(storm_group_key(other, SESSION) != 0x2868c805);
	for (uint64_t i = 0; i < 100; i++)
		must(!(storm_group_key(key, i) >> 31));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("seal");
	TCase *t = tcase_create("seal");

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_loop_test(t, test_golden, 0, STORM_LANES);
	tcase_add_loop_test(t, test_random, 0, unit_runs(50));
	tcase_add_test(t, test_tampered);
	tcase_add_test(t, test_subkeys);
	tcase_add_loop_test(t, test_open_data, 0, unit_runs(20));
	tcase_add_test(t, test_digest_and_random);
	tcase_add_test(t, test_group_key);
	suite_add_tcase(s, t);
	t = tcase_create("replay");
	tcase_add_loop_test(t, test_replay_random, 0, unit_runs(50));
	tcase_add_test(t, test_replay_edges);
	suite_add_tcase(s, t);
	return unit_main(s);
}
