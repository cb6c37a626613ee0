/*
 * pmi1_pairs.c - see pmi1_pairs.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "pmi1.h"
#include "pmi1_pairs.h"

#define SLOTS_FIRST 64

struct pmi1_pair {
	size_t key_len;
	char text[]; /* the key and the value, each with its zero */
};

/* Fowler, Noll and Vo's. */
static size_t pmi1_hash(const char *key)
{
	uint64_t h = 14695981039346656037u;

	for (; *key; key++)
		h = (h ^ (uint8_t) *key) * 1099511628211u;
	return (size_t) (h ^ h >> 32);
}

/* Where the key is, or belongs. */
static size_t pmi1_slot(struct pmi1_pair *const *slot, size_t slots,
			const char *key)
{
	size_t at = pmi1_hash(key) & (slots - 1);

	while (slot[at] && strcmp(slot[at]->text, key) != 0)
		at = (at + 1) & (slots - 1);
	return at;
}

static bool pmi1_pairs_grow(struct pmi1_pairs *p)
{
	size_t slots = p->slots ? 2 * p->slots : SLOTS_FIRST;
	struct pmi1_pair **slot = calloc(slots, sizeof(*slot));

	if (!slot)
		return false;
	for (size_t k = 0; k < p->slots; k++)
		if (p->slot[k])
			slot[pmi1_slot(slot, slots, p->slot[k]->text)] =
				p->slot[k];
	free(p->slot);
	p->slot = slot;
	p->slots = slots;
	return true;
}

bool pmi1_pairs_add(struct pmi1_pairs *p, const char *key, const char *value)
{
	size_t k = strlen(key) + 1, v = strlen(value) + 1, at;
	struct pmi1_pair *pair;

	if (2 * (p->count + 1) > p->slots && !pmi1_pairs_grow(p))
		return false;
	pair = malloc(sizeof(*pair) + k + v);
	if (!pair)
		return false;
	pair->key_len = k;
	memcpy(pair->text, key, k);
	memcpy(pair->text + k, value, v);
	at = pmi1_slot(p->slot, p->slots, key);
	p->count += !p->slot[at];
	p->bytes += k + v;
	if (p->slot[at])
		p->bytes -= p->slot[at]->key_len +
			    strlen(p->slot[at]->text + p->slot[at]->key_len) +
			    1;
	free(p->slot[at]);
	p->slot[at] = pair;
	return true;
}

const char *pmi1_pairs_find(const struct pmi1_pairs *p, const char *key)
{
	const struct pmi1_pair *pair;

	if (!p->slots)
		return NULL;
	pair = p->slot[pmi1_slot(p->slot, p->slots, key)];
	return pair ? pair->text + pair->key_len : NULL;
}

void pmi1_pairs_clear(struct pmi1_pairs *p)
{
	for (size_t k = 0; k < p->slots; k++)
		free(p->slot[k]);
	free(p->slot);
	*p = (struct pmi1_pairs) { 0 };
}

/* The text that begins there, of less than so many bytes; *at is behind it.  NULL: there
 * is none. */
static const char *pmi1_text(const uint8_t *buf, size_t len, size_t *at,
			     size_t size)
{
	const char *text = (const char *) buf + *at;
	size_t n = strnlen(text, len - *at);

	if (n == len - *at || n >= size)
		return NULL;
	*at += n + 1;
	return text;
}

bool pmi1_pairs_add_all(struct pmi1_pairs *p, const uint8_t *buf, size_t len)
{
	for (size_t at = 0; at < len;) {
		const char *key = pmi1_text(buf, len, &at, PMI1_KEY);
		const char *value = key ? pmi1_text(buf, len, &at, PMI1_VALUE) :
					  NULL;

		if (!value || !pmi1_pairs_add(p, key, value))
			return false;
	}
	return true;
}

size_t pmi1_pair_len(const char *key, const char *value)
{
	return strlen(key) + 1 + strlen(value) + 1;
}

bool pmi1_pair_put(uint8_t **buf, size_t *have, size_t *room, const char *key,
		   const char *value)
{
	size_t k = strlen(key) + 1, v = strlen(value) + 1;

	if (!grow_buffer(buf, room, *have + k + v))
		return false;
	memcpy(*buf + *have, key, k);
	memcpy(*buf + *have + k, value, v);
	*have += k + v;
	return true;
}
