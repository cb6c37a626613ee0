/*
 * each_product.c - see each_product.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "each_items.h"
#include "each_options.h"
#include "each_product.h"

struct each_stream {
	struct each_items items;
	bool leads; /* it is the first of its group */
	bool ended, had_one;
	/* what is kept of it, for it comes again */
	char **kept;
	size_t kept_count, kept_room;
};

struct each_product {
	const struct each_options *o;
	struct each_stream *source;
	size_t count;
	char **value; /* of the combination; those of the first group are ours */
	size_t *at;   /* of each group's first source: which value it has */
	size_t *length; /* of that group */
	bool begun, over;
};

/* ------------------------------------------------------------------------ open --- */

static bool product_add(struct each_product *p, bool linked)
{
	struct each_stream *more =
		reallocarray(p->source, p->count + 1, sizeof(*more));

	if (!more) {
		run_say("no memory");
		return false;
	}
	p->source = more;
	more[p->count] = (struct each_stream) { .leads = !linked || !p->count };
	p->count++;
	return true;
}

/* Each file is a source; words together are one. */
static bool product_input(struct each_product *p, const struct each_input *in)
{
	for (size_t k = 0; k < (in->files ? in->count : 1); k++) {
		struct each_stream *s;

		if (!product_add(p, in->linked || p->o->link))
			return false;
		s = &p->source[p->count - 1];
		if (!in->files)
			each_items_of_words(&s->items, p->o, in->words,
					    in->count);
		else if (!each_items_of_file(&s->items, p->o, in->words[k]))
			return false;
	}
	return true;
}

struct each_product *each_product_open(const struct each_options *o)
{
	static char *const from_stdin[] = { (char *) "-" };
	const struct each_input lines = { true, false, from_stdin, 1 };
	struct each_product *p = calloc(1, sizeof(*p));
	bool fine = p != NULL;

	if (!p) {
		run_say("no memory");
		return NULL;
	}
	p->o = o;
	for (size_t k = 0; fine && k < o->input_count; k++)
		fine = product_input(p, &o->inputs[k]);
	if (fine && !o->input_count)
		fine = product_input(p, &lines);
	if (fine) {
		p->value = calloc(p->count + 1, sizeof(*p->value));
		p->at = calloc(p->count + 1, sizeof(*p->at));
		p->length = calloc(p->count + 1, sizeof(*p->length));
		fine = p->value && p->at && p->length;
		if (!fine)
			run_say("no memory");
	}
	if (fine)
		return p;
	each_product_close(p);
	return NULL;
}

void each_product_close(struct each_product *p)
{
	if (!p)
		return;
	for (size_t k = 0; k < p->count; k++) {
		struct each_stream *s = &p->source[k];

		for (size_t i = 0; i < s->kept_count; i++)
			free(s->kept[i]);
		free(s->kept);
		each_items_close(&s->items);
	}
	free(p->source);
	free(p->value);
	free(p->at);
	free(p->length);
	free(p);
}

size_t each_product_width(const struct each_product *p)
{
	return p->count;
}

/* ------------------------------------------------------------------------ read --- */

/* A source that has nothing has one empty value, beside others. */
static int source_next(struct each_product *p, struct each_stream *s,
		       char **value)
{
	int is = s->ended ? 0 : each_items_next(&s->items, value);

	if (!is && !s->had_one && p->count > 1) {
		*value = strdup("");
		is = *value ? 1 : -1;
	}
	s->ended = is < 1;
	s->had_one |= is > 0;
	return is;
}

static bool source_keep(struct each_stream *s, char *value)
{
	if (s->kept_count == s->kept_room) {
		size_t room = s->kept_room ? 2 * s->kept_room : 16;
		char **more = reallocarray(s->kept, room, sizeof(*more));

		if (!more) {
			free(value);
			run_say("no memory");
			return false;
		}
		s->kept = more;
		s->kept_room = room;
	}
	s->kept[s->kept_count++] = value;
	return true;
}

