/*
 * held_word.c - see held_word.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <string.h>

#include "held_word.h"

#define OURS "storm:turns="

/* The comment may also have text of others. */
static const char *held_word_ours(const char *comment)
{
	const char *p = comment ? strstr(comment, OURS) : NULL;

	while (p && p != comment && p[-1] != ' ')
		p = strstr(p + 1, OURS);
	return p;
}

bool held_word_read(const char *comment, struct held_word *out)
{
	const char *p = held_word_ours(comment), *held, *loose;
	char word[1024];

	memset(out, 0, sizeof(*out));
	if (!p)
		return false;
	snprintf(word, sizeof(word), "%.*s", (int) strcspn(p, " "), p);
	held = strstr(word, ",held=");
	if (!held ||
	    sscanf(held, ",held=%u/%u", &out->stands, &out->nodes) != 2)
		return false;
	loose = strstr(held, ",loose=");
	if (loose)
		snprintf(out->loose, sizeof(out->loose), "%s", loose + 7);
	return true;
}
