/*
 * fuzz_chunkmap.c - which chunks have arrived, beside an array that knows.
 *
 *   u64 size, u16 bytes of a chunk less one, u8 wild, then until the end
 *   {u8 0: u64 offset, u16 length of DATA; else: u16 from, u16 below}
 *
 * wild: the size is taken as it is.  Otherwise there are few chunks, and what
 * is asked for is mostly among them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "fuzz.h"
#include "src/libstorm/base/chunkmap.h"

#define CHUNKS 600

static struct storm_chunkmap m;
static uint8_t there[CHUNKS];

/* In a map of any size: index() returns its place, or that it has none. */
static void wild_data(uint64_t off, size_t len)
{
	uint64_t i = storm_chunkmap_index(&m, off, len);

	must(i <= m.count);
	if (i == m.count)
		return;
	must(i * m.chunk == off && len && len <= m.chunk);
	must(len <= m.size && off <= m.size - len);
	must(len == m.chunk || off + len == m.size);
	must(storm_chunkmap_len(&m, i) == len);
}

static void data_came(uint64_t off, size_t len)
{
	uint64_t i, prefix = 0;

	wild_data(off, len);
	i = storm_chunkmap_index(&m, off, len);
	if (i == m.count)
		return;
	must(storm_chunkmap_has(&m, i) == there[i]);
	if (there[i])
		return;
	there[i] = 1;
	storm_chunkmap_set(&m, i);
	while (prefix < m.count && there[prefix])
		prefix++;
	must(m.prefix == prefix && m.high > i && m.high <= m.count);
	must(storm_chunkmap_full(&m) == (prefix == m.count));
	must(storm_chunkmap_progress(&m) ==
	     (prefix == m.count ? m.size : prefix * m.chunk));
}

/* Every missing one is in a gap, and nothing else is. */
static void gaps(uint64_t from, uint64_t below)
{
	uint64_t at = from, first, last;

	while (storm_chunkmap_gap(&m, &from, below, &first, &last)) {
		must(first >= at && first <= last && last < below &&
		     last < m.count && from > last);
		for (; at < first; at++)
			must(there[at]);
		for (; at <= last; at++)
			must(!there[at]);
	}
	for (; at < below && at < m.count; at++)
		must(there[at]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct storm_in i = { data, data + size, false };
	uint64_t bytes = storm_get64(&i);
	uint32_t chunk = storm_get16(&i) + 1u;
	bool wild = storm_get8(&i);

	if (!wild)
		bytes %= (uint64_t) CHUNKS * chunk;
	if (bytes / chunk > 1u << 22) /* too much for so often */
		return 0;
	must(!storm_chunkmap_init(&m, bytes, chunk));
	memset(there, 0, sizeof(there));
	must(storm_chunkmap_full(&m) == !bytes);
	while (i.p < i.end && !i.bad) {
		if (!storm_get8(&i)) {
			uint64_t off = storm_get64(&i);
			size_t len = storm_get16(&i);

			if (wild)
				wild_data(off, len);
			else
				data_came(off, len);
		} else if (!wild) {
			uint64_t from = storm_get16(&i);

			gaps(from, storm_get16(&i));
		}
	}
	storm_chunkmap_free(&m);
	return 0;
}
