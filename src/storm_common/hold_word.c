/*
 * hold_word.c - see hold_word.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "hold_word.h"

#define LENGTH (sizeof(HOLD_WORD) - 1)

static bool hold_word_blank(char c)
{
	return !c || strchr(" \t\n", c);
}

bool hold_word_at(const char *text)
{
	return !strncmp(text, HOLD_WORD, LENGTH) &&
	       hold_word_blank(text[LENGTH]);
}

static const char *hold_word_find(const char *text)
{
	const char *p = text ? strstr(text, HOLD_WORD) : NULL;

	while (p &&
	       ((p != text && !hold_word_blank(p[-1])) || !hold_word_at(p)))
		p = strstr(p + 1, HOLD_WORD);
	return p;
}

bool hold_word_in(const char *text)
{
	return hold_word_find(text);
}

/* With the blank before it, or else the one after it. */
static void hold_word_cut(char *text, const char *found)
{
	char *p = text + (found - text), *end = p + LENGTH;

	if (p != text)
		p--;
	else if (*end)
		end++;
	memmove(p, end, strlen(end) + 1);
}

char *hold_word_put(const char *text, bool hold)
{
	size_t len = text ? strlen(text) : 0;
	char *out = malloc(len + LENGTH + 2);
	const char *p;

	if (!out)
		return NULL;
	memcpy(out, text ? text : "", len + 1);
	if (hold && !hold_word_find(out)) {
		if (len)
			strcat(out, " ");
		strcat(out, HOLD_WORD);
	}
	while (!hold && (p = hold_word_find(out)))
		hold_word_cut(out, p);
	return out;
}
