/*
 * top_text.h - lines of a screen: printable ASCII, no longer than the screen is wide.
 * Without I/O.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_TOP_TEXT_H
#define STORM_TOP_TEXT_H

#include <stdbool.h>
#include <stdint.h>

enum top_look { TOP_PLAIN, TOP_HEAD, TOP_BAD };

struct top_line {
	char *text; /* free */
	enum top_look look;
};

/* Set columns; all else zero: none. */
struct top_text {
	unsigned int columns;
	struct top_line *line; /* free */
	uint32_t count, room;
	bool failed; /* a line is missing, as there was no memory */
};

/* Add a line: what is not printable becomes '?', and what is too long is cut. */
void top_text_add(struct top_text *t, enum top_look look, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Add lines: what is too long goes on in a line that begins with blanks. */
void top_text_wrap(struct top_text *t, enum top_look look, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void top_text_clear(struct top_text *t);

#endif
