/*
 * test_sealed.c - records on a stream.  The vectors were computed by another
 * implementation (RFC 5869 by hand over HMAC-SHA256, and AES-256-GCM of the Python
 * package cryptography).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/storm_launcher/sealed.h"
#include "unit.h"

#define BODY "all for one and one for all"
#define BODY_LEN (sizeof(BODY) - 1)
#define RECORD (BODY_LEN + SEALED_EXTRA)
#define PER_KEY 2

static uint8_t key[STORM_KEY_LEN], caller[SEALED_RANDOM],
	answerer[SEALED_RANDOM];

static void setup(void)
{
	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t) i;
	for (size_t i = 0; i < SEALED_RANDOM; i++) {
		caller[i] = (uint8_t) (0x10 + i);
		answerer[i] = (uint8_t) (0x20 + i);
	}
}

static struct sealed *end_of(enum sealed_use use, bool calls, uint64_t per_key)
{
	const struct sealed_form f = { use,	 key,	caller,
				       answerer, calls, per_key };
	struct sealed *s = sealed_create(&f);

	must(s);
	return s;
}

/* The first record of each end, and the first with its second key. */
START_TEST(test_golden)
{
	static const struct {
		bool calls;
		int number;
		const char *hex;
	} golden[] = {
		{ true, 1,
		  "0000001bee6fdc9ece6b7c5e83ad0854fbebe5fa22c9635cf57acdad21157f"
		  "e891fdad8ebca6b0eaa6325ecad166c1" },
		{ true, 3,
		  "0000001b9aec91543aad70fb2183c15a47a4396f37a48e6fb603101998e578"
		  "8b835e58640fef0c9a5cb952103da53f" },
		{ false, 1,
		  "0000001bddb5c3bbea7b7df5899427f3c243f4cc43c8b3c5a67072ddc4062d"
		  "dbf76194c49e328dba957d51a34f3771" },
		{ false, 3,
		  "0000001b06b33224dd05e69f27abea44236c7fe3f6ac5868edf27637b41f4b"
		  "e4b5757c13a2957c2e10e0cd385d6942" },
	};
	struct sealed *s = end_of(SEALED_DOOR, golden[_i].calls, PER_KEY);
	uint8_t out[RECORD];

	for (int n = 0; n < golden[_i].number; n++)
		must(sealed_put(s, BODY, BODY_LEN, out));
	same_hex(out, RECORD, golden[_i].hex);
	sealed_destroy(s);
}
END_TEST

/* Both directions, beyond several keys, in pieces of any length. */
START_TEST(test_there_and_back)
{
	struct rnd r = rnd_of(_i);
	struct sealed *s[2] = { end_of(SEALED_CALL, true, PER_KEY),
				end_of(SEALED_CALL, false, PER_KEY) };
	static uint8_t text[SEALED_MAX], out[SEALED_MAX + SEALED_EXTRA];

	for (int n = 0; n < 40; n++) {
		size_t from = below(&r, 2), len;
		size_t want = 1 + below(&r, n % 8 ? 300 : SEALED_MAX);
		const uint8_t *got;
		uint8_t *exactly;

		rnd_fill(&r, text, want);
		must(sealed_put(s[from], text, want, out));
		exactly = malloc(want + SEALED_EXTRA);
		must(exactly);
		memcpy(exactly, out, want + SEALED_EXTRA);
		must(!sealed_get(s[!from], exactly, 3, &got, &len));
		must(!sealed_get(s[!from], exactly, want + SEALED_EXTRA - 1,
				 &got, &len));
		must(sealed_get(s[!from], exactly, want + SEALED_EXTRA, &got,
				&len) == (ssize_t) (want + SEALED_EXTRA));
		must(len == want && !memcmp(got, text, want));
		free(exactly);
	}
	must(!sealed_put(s[0], text, 0, out));
	must(!sealed_put(s[0], text, SEALED_MAX + 1, out));
	sealed_destroy(s[0]);
	sealed_destroy(s[1]);
}
END_TEST

/* Opened by an end that has had so many records before. */
static ssize_t opened(enum sealed_use use, bool calls, const uint8_t *record,
		      size_t have)
{
	struct sealed *s = end_of(use, calls, PER_KEY);
	uint8_t copy[2 * RECORD];
	const uint8_t *text;
	size_t len;
	ssize_t took;

	memcpy(copy, record, have);
	took = sealed_get(s, copy, have, &text, &len);
	sealed_destroy(s);
	return took;
}

/* No byte of it may differ, and it is of this stream, in this direction. */
START_TEST(test_changed)
{
	struct sealed *s = end_of(SEALED_DOOR, true, PER_KEY);
	uint8_t out[2 * RECORD];

	must(sealed_put(s, BODY, BODY_LEN, out));
	ck_assert_int_eq(opened(SEALED_DOOR, false, out, RECORD), RECORD);
	for (size_t i = 0; i < 8 * RECORD; i++) {
		out[i / 8] ^= (uint8_t) (1 << i % 8);
		/* a length that is too large has to wait for what comes */
		must(opened(SEALED_DOOR, false, out, RECORD) <= 0);
		must(i / 8 < SEALED_HEAD ||
		     opened(SEALED_DOOR, false, out, RECORD) == -1);
		out[i / 8] ^= (uint8_t) (1 << i % 8);
	}
	ck_assert_int_eq(opened(SEALED_DOOR, true, out, RECORD), -1);
	ck_assert_int_eq(opened(SEALED_CALL, false, out, RECORD), -1);
	caller[0] ^= 1;
	ck_assert_int_eq(opened(SEALED_DOOR, false, out, RECORD), -1);
	caller[0] ^= 1;
	key[31] ^= 1;
	ck_assert_int_eq(opened(SEALED_DOOR, false, out, RECORD), -1);
	key[31] ^= 1;
	/* the second one is not the first */
	must(sealed_put(s, BODY, BODY_LEN, out));
	ck_assert_int_eq(opened(SEALED_DOOR, false, out, RECORD), -1);
	sealed_destroy(s);
}
END_TEST

START_TEST(test_repeated)
{
	struct sealed *s = end_of(SEALED_DOOR, true, PER_KEY);
	struct sealed *to = end_of(SEALED_DOOR, false, PER_KEY);
	uint8_t out[RECORD], again[RECORD];
	const uint8_t *text;
	size_t len;

	must(sealed_put(s, BODY, BODY_LEN, out));
	memcpy(again, out, RECORD);
	ck_assert_int_eq(sealed_get(to, out, RECORD, &text, &len), RECORD);
	ck_assert_int_eq(sealed_get(to, again, RECORD, &text, &len), -1);
	sealed_destroy(s);
	sealed_destroy(to);
}
END_TEST

START_TEST(test_length)
{
	static const uint8_t none[RECORD], much[RECORD] = { 0, 0, 0x40, 1 };

	ck_assert_int_eq(opened(SEALED_DOOR, true, none, RECORD), -1);
	ck_assert_int_eq(opened(SEALED_DOOR, true, much, 4), -1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sealed");
	TCase *t = tcase_create("records");

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_loop_test(t, test_golden, 0, 4);
	tcase_add_loop_test(t, test_there_and_back, 0, unit_runs(20));
	tcase_add_test(t, test_changed);
	tcase_add_test(t, test_repeated);
	tcase_add_test(t, test_length);
	suite_add_tcase(s, t);
	return unit_main(s);
}
