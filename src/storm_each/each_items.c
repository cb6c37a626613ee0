/*
 * each_items.c - see each_items.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "each_items.h"
#include "each_options.h"

void each_items_of_words(struct each_items *it, const struct each_options *o,
			 char *const *words, size_t count)
{
	*it = (struct each_items) { .o = o, .words = words, .count = count };
}

bool each_items_of_file(struct each_items *it, const struct each_options *o,
			const char *path)
{
	*it = (struct each_items) { .o = o, .path = path };
	it->in = strcmp(path, "-") != 0 ? fopen(path, "re") : stdin;
	if (!it->in)
		run_say("cannot open %s: %s", path, strerror(errno));
	return it->in != NULL;
}

/* ------------------------------------------------------------------------- cut --- */

/* A word is an item, or several if a delimiter is in it. */
static char *items_word(struct each_items *it)
{
	const char *word = it->rest ? it->rest : it->words[it->at++];
	/* a NUL byte, which ends an empty text, is in none */
	const char *end = *it->o->delimiter ? strstr(word, it->o->delimiter) :
					      NULL;

	it->rest = end ? end + it->o->delimiter_len : NULL;
	return end ? strndup(word, (size_t) (end - word)) : strdup(word);
}

/* What was read ends with the delimiter: without that. */
static size_t items_cut(const struct each_items *it, const char *bytes,
			size_t len)
{
	size_t want = it->o->delimiter_len;

	if (len >= want && !memcmp(bytes + len - want, it->o->delimiter, want))
		len -= want;
	return len;
}

/* Up to a delimiter of one byte: 1 and the length; 0 at the end, or for an error. */
static int items_read(struct each_items *it, size_t *len)
{
	ssize_t n = getdelim(&it->buffer, &it->room,
			     (unsigned char) *it->o->delimiter, it->in);

	if (n < 0 || !it->buffer)
		return 0;
	*len = items_cut(it, it->buffer, (size_t) n);
	return 1;
}

/* Up to a longer one: pieces up to its last byte, until one of them ends with all of
 * it. */
static int items_read_long(struct each_items *it, size_t *len)
{
	char last = it->o->delimiter[it->o->delimiter_len - 1];
	size_t all = 0, cut = 0;

	while (cut == all) {
		ssize_t n = getdelim(&it->piece, &it->piece_room,
				     (unsigned char) last, it->in);
		char *more = it->buffer;

		if (n <= 0 || !it->piece)
			break;
		if (it->room < all + (size_t) n) {
			it->room = 2 * (all + (size_t) n);
			more = realloc(it->buffer, it->room);
		}
		if (!more) {
			it->room = 0;
			free(it->buffer);
			it->buffer = NULL;
			return 0;
		}
		it->buffer = more;
		memcpy(more + all, it->piece, (size_t) n);
		all += (size_t) n;
		cut = items_cut(it, more, all);
	}
	*len = cut;
	return all > 0;
}

/* A copy; a NUL byte cannot be in an argument, and is told by a backslash and a zero. */
static char *items_copy(const char *bytes, size_t len)
{
	static bool said;
	size_t zeros = 0, to = 0;
	char *copy;

	for (size_t k = 0; k < len; k++)
		zeros += !bytes[k];
	copy = malloc(len + zeros + 1);
	if (!copy)
		return NULL;
	for (size_t k = 0; k < len; k++) {
		copy[to++] = bytes[k] ? bytes[k] : '\\';
		if (!bytes[k])
			copy[to++] = '0';
	}
	copy[to] = '\0';
	if (zeros && !said)
		run_say("a NUL byte in the input is \\0 in the argument: -0 makes it the end of one");
	said |= zeros > 0;
	return copy;
}

static int items_file_next(struct each_items *it, char **item)
{
	size_t len = 0;

	if (it->o->delimiter_len == 1 ? items_read(it, &len) :
					items_read_long(it, &len)) {
		*item = items_copy(it->buffer, len);
		return 1;
	}
	if (!ferror(it->in) && feof(it->in))
		return 0;
	run_say("cannot read %s: %s", it->path, strerror(errno));
	return -1;
}

/* ------------------------------------------------------------------------ items --- */

static bool is_white(char c)
{
	return c && strchr(" \t\n\r\f\v", c);
}

char *each_trimmed(const struct each_options *o, const char *text, size_t len)
{
	while (o->trim_right && len && is_white(text[len - 1]))
		len--;
	while (o->trim_left && len && is_white(*text)) {
		text++;
		len--;
	}
	return strndup(text, len);
}

static bool is_empty(const char *text)
{
	while (is_white(*text))
		text++;
	return !*text;
}

int each_items_next(struct each_items *it, char **item)
{
	for (;;) {
		int is = 1;

		*item = NULL;
		if (it->in)
			is = items_file_next(it, item);
		else if (it->rest || it->at < it->count)
			*item = items_word(it);
		else
			is = 0;
		if (is < 1)
			return is;
		if (!*item) {
			run_say("no memory");
			return -1;
		}
		if (!it->o->no_empty || !is_empty(*item))
			return 1;
		free(*item);
	}
}

void each_items_close(struct each_items *it)
{
	if (it->in && it->in != stdin)
		fclose(it->in);
	free(it->buffer);
	free(it->piece);
	*it = (struct each_items) { 0 };
}
