/*
 * turns_word.c - see turns_word.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "comment_word.h"
#include "turns_word.h"

/* The nodes may have a comma: they end where the next key or the word does. */
static void turns_word_out(const char *word, struct turns_word *t)
{
	const char *out = strstr(word, ",out="), *end;

	if (!out)
		return;
	out += strlen(",out=");
	end = strstr(out, ",held=");
	snprintf(t->out, sizeof(t->out), "%.*s",
		 (int) (end ? (size_t) (end - out) : strlen(out)), out);
}

bool turns_word_read(const char *comment, struct turns_word *out)
{
	char word[1024];
	double ms;

	memset(out, 0, sizeof(*out));
	if (!comment_word(comment, COMMENT_TURNS, word, sizeof(word)))
		return false;
	if (sscanf(word,
		   COMMENT_TURNS
		   "%u/%u,quantum=%lfms,had=%lfs,waited=%lfs,slot=%u/%u,missed=%" SCNu64,
		   &out->have, &out->of, &ms, &out->had, &out->waited,
		   &out->slot, &out->round, &out->missed) != 8 ||
	    !out->of) {
		memset(out, 0, sizeof(*out));
		return false;
	}
	out->quantum = ms / 1e3;
	turns_word_out(word, out);
	return true;
}
