/*
 * shell_text.c - see shell_text.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "shell_text.h"

/* These mean themselves in each shell, at each place of a word.  A NUL byte stands for a
 * number, and strchr(3) finds it, too. */
static const char plain_bytes[] = "+-./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
				  "abcdefghijklmnopqrstuvwxyz";

void shell_text_add(struct shell_text *t, const char *bytes, size_t len)
{
	/* a byte more, for the NUL at the end */
	if (!t->failed && t->room - t->len < len + 1) {
		size_t room = t->room * 2 > t->len + len + 1 ?
				      t->room * 2 :
				      t->len + len + 64;
		char *more = realloc(t->text, room);

		t->failed = !more;
		if (more) {
			t->text = more;
			t->room = room;
		}
	}
	if (t->failed || !len)
		return;
	memcpy(t->text + t->len, bytes, len);
	t->len += len;
}

void shell_text_char(struct shell_text *t, char c)
{
	shell_text_add(t, &c, 1);
}

static bool is_plain(const char *bytes, size_t len)
{
	for (size_t k = 0; k < len; k++)
		if (!strchr(plain_bytes, bytes[k]))
			return false;
	return len > 0;
}

/* As parallel does: in single quotes, and a single quote in double ones.  Empty pairs at
 * the ends are left out, as they would be seen. */
void shell_text_quote(struct shell_text *t, const char *bytes, size_t len)
{
	size_t at = 0;

	if (is_plain(bytes, len)) {
		shell_text_add(t, bytes, len);
		return;
	}
	if (!len)
		shell_text_add(t, "''", 2);
	while (at < len) {
		size_t run = 0;

		if (bytes[at] == '\'') {
			shell_text_add(t, "\"'\"", 3);
			at++;
			/* between two of them an empty pair stays */
			if (at < len && bytes[at] == '\'')
				shell_text_add(t, "''", 2);
			continue;
		}
		while (at + run < len && bytes[at + run] != '\'')
			run++;
		shell_text_char(t, '\'');
		shell_text_add(t, bytes + at, run);
		shell_text_char(t, '\'');
		at += run;
	}
}

void shell_text_requote(struct shell_text *t, size_t from)
{
	size_t len = t->len - from;
	char *word = malloc(len + 1);

	if (!word || t->failed) {
		t->failed = true;
		free(word);
		return;
	}
	if (len)
		memcpy(word, t->text + from, len);
	t->len = from;
	shell_text_quote(t, word, len);
	free(word);
}

char *shell_text_take(struct shell_text *t, size_t *len)
{
	char *text;

	shell_text_add(t, "", 0);
	text = t->text;
	if (t->failed) {
		free(text);
		text = NULL;
	} else {
		text[t->len] = '\0';
		*len = t->len;
	}
	*t = (struct shell_text) { 0 };
	return text;
}
