/*
 * run_names.c - see run_names.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run_names.h"
#include "src/libstorm/base/idset.h"

/* Names that a list may have, also those that the job does not have: it is a user's, but
 * nobody waits for a head that reads n[1-99999999]. */
#define NAMES_MAX (2u * STORM_NODES_MAX)
#define DIGITS_MAX 9

/* ------------------------------------------------------------------- reading --- */

struct run_named {
	const char *name;
	uint32_t node;
};

struct run_names {
	uint32_t left;
	const char *why;
	/* takes a name; false: it has said why not */
	bool (*take)(struct run_names *r, const char *name);
	/* of run_names_read() */
	struct run_named *sorted;
	uint32_t count;
	struct storm_idset *out;
	char (*unknown)[STORM_NAME_MAX + 1];
	/* of run_names_each() */
	bool (*one)(void *arg, const char *name);
	void *arg;
};

static int run_named_order(const void *a, const void *b)
{
	return strcmp(((const struct run_named *) a)->name,
		      ((const struct run_named *) b)->name);
}

static bool run_names_fail(struct run_names *r, const char *why)
{
	r->why = why;
	return false;
}

static bool run_names_one(struct run_names *r, const char *name)
{
	if (!*name || strpbrk(name, "]/ ="))
		return run_names_fail(r, "it is no list of names");
	if (!r->left--)
		return run_names_fail(r, "it has too many names");
	return r->take(r, name);
}

static bool run_names_find(struct run_names *r, const char *name)
{
	struct run_named key = { .name = name }, *found;

	found = bsearch(&key, r->sorted, r->count, sizeof(key),
			run_named_order);
	if (found && storm_idset_add(r->out, found->node, found->node))
		return run_names_fail(r, "there is no memory");
	if (!found && r->unknown && !**r->unknown)
		snprintf(*r->unknown, sizeof(*r->unknown), "%s", name);
	return true;
}

static bool run_names_digits(const char **at, unsigned long *out, int *width)
{
	size_t n = strspn(*at, "0123456789");

	if (!n || n > DIGITS_MAX)
		return false;
	*out = strtoul(*at, NULL, 10);
	*width = (int) n;
	*at += n;
	return true;
}

static bool run_names_item(struct run_names *r, const char *item);

/* The names of n[1-3,7]x: open is its bracket. */
static bool run_names_ranges(struct run_names *r, const char *item,
			     const char *open)
{
	const char *close = strchr(open, ']'), *at = open + 1;
	char name[STORM_NAME_MAX + 1];

	while (close && at < close) {
		unsigned long first, last;
		int width, ignored;

		if (!run_names_digits(&at, &first, &width))
			break;
		last = first;
		if (*at == '-') {
			at++;
			if (!run_names_digits(&at, &last, &ignored))
				break;
		}
		if (last < first || (at != close && *at != ','))
			break;
		at++;
		for (; first <= last; first++) {
			int n = snprintf(name, sizeof(name), "%.*s%0*lu%s",
					 (int) (open - item), item, width,
					 first, close + 1);

			if (n < 0 || (size_t) n >= sizeof(name))
				return run_names_fail(r, "a name is too long");
			if (!run_names_item(r, name))
				return false;
		}
		if (at > close)
			return true;
	}
	return run_names_fail(r, "it is no list of names");
}

/* Up to a comma that is in no bracket. */
static bool run_names_item(struct run_names *r, const char *item)
{
	const char *open = strchr(item, '[');

	return open ? run_names_ranges(r, item, open) : run_names_one(r, item);
}

static bool run_names_items(struct run_names *r, const char *list)
{
	char item[STORM_NAME_MAX + 1];

	for (;;) {
		size_t n = 0;

		while (list[n] && list[n] != ',')
			n += list[n] == '[' ? strcspn(list + n, "]") : 1;
		if (n >= sizeof(item))
			return run_names_fail(r, "a name is too long");
		memcpy(item, list, n);
		item[n] = '\0';
		if (!run_names_item(r, item))
			return false;
		if (!list[n])
			return true;
		list += n + 1;
	}
}

static bool run_names_give(struct run_names *r, const char *name)
{
	return r->one(r->arg, name);
}

bool run_names_each(const char *list, bool (*one)(void *arg, const char *name),
		    void *arg)
{
	struct run_names r = { .left = NAMES_MAX,
			       .take = run_names_give,
			       .one = one,
			       .arg = arg };

	return run_names_items(&r, list);
}

