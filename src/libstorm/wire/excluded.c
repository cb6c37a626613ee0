/*
 * excluded.c - see excluded.h.  The length of each part follows from the number
 * of nodes and the number of parts, so a part has one valid length.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "cast.h"
#include "excluded.h"
#include "src/libstorm/base/minmax.h"

static size_t excluded_bytes(uint32_t count)
{
	return ((size_t) count + 7) / 8;
}

/* All parts but the last have this length. */
static size_t excluded_each(uint32_t count, uint16_t parts)
{
	return (excluded_bytes(count) + parts - 1) / parts;
}

uint16_t storm_excluded_parts(uint32_t count, size_t max)
{
	size_t bytes = excluded_bytes(count), each;

	max -= STORM_EXCLUDED_HEADER;
	each = excluded_each(count, (uint16_t) ((bytes + max - 1) / max));
	return (uint16_t) ((bytes + each - 1) / each);
}

/* The bytes of the bitmap from at on. */
static void excluded_fill(uint8_t *p, size_t at, size_t len,
			  const struct storm_idset *out)
{
	uint64_t from = (uint64_t) at * 8, end = from + (uint64_t) len * 8;

	memset(p, 0, len);
	for (uint32_t i = 0; i < out->count; i++)
		for (uint64_t n = storm_max(out->r[i].first, from);
		     n <= out->r[i].last && n < end; n++)
			p[(n - from) / 8] |= (uint8_t) (0x80u >> n % 8);
}

size_t storm_excluded_pack(const struct storm_idset *out, uint32_t count,
			   uint16_t part, uint16_t parts, uint8_t *buf)
{
	size_t each = excluded_each(count, parts), at = part * each;
	size_t len = storm_min(each, excluded_bytes(count) - at);
	struct storm_out o = { buf, buf + STORM_EXCLUDED_HEADER, false };

	storm_put8(&o, STORM_CAST_EXCLUDED);
	storm_put16(&o, part);
	storm_put16(&o, parts);
	excluded_fill(o.p, at, len, out);
	return STORM_EXCLUDED_HEADER + len;
}

/* No node behind the last one is in it. */
static bool excluded_ends(const uint8_t *p, size_t len, uint32_t count)
{
	return !(count % 8) || !(uint8_t) (p[len - 1] << count % 8);
}

int storm_excluded_take(struct storm_excluded *x, const uint8_t *buf,
			size_t len, uint32_t count)
{
	struct storm_in i = { buf, buf + len, false };
	uint16_t part = storm_get16(&i), parts = storm_get16(&i);
	size_t bytes = excluded_bytes(count), each, at, n;

	if (i.bad || part >= parts || parts > STORM_EXCLUDED_PARTS)
		return -1;
	each = excluded_each(count, parts);
	at = part * each;
	n = (size_t) (i.end - i.p);
	if (each * (parts - 1u) >= bytes || n != storm_min(each, bytes - at) ||
	    (part + 1 == parts && !excluded_ends(i.p, n, count)))
		return -1;
	if (x->parts != parts) { /* the owner has another MTU now */
		storm_excluded_free(x);
		x->bits = calloc(1, bytes);
		if (!x->bits)
			return -1;
		x->parts = parts;
	}
	memcpy(x->bits + at, i.p, n);
	x->have |= 1u << part;
	return part;
}

bool storm_excluded_whole(const struct storm_excluded *x)
{
	return x->parts &&
	       x->have == UINT32_MAX >> (STORM_EXCLUDED_PARTS - x->parts);
}

int storm_excluded_set(const struct storm_excluded *x, uint32_t count,
		       struct storm_idset *out)
{
	for (uint32_t n = 0; n < count; n++) {
		uint32_t first = n;

		if (!x->bits[n / 8]) {
			n |= 7; /* few are excluded */
			continue;
		}
		while (n < count && x->bits[n / 8] & 0x80u >> n % 8)
			n++;
		if (n > first && storm_idset_add(out, first, n - 1))
			return STORM_ENOMEM;
	}
	return STORM_OK;
}

void storm_excluded_free(struct storm_excluded *x)
{
	free(x->bits);
	memset(x, 0, sizeof(*x));
}
