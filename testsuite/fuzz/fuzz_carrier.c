/*
 * fuzz_carrier.c - what the other end of a carrier sends: bytes without the key, and
 * records of one that has it, a program of the same user that keeps no rule.
 *
 *   u8 which end it is; {u8 what, u8 channel, u16 length, bytes} until the end
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "fuzz.h"
#include "src/libstorm/base/minmax.h"
#include "src/storm_launcher/carrier.h"

#define STEPS 200

static const uint8_t key[STORM_KEY_LEN], one[SEALED_RANDOM], two[SEALED_RANDOM];

static struct sealed *sealed_of(bool calls)
{
	const struct sealed_form f = { SEALED_DOOR, key, one, two, calls, 3 };
	struct sealed *s = sealed_create(&f);

	must(s);
	return s;
}

/* Bytes for the carrier, as far as there is room for them. */
static void come(struct carrier *c, const uint8_t *buf, size_t len)
{
	while (len && !carrier_fault(c)) {
		size_t room, n;
		uint8_t *to = carrier_room(c, &room);

		must(room); /* a record that is whole was taken */
		n = storm_min(len, room);
		memcpy(to, buf, n);
		carrier_came(c, n);
		buf += n;
		len -= n;
	}
}

static void come_sealed(struct carrier *c, struct sealed *s, const uint8_t *buf,
			size_t len)
{
	uint8_t *out = malloc(len + SEALED_EXTRA);

	must(out);
	if (sealed_put(s, buf, len, out))
		come(c, out, len + SEALED_EXTRA);
	free(out);
}

/* What is there of a channel keeps its bounds. */
static void use(struct carrier *c, uint32_t channel, size_t n)
{
	size_t len;
	const uint8_t *p = carrier_data(c, channel, &len);

	must(len <= CARRIER_WINDOW && (p || !len));
	for (size_t k = 0; k < len; k += 100)
		must(p[k] <= 255);
	carrier_used(c, channel, storm_min(n, len));
}

static void act(struct carrier *c, struct sealed *s, struct storm_in *i)
{
	uint8_t what = storm_get8(i), channel = storm_get8(i);
	size_t len, n;
	uint8_t *buf = some(i, SEALED_MAX, &len);
	uint32_t news;

	if (what % 8 < 3)
		come_sealed(c, s, buf, len);
	else if (what % 8 == 3)
		come(c, buf, len);
	else if (what % 8 == 4)
		must(carrier_put(c, channel, buf, len) <= len);
	else if (what % 8 == 5)
		use(c, channel, len);
	else if (what % 8 == 6)
		carrier_close(c, channel);
	else
		carrier_open(c);
	while (carrier_next(c, &news))
		use(c, news, what & 8 ? SIZE_MAX : 0);
	carrier_out(c, &n);
	carrier_sent(c, what & 16 ? n : n / 2);
	free(buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct storm_in i = { data, data + size, false };
	bool opens = storm_get8(&i) & 1;
	struct sealed *s = sealed_of(!opens);
	struct carrier *c = carrier_create(sealed_of(opens), opens);

	must(c);
	for (int n = 0; n < STEPS && i.p < i.end; n++)
		act(c, s, &i);
	carrier_destroy(c);
	sealed_destroy(s);
	return 0;
}
