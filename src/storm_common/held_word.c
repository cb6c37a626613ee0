/*
 * held_word.c - see held_word.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <string.h>

#include "comment_word.h"
#include "held_word.h"

bool held_word_read(const char *comment, struct held_word *out)
{
	const char *held, *loose;
	char word[1024];

	memset(out, 0, sizeof(*out));
	if (!comment_word(comment, COMMENT_TURNS, word, sizeof(word)))
		return false;
	held = strstr(word, ",held=");
	if (!held ||
	    sscanf(held, ",held=%u/%u", &out->stands, &out->nodes) != 2)
		return false;
	loose = strstr(held, ",loose=");
	if (loose)
		snprintf(out->loose, sizeof(out->loose), "%s", loose + 7);
	return true;
}
