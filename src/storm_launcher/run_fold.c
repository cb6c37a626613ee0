/*
 * run_fold.c - see run_fold.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run_fold.h"

/* What waits at most; a line more may have come when it is noticed. */
#define LINES 1024u
#define BYTES (2u << 20)
/* of a line, which has more only where more than 5,000 tasks say it: so a frame has it */
#define RANGES 2500u
#define RANGE_DIGITS 22 /* "4294967295-4294967295," */

struct fold_line {
	struct run_folded said;
	struct fold_line *alike; /* the next one with texts of the same hash */
	uint64_t number, since;
	uint32_t hash, count; /* of ranks */
	size_t bytes;
	uint8_t text[];
};

struct fold_bucket {
	struct fold_line *first, **end;
};

struct run_fold {
	uint32_t first, ranks;
	/* numbers of the first line that is there, and of the next that comes; 0 is
	 * none's */
	uint64_t from, next;
	size_t bytes;
	struct fold_line *line[LINES]; /* by number */
	struct fold_bucket bucket[LINES];
	uint64_t last[]; /* the number of each rank's last line */
};

struct run_fold *run_fold_create(uint32_t first, uint32_t ranks)
{
	struct run_fold *f = calloc(1, sizeof(*f) + ranks * sizeof(f->last[0]));

	if (!f)
		return NULL;
	f->first = first;
	f->ranks = ranks;
	f->from = f->next = 1;
	for (uint32_t k = 0; k < LINES; k++)
		f->bucket[k].end = &f->bucket[k].first;
	return f;
}

void run_fold_destroy(struct run_fold *f)
{
	while (f && f->from < f->next)
		run_fold_drop(f);
	free(f);
}

/* The line of this number, which may have left; NULL: it has, or has not come. */
static struct fold_line *fold_at(const struct run_fold *f, uint64_t number)
{
	return number >= f->from && number < f->next ? f->line[number % LINES] :
						       NULL;
}

/* FNV-1a */
static uint32_t fold_hash(const uint8_t *text, size_t len)
{
	uint32_t h = 2166136261u;

	while (len--)
		h = (h ^ *text++) * 16777619u;
	return h;
}

/* Is it this line, and may another rank join it? */
static bool fold_is(const struct fold_line *l, const uint8_t *text, size_t len,
		    uint32_t hash)
{
	return l->hash == hash && l->said.len == len &&
	       l->said.ranks.count < RANGES && !memcmp(l->said.text, text, len);
}

/* The line that a copy of this rank's joins, or NULL.  Tasks that do the same say their
 * lines one after the other: so the one behind its last is looked at first. */
static struct fold_line *fold_find(const struct run_fold *f, uint32_t rank,
				   const uint8_t *text, size_t len,
				   uint32_t hash)
{
	uint64_t last = f->last[rank - f->first];
	struct fold_line *l = fold_at(f, last >= f->from ? last + 1 : f->from);

	if (l && fold_is(l, text, len, hash))
		return l;
	for (l = f->bucket[hash % LINES].first; l; l = l->alike)
		if (l->number > last && fold_is(l, text, len, hash))
			return l;
	return NULL;
}

static struct fold_line *fold_make(struct run_fold *f, const uint8_t *text,
				   size_t len, uint32_t hash, uint64_t now)
{
	struct fold_bucket *b = &f->bucket[hash % LINES];
	struct fold_line *l = calloc(1, sizeof(*l) + len);

	if (!l)
		return NULL;
	if (len)
		memcpy(l->text, text, len);
	l->said.text = l->text;
	l->said.len = len;
	l->number = f->next++;
	l->since = now;
	l->hash = hash;
	f->line[l->number % LINES] = l;
	*b->end = l;
	b->end = &l->alike;
	return l;
}

/* These ranks, which follow each other, have said it. */
static bool fold_join(struct run_fold *f, struct fold_line *l, uint32_t first,
		      uint32_t last)
{
	size_t before = l->bytes;

	if (storm_idset_add(&l->said.ranks, first, last))
		return false;
	l->count += last - first + 1;
	l->bytes = sizeof(*l) + l->said.len +
		   l->said.ranks.count * sizeof(struct storm_range);
	f->bytes += l->bytes - before;
	for (uint32_t k = first; k <= last; k++)
		f->last[k - f->first] = l->number;
	return true;
}

bool run_fold_add(struct run_fold *f, const struct storm_idset *ranks,
		  const void *text, size_t len, uint64_t now)
{
	uint32_t hash = fold_hash(text, len);
	struct fold_line *fresh = NULL;

	for (uint32_t k = 0; k < ranks->count; k++) {
		uint32_t at = ranks->r[k].first, end = ranks->r[k].last, to;

		for (; at <= end; at = to + 1) {
			struct fold_line *l = fold_find(f, at, text, len, hash);

			for (to = at; to < end && fold_find(f, to + 1, text,
							    len, hash) == l;
			     to++)
				;
			if (!l && !fresh)
				fresh = fold_make(f, text, len, hash, now);
			if (!l)
				l = fresh;
			if (!l || !fold_join(f, l, at, to))
				return false;
		}
	}
	return true;
}

bool run_fold_is_full(const struct run_fold *f)
{
	return f->next - f->from >= LINES - 1 || f->bytes >= BYTES;
}

bool run_fold_has(const struct run_fold *f, uint32_t rank)
{
	return f->last[rank - f->first] >= f->from;
}

uint64_t run_fold_left(const struct run_fold *f, uint64_t now, uint64_t wait)
{
	const struct fold_line *l = fold_at(f, f->from);

	if (!l)
		return UINT64_MAX;
	if (run_fold_is_full(f) || l->count == f->ranks ||
	    now >= l->since + wait)
		return 0;
	return l->since + wait - now;
}

const struct run_folded *run_fold_first(const struct run_fold *f)
{
	const struct fold_line *l = fold_at(f, f->from);

	return l ? &l->said : NULL;
}

/* The oldest of all is the oldest of its bucket. */
void run_fold_drop(struct run_fold *f)
{
	struct fold_line *l = fold_at(f, f->from);
	struct fold_bucket *b;

	if (!l)
		return;
	b = &f->bucket[l->hash % LINES];
	b->first = l->alike;
	if (!b->first)
		b->end = &b->first;
	f->from++;
	f->bytes -= l->bytes;
	storm_idset_clear(&l->said.ranks);
	free(l);
}

char *run_folded_text(const struct run_folded *line, uint8_t fd, size_t *len)
{
	size_t size = (size_t) line->ranks.count * RANGE_DIGITS + line->len +
		      sizeof("?[]: \n");
	char *text = malloc(size);
	size_t n = 0;

	if (!text)
		return NULL;
	text[n++] = (char) fd;
	for (uint32_t k = 0; k < line->ranks.count; k++) {
		const struct storm_range *r = &line->ranks.r[k];

		n += (size_t) snprintf(text + n, size - n, "%c%u",
				       k ? ',' : '[', r->first);
		if (r->last > r->first)
			n += (size_t) snprintf(text + n, size - n, "-%u",
					       r->last);
	}
	n += (size_t) snprintf(text + n, size - n, "]: ");
	memcpy(text + n, line->text, line->len);
	n += line->len;
	text[n++] = '\n';
	*len = n;
	return text;
}
