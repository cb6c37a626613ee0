/*
 * chunkmap.c - see chunkmap.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "chunkmap.h"
#include "minmax.h"

uint64_t storm_chunkmap_bytes(uint64_t size, uint32_t chunk)
{
	return (size / chunk / 64 + 1) * sizeof(uint64_t);
}

int storm_chunkmap_init(struct storm_chunkmap *m, uint64_t size, uint32_t chunk)
{
	memset(m, 0, sizeof(*m));
	m->size = size;
	m->chunk = chunk;
	m->count = size / chunk + (size % chunk != 0);
	m->bits = calloc(m->count / 64 + 1, sizeof(*m->bits));
	return m->bits ? STORM_OK : STORM_ENOMEM;
}

void storm_chunkmap_free(struct storm_chunkmap *m)
{
	free(m->bits);
	memset(m, 0, sizeof(*m));
}

size_t storm_chunkmap_len(const struct storm_chunkmap *m, uint64_t i)
{
	return storm_min(m->size - i * m->chunk, m->chunk);
}

uint64_t storm_chunkmap_index(const struct storm_chunkmap *m, uint64_t off,
			      size_t len)
{
	uint64_t i = off / m->chunk;

	if (off % m->chunk || i >= m->count || len != storm_chunkmap_len(m, i))
		return m->count;
	return i;
}

bool storm_chunkmap_has(const struct storm_chunkmap *m, uint64_t i)
{
	return m->bits[i / 64] >> (i % 64) & 1;
}

void storm_chunkmap_set(struct storm_chunkmap *m, uint64_t i)
{
	m->bits[i / 64] |= 1ULL << (i % 64);
	m->have++;
	if (i >= m->high)
		m->high = i + 1;
	if (i != m->prefix)
		return;
	while (m->prefix < m->count) {
		if (m->prefix % 64 == 0 && m->bits[m->prefix / 64] == ~0ULL)
			m->prefix += 64;
		else if (storm_chunkmap_has(m, m->prefix))
			m->prefix++;
		else
			break;
	}
	if (m->prefix > m->count)
		m->prefix = m->count;
}

bool storm_chunkmap_full(const struct storm_chunkmap *m)
{
	return m->have == m->count;
}

uint64_t storm_chunkmap_progress(const struct storm_chunkmap *m)
{
	return m->prefix == m->count ? m->size : m->prefix * m->chunk;
}

bool storm_chunkmap_gap(const struct storm_chunkmap *m, uint64_t *from,
			uint64_t below, uint64_t *first, uint64_t *last)
{
	uint64_t i = storm_max(*from, m->prefix);

	if (below > m->count)
		below = m->count;
	while (i < below && storm_chunkmap_has(m, i))
		i++;
	if (i >= below)
		return false;
	*first = i;
	/* the announced size may be far more than will arrive */
	if (below - i > STORM_CHUNKMAP_RUN)
		below = i + STORM_CHUNKMAP_RUN;
	while (i < below && !storm_chunkmap_has(m, i))
		i++;
	*last = i - 1;
	*from = i;
	return true;
}
