/*
 * fuzz_seal.c - the real seal: what was not sealed is never opened, what was
 * comes out again, and no sequence passes twice.
 *
 *   u8 length of what follows for the window of sequences, {u8: how, see
 *   sequence_next()}; a header; u64 sequence, u16 bit to be changed, the body
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "fuzz.h"
#include "src/libstorm/wire/seal.h"

#define WINDOW STORM_REPLAY_WINDOW
#define SEQUENCES 256

static struct storm_seal *mine, *other;

static void begin(void)
{
	static const uint8_t key[STORM_KEY_LEN] = { 1 };
	static const uint8_t life[STORM_INCARNATION_LEN] = { 2 };

	mine = storm_seal_create(key, life, 3, 4, STORM_LANE_CONTROL);
	other = storm_seal_create(key, life, 3, 4, STORM_LANE_DATA);
	must(mine && other);
}

/* --------------------------------------------------------- the replay window --- */

/* Near the top, near the window's end, or far away. */
static uint64_t sequence_next(uint64_t top, uint8_t how)
{
	uint64_t by = how & 0x3f;

	switch (how >> 6) {
	case 0:
		return top + by;
	case 1:
		return top - by;
	case 2:
		return top - (WINDOW - 32) - by;
	default:
		return top + (by << (by * 3 / 4));
	}
}

static void sequences(const uint8_t *how, size_t count)
{
	uint64_t taken[SEQUENCES], top = 0;
	struct storm_replay w = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t s = sequence_next(top, how[i]);
		bool fresh = s > top || top - s < WINDOW;

		for (size_t k = 0; k < n; k++)
			fresh = fresh && taken[k] != s;
		/* 0 is before the first: it is never sent */
		if (s)
			must(storm_replay_fresh(&w, s) == fresh);
		if (s && fresh) {
			storm_replay_accept(&w, s);
			must(!storm_replay_fresh(&w, s));
			taken[n++] = s;
		}
		top = s && s > top ? s : top;
		must(w.top == top);
	}
}

/* ----------------------------------------------------------------- the seal --- */

static void must_refuse(struct storm_seal *s, const uint8_t *hdr,
			uint64_t sequence, const uint8_t *body, size_t len)
{
	uint8_t *out = exact(body, len);

	must(storm_seal_open(s, hdr, sequence, body, len, out) == STORM_EAUTH);
	free(out);
}

static void changed(const uint8_t *hdr, uint64_t sequence,
		    const uint8_t *sealed, size_t len, uint16_t bit)
{
	uint8_t *h = exact(hdr, STORM_HEADER_LEN), *b = exact(sealed, len);
	size_t at = bit / 8u % (STORM_HEADER_LEN + len);

	if (at < STORM_HEADER_LEN)
		h[at] ^= (uint8_t) (1u << bit % 8u);
	else
		b[at - STORM_HEADER_LEN] ^= (uint8_t) (1u << bit % 8u);
	must_refuse(mine, h, sequence, b, len);
	free(h);
	free(b);
}

static void seal(const uint8_t *hdr, uint64_t sequence, const uint8_t *body,
		 size_t len, uint16_t bit)
{
	size_t sealed = len + STORM_TAG_LEN;
	uint8_t *p = malloc(sealed), *out = exact(body, len);

	must(p);
	memcpy(p, body, len);
	must(!storm_seal_seal(mine, hdr, sequence, p, len, p));
	must(!storm_seal_open(mine, hdr, sequence, p, sealed, out));
	must(!memcmp(out, body, len));
	must_refuse(mine, hdr, sequence + 1, p, sealed);
	must_refuse(other, hdr, sequence, p, sealed);
	must_refuse(mine, hdr, sequence, p, sealed - 1);
	changed(hdr, sequence, p, sealed, bit);
	/* in place, as datagrams are */
	must(!storm_seal_open(mine, hdr, sequence, p, sealed, p));
	must(!memcmp(p, body, len));
	free(p);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct storm_in i = { data, data + size, false };
	size_t count = storm_get8(&i), len;
	const uint8_t *how, *hdr;
	uint64_t sequence;
	uint16_t bit;
	uint8_t *body;

	if (!mine)
		begin();
	how = storm_get(&i, count);
	if (how)
		sequences(how, count);
	hdr = storm_get(&i, STORM_HEADER_LEN);
	sequence = storm_get64(&i);
	bit = storm_get16(&i);
	if (i.bad)
		return 0;
	len = (size_t) (i.end - i.p);
	body = exact(i.p, len);
	must_refuse(mine, hdr, sequence, body, len);
	seal(hdr, sequence, body, len, bit);
	free(body);
	return 0;
}