/* Behind the last source of the group that begins here. */
static size_t group_end(const struct each_product *p, size_t first)
{
	size_t k = first + 1;

	while (k < p->count && !p->source[k].leads)
		k++;
	return k;
}

/* All values of a group that is not the first: as many as its shortest source has. */
static int group_load(struct each_product *p, size_t first, size_t end)
{
	for (;;) {
		for (size_t k = first; k < end; k++) {
			char *value;
			int is = source_next(p, &p->source[k], &value);

			if (is < 1)
				return is;
			if (!source_keep(&p->source[k], value))
				return -1;
		}
		p->length[first]++;
	}
}

/* The first group's next values. */
static int group_read(struct each_product *p, size_t end)
{
	for (size_t k = 0; k < end; k++) {
		char *value;
		int is = source_next(p, &p->source[k], &value);
		struct each_stream *s = &p->source[k];

		if (is < 1)
			return is;
		/* the one before is not needed any more */
		if (s->kept_count)
			free(s->kept[--s->kept_count]);
		if (!source_keep(s, value))
			return -1;
		p->value[k] = value;
	}
	return 1;
}

/* --link: one group, in which shorter sources begin again. */
static int link_read(struct each_product *p)
{
	bool one = false;

	for (size_t k = 0; k < p->count; k++) {
		struct each_stream *s = &p->source[k];
		char *value;
		int is = source_next(p, s, &value);

		if (is < 0 || (is && !source_keep(s, value)))
			return -1;
		one |= is > 0;
	}
	for (size_t k = 0; one && k < p->count; k++) {
		struct each_stream *s = &p->source[k];

		p->value[k] = s->kept[p->at[0] % s->kept_count];
	}
	p->at[0]++;
	return one;
}

/* The next combination of the groups behind the first.  False: they begin again. */
static bool product_turn(struct each_product *p, size_t first_end)
{
	for (size_t k = p->count; k-- > first_end;) {
		if (!p->source[k].leads)
			continue;
		if (++p->at[k] < p->length[k])
			return true;
		p->at[k] = 0;
	}
	return false;
}

static int product_begin(struct each_product *p, size_t first_end)
{
	for (size_t k = first_end; k < p->count; k = group_end(p, k)) {
		if (group_load(p, k, group_end(p, k)) < 0)
			return -1;
		p->over |= !p->length[k];
	}
	p->begun = true;
	return p->over ? 0 : group_read(p, first_end);
}

int each_product_next(struct each_product *p, char *const **values)
{
	size_t first_end = group_end(p, 0);
	size_t leader = first_end;
	int is = 1;

	*values = p->value;
	if (p->over)
		return 0;
	if (p->o->link)
		is = link_read(p);
	else if (!p->begun)
		is = product_begin(p, first_end);
	else if (!product_turn(p, first_end))
		is = group_read(p, first_end);
	p->over = is < 1;
	for (size_t k = first_end; is > 0 && k < p->count; k++) {
		if (p->source[k].leads)
			leader = k;
		p->value[k] = p->source[k].kept[p->at[leader]];
	}
	return is;
}

/* ----------------------------------------------------------------------- count --- */

static uint64_t words_count(const struct each_options *o,
			    const struct each_items *it, bool alone)
{
	uint64_t count = it->count;

	for (size_t k = 0; k < it->count; k++)
		for (const char *at = it->words[k];
		     *o->delimiter && (at = strstr(at, o->delimiter));
		     at += o->delimiter_len)
			count++;
	return count || alone ? count : 1;
}

uint64_t each_product_total(const struct each_product *p)
{
	uint64_t total = 1, group = 0;

	for (size_t k = 0; k < p->count; k++) {
		const struct each_stream *s = &p->source[k];
		uint64_t count = words_count(p->o, &s->items, p->count == 1);

		if (s->items.in || p->o->no_empty)
			return 0;
		if (s->leads) {
			total *= k ? group : 1;
			group = count;
		} else if (p->o->link ? count > group : count < group) {
			group = count;
		}
	}
	return total * group;
}
