/*
 * stack_set.c - see stack_set.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "src/libstorm/base/idset.h"
#include "stack_set.h"

#define FIRST_SLOTS 64
#define RANGE_BYTES sizeof(struct storm_range)

/* FNV-1a, of 64 bits; the end of a word counts. */
static uint64_t stack_hash_word(uint64_t h, const char *word)
{
	do {
		h ^= (uint8_t) *word;
		h *= UINT64_C(0x100000001b3);
	} while (*word++);
	return h;
}

uint64_t stack_hash(enum stack_kind kind, const char *label,
		    const char *program, const char *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325) ^ (uint64_t) kind;

	h = stack_hash_word(h, label);
	h = stack_hash_word(h, program);
	return stack_hash_word(h, text);
}

bool stack_is_rankless(const struct storm_idset *ranks)
{
	return storm_idset_has(ranks, STACK_NO_RANK);
}

static bool stack_is(const struct stack_one *one, uint64_t hash,
		     const struct stack_rec *rec)
{
	return one->hash == hash && one->kind == rec->kind &&
	       stack_is_rankless(&one->ranks) ==
		       stack_is_rankless(&rec->ranks) &&
	       !strcmp(one->label, rec->label) &&
	       !strcmp(one->program, rec->program) &&
	       !strcmp(one->text, rec->text);
}

/* Room for one more, and slots for all. */
static bool stack_set_grow(struct stack_set *s)
{
	uint32_t nslots = s->nslots ? 2 * s->nslots : FIRST_SLOTS;
	struct stack_one **slots, **all;

	if (s->count < s->room)
		return true;
	all = realloc(s->all, nslots * sizeof(void *));
	if (!all)
		return false;
	s->all = all;
	slots = calloc(nslots, sizeof(void *));
	if (!slots)
		return false;
	for (uint32_t i = 0; i < s->count; i++) {
		struct stack_one **at = &slots[all[i]->hash & (nslots - 1)];

		all[i]->next = *at;
		*at = all[i];
	}
	free(s->slots);
	s->slots = slots;
	s->nslots = s->room = nslots;
	return true;
}

static struct stack_one *stack_set_make(struct stack_set *s, uint64_t hash,
					const struct stack_rec *rec)
{
	size_t label = strlen(rec->label) + 1;
	size_t program = strlen(rec->program) + 1;
	size_t text = strlen(rec->text) + 1;
	struct stack_one *one;
	char *to;

	if (!stack_set_grow(s))
		return NULL;
	one = calloc(1, sizeof(*one) + label + program + text);
	if (!one)
		return NULL;
	to = (char *) (one + 1);
	one->label = memcpy(to, rec->label, label);
	one->program = memcpy(to + label, rec->program, program);
	one->text = memcpy(to + label + program, rec->text, text);
	one->kind = rec->kind;
	one->hash = hash;
	one->next = s->slots[hash & (s->nslots - 1)];
	s->slots[hash & (s->nslots - 1)] = one;
	s->all[s->count++] = one;
	s->bytes += sizeof(*one) + label + program + text;
	return one;
}

int stack_set_keep(struct stack_set *s, const struct stack_rec *rec,
		   const struct stack_one **kept)
{
	uint64_t hash =
		stack_hash(rec->kind, rec->label, rec->program, rec->text);
	struct stack_one *one = s->nslots ? s->slots[hash & (s->nslots - 1)] :
					    NULL;
	size_t before;

	*kept = NULL;
	while (one && !stack_is(one, hash, rec))
		one = one->next;
	if (s->bytes >= STACK_ALL) {
		/* ranges of a stack that is there take room, too */
		if (!one ||
		    one->ranks.count + rec->ranks.count > one->ranks.room) {
			s->over += rec->count;
			return STORM_OK;
		}
	}
	if (!one && !(one = stack_set_make(s, hash, rec)))
		return STORM_ENOMEM;
	before = one->ranks.room;
	one->count += rec->count;
	*kept = one;
	if (storm_idset_union(&one->ranks, &rec->ranks))
		return STORM_ENOMEM;
	s->bytes += (one->ranks.room - before) * RANGE_BYTES;
	return STORM_OK;
}

int stack_set_add(struct stack_set *s, const struct stack_rec *rec)
{
	const struct stack_one *kept;

	return stack_set_keep(s, rec, &kept);
}

int stack_set_join(struct stack_set *to, const struct stack_set *from)
{
	static struct stack_rec rec; /* large */
	int err = STORM_OK;

	for (uint32_t i = 0; i < from->count && !err; i++) {
		const struct stack_one *one = from->all[i];

		rec.kind = one->kind;
		strcpy(rec.label, one->label);
		strcpy(rec.program, one->program);
		strcpy(rec.text, one->text);
		rec.count = one->count;
		rec.ranks = one->ranks;
		err = stack_set_add(to, &rec);
	}
	to->over += from->over;
	return err;
}

uint64_t stack_set_threads(const struct stack_set *s)
{
	uint64_t n = s->over;

	for (uint32_t i = 0; i < s->count; i++)
		n += s->all[i]->count;
	return n;
}

static int stack_order(const void *va, const void *vb)
{
	const struct stack_one *a = *(struct stack_one *const *) va;
	const struct stack_one *b = *(struct stack_one *const *) vb;
	static const char kinds[] = { STACK_MAIN, STACK_THREAD, STACK_FAULT,
				      '\0' };
	int d = strcmp(a->label, b->label);

	if (!d && a->kind != b->kind)
		d = strchr(kinds, (int) a->kind) <
				    strchr(kinds, (int) b->kind) ?
			    -1 :
			    1;
	if (!d && a->count != b->count)
		d = a->count > b->count ? -1 : 1;
	if (!d)
		d = strcmp(a->program, b->program);
	if (!d)
		d = strcmp(a->text, b->text);
	return d ? d :
		   stack_is_rankless(&a->ranks) - stack_is_rankless(&b->ranks);
}

void stack_set_sort(struct stack_set *s)
{
	if (s->count)
		qsort(s->all, s->count, sizeof(struct stack_one *),
		      stack_order);
}

void stack_set_clear(struct stack_set *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		storm_idset_clear(&s->all[i]->ranks);
		free(s->all[i]);
	}
	free(s->all);
	free(s->slots);
	memset(s, 0, sizeof(*s));
}
