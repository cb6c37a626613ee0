/*
 * each_name.c - see each_name.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <string.h>

#include "each_name.h"

/* ------------------------------------------------------------------------ find --- */

/* A number of a position, with a sign or without: how many bytes it has; 0: there is none,
 * or it is none. */
static size_t name_position(const char *text, size_t len, int32_t *out)
{
	size_t sign = len && *text == '-', digits = sign;
	int32_t number = 0;

	while (digits < len && text[digits] >= '0' && text[digits] <= '9' &&
	       digits < sign + 9)
		number = number * 10 + (text[digits++] - '0');
	if (digits == sign)
		return 0;
	*out = sign ? -number : number;
	return digits;
}

/* Does the text begin with this name?  Names that begin with a brace can have a position
 * behind it. */
static bool name_begins(const char *name, enum each_name which,
			const char *text, size_t len, struct each_found *out)
{
	size_t whole = strlen(name), digits;

	*out = (struct each_found) { .name = which, .len = whole };
	if (whole && whole <= len && !memcmp(text, name, whole))
		return true;
	if (*name != '{' || which == EACH_SEQ || which == EACH_SLOT || !len ||
	    *text != '{')
		return false;
	digits = name_position(text + 1, len - 1, &out->position);
	out->len += digits;
	return digits && out->len <= len &&
	       !memcmp(text + 1 + digits, name + 1, whole - 1);
}

size_t each_name_find(const struct each_options *o, const char *text,
		      size_t len, struct each_found *out)
{
	for (size_t at = 0; at < len; at++) {
		size_t longest = 0;

		for (int k = 0; k < EACH_NAMES; k++) {
			struct each_found found;

			if (!name_begins(o->names[k], (enum each_name) k,
					 text + at, len - at, &found) ||
			    found.len <= longest)
				continue;
			longest = found.len;
			*out = found;
		}
		if (longest)
			return at;
	}
	return len;
}

/* ----------------------------------------------------------------------- parts --- */

/* Without its directory. */
static struct each_part part_base(struct each_part whole)
{
	const char *slash = memrchr(whole.from, '/', whole.len);

	if (!slash)
		return whole;
	return (struct each_part) {
		.from = slash + 1,
		.len = (size_t) (whole.from + whole.len - slash - 1),
	};
}

/* Without the last point of its base, and what is behind it. */
static struct each_part part_plain(struct each_part whole)
{
	struct each_part base = part_base(whole);
	const char *point = memrchr(base.from, '.', base.len);

	if (point)
		whole.len = (size_t) (point - whole.from);
	return whole;
}

static void part_drop_slashes(struct each_part *part)
{
	while (part->len > 1 && part->from[part->len - 1] == '/')
		part->len--;
}

/* As dirname(3) has it. */
static struct each_part part_dir(struct each_part whole)
{
	const char *slash;

	part_drop_slashes(&whole);
	slash = memrchr(whole.from, '/', whole.len);
	if (!slash)
		return (struct each_part) { ".", 1 };
	whole.len = (size_t) (slash - whole.from) + 1;
	part_drop_slashes(&whole);
	return whole;
}

struct each_part each_name_part(enum each_name name, const char *arg)
{
	struct each_part whole = { arg, strlen(arg) };

	switch (name) {
	case EACH_BASE:
		return part_base(whole);
	case EACH_DIR:
		return part_dir(whole);
	case EACH_PLAIN:
		return part_plain(whole);
	case EACH_BASE_PLAIN:
		return part_plain(part_base(whole));
	default:
		return whole;
	}
}
