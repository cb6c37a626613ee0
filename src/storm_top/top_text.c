/*
 * top_text.c - see top_text.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/libstorm/base/shown.h"
#include "top_text.h"

#define INDENT 4 /* of a line that goes on */

/* Takes over text, which may be NULL. */
static void top_text_put(struct top_text *t, enum top_look look, char *text)
{
	if (text && t->count == t->room) {
		uint32_t room = t->room ? 2 * t->room : 64;
		struct top_line *more = realloc(t->line, room * sizeof(*more));

		if (more) {
			t->line = more;
			t->room = room;
		}
	}
	if (!text || t->count == t->room) {
		t->failed = true;
		free(text);
		return;
	}
	for (char *c = text; *c; c++)
		*c = storm_printed(*c);
	t->line[t->count++] = (struct top_line) { text, look };
}

void top_text_add(struct top_text *t, enum top_look look, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0)
		text = NULL;
	else if ((unsigned int) len > t->columns)
		text[t->columns] = '\0';
	for (size_t n = text ? strlen(text) : 0; n && text[n - 1] == ' ';)
		text[--n] = '\0';
	top_text_put(t, look, text);
}

/* How much of the text a line of so many characters takes: up to a blank, if one is in
 * its second half. */
static size_t top_text_part(const char *text, size_t room)
{
	size_t len = strlen(text);

	if (len <= room)
		return len;
	for (size_t n = room; n > room / 2; n--)
		if (text[n] == ' ')
			return n;
	return room;
}

void top_text_wrap(struct top_text *t, enum top_look look, const char *fmt, ...)
{
	char *whole = NULL;
	const char *text;
	size_t indent = 0;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&whole, fmt, ap);
	va_end(ap);
	if (len < 0) {
		t->failed = true;
		return;
	}
	text = whole;
	do {
		size_t room = t->columns > indent + INDENT ?
				      t->columns - indent :
				      INDENT;
		size_t part = top_text_part(text, room);

		top_text_add(t, look, "%*s%.*s", (int) indent, "", (int) part,
			     text);
		text += part;
		text += strspn(text, " ");
		indent = t->columns > 2 * INDENT ? INDENT : 0;
	} while (*text);
	free(whole);
}

void top_text_clear(struct top_text *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		free(t->line[i].text);
	free(t->line);
	*t = (struct top_text) { .columns = t->columns };
}
