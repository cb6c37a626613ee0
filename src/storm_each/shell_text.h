/*
 * shell_text.h - a text that grows, for a shell: bytes as they are, or in quotes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SHELL_TEXT_H
#define STORM_SHELL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct shell_text {
	char *text;
	size_t len, room;
	bool failed; /* there was no memory: nothing is added any more */
};

void shell_text_add(struct shell_text *t, const char *bytes, size_t len);
void shell_text_char(struct shell_text *t, char c);

/* One word of sh that means these bytes. */
void shell_text_quote(struct shell_text *t, const char *bytes, size_t len);

/* Make one word of what is there from here on. */
void shell_text_requote(struct shell_text *t, size_t from);

/* The bytes, with a NUL byte behind them, on the heap; NULL: no memory. */
char *shell_text_take(struct shell_text *t, size_t *len);

#endif