bool run_names_read(const char *list, const struct storm_node *nodes,
		    uint32_t count, struct storm_idset *out,
		    char (*unknown)[STORM_NAME_MAX + 1], const char **why)
{
	struct run_names r = { .sorted = calloc(count, sizeof(*r.sorted)),
			       .count = count,
			       .left = NAMES_MAX,
			       .take = run_names_find,
			       .out = out,
			       .unknown = unknown };
	bool good;

	if (unknown)
		**unknown = '\0';
	for (uint32_t k = 0; r.sorted && k < count; k++)
		r.sorted[k] = (struct run_named) { nodes[k].name, k };
	if (r.sorted)
		qsort(r.sorted, count, sizeof(*r.sorted), run_named_order);
	good = r.sorted ? run_names_items(&r, list) :
			  run_names_fail(&r, "there is no memory");
	free(r.sorted);
	*why = r.why;
	if (!good)
		storm_idset_clear(out);
	return good;
}

/* ------------------------------------------------------------------- writing --- */

/* A name is a begin and a number, or no number. */
struct run_split {
	size_t begin; /* its length */
	int width;    /* of the number; 0: there is none */
	unsigned long number;
};

static struct run_split run_split_name(const char *name)
{
	struct run_split s = { .begin = strlen(name) };

	while (s.begin && s.width < DIGITS_MAX && name[s.begin - 1] >= '0' &&
	       name[s.begin - 1] <= '9') {
		s.begin--;
		s.width++;
	}
	if (s.width)
		s.number = strtoul(name + s.begin, NULL, 10);
	return s;
}

/* Is b the name behind a in a range that begins with a number of this width? */
static bool run_split_next(const char *a, const char *b, int width)
{
	struct run_split x = run_split_name(a), y = run_split_name(b);
	char number[DIGITS_MAX + 2];

	if (!x.width || !y.width || x.begin != y.begin ||
	    strncmp(a, b, x.begin) || y.number != x.number + 1)
		return false;
	snprintf(number, sizeof(number), "%0*lu", width, y.number);
	return !strcmp(number, b + y.begin);
}

static bool run_split_alike(const char *a, const char *b)
{
	struct run_split x = run_split_name(a), y = run_split_name(b);

	return x.width && y.width && x.begin == y.begin &&
	       !strncmp(a, b, x.begin);
}

/* Those of one begin, n[1-3,7]; how many. */
static uint32_t run_text_group(FILE *f, const char **name, uint32_t left)
{
	struct run_split s = run_split_name(*name);
	uint32_t n = 1, k = 0;

	while (n < left && run_split_alike(*name, name[n]))
		n++;
	if (n == 1) {
		fputs(*name, f);
		return 1;
	}
	fprintf(f, "%.*s[", (int) s.begin, *name);
	while (k < n) {
		uint32_t last = k;
		int width = run_split_name(name[k]).width;

		while (last + 1 < n &&
		       run_split_next(name[last], name[last + 1], width))
			last++;
		fprintf(f, "%s%s", k ? "," : "", name[k] + s.begin);
		if (last > k)
			fprintf(f, "-%s", name[last] + s.begin);
		k = last + 1;
	}
	fputc(']', f);
	return n;
}

/* The text, unless something failed. */
static char *run_text_close(FILE *f, char **text)
{
	bool bad = ferror(f);

	if (!fclose(f) && !bad)
		return *text;
	free(*text);
	return NULL;
}

char *run_names_text(const struct storm_node *nodes,
		     const struct storm_idset *set)
{
	uint32_t n = (uint32_t) storm_idset_size(set), at = 0;
	const char **name = calloc(n ? n : 1, sizeof(*name));
	char *text = NULL;
	size_t len;
	FILE *f = name ? open_memstream(&text, &len) : NULL;

	for (uint32_t k = 0; f && k < set->count; k++)
		for (uint32_t i = set->r[k].first; i <= set->r[k].last; i++)
			name[at++] = nodes[i].name;
	for (uint32_t k = 0; f && k < at;) {
		if (k)
			fputc(',', f);
		k += run_text_group(f, name + k, at - k);
	}
	free(name);
	return f ? run_text_close(f, &text) : NULL;
}

char *run_counts_text(const uint32_t *rank, uint32_t nodes)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	for (uint32_t k = 0, n; k < nodes; k += n) {
		uint32_t each = rank[k + 1] - rank[k];

		for (n = 1;
		     k + n < nodes && rank[k + n + 1] - rank[k + n] == each;)
			n++;
		fprintf(f, n > 1 ? "%s%u(x%u)" : "%s%u", k ? "," : "", each, n);
	}
	return run_text_close(f, &text);
}
