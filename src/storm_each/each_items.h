/*
 * each_items.h - one source of arguments: words of the command line, or a file, cut at the
 * delimiter.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EACH_ITEMS_H
#define STORM_EACH_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct each_options;

struct each_items {
	const struct each_options *o;
	/* words */
	char *const *words;
	size_t count, at;
	const char *rest; /* of the word before: there is a delimiter in it */
	/* or a file */
	FILE *in;
	const char *path;
	char *buffer;
	size_t room;
	char *piece; /* up to the last byte of a longer delimiter */
	size_t piece_room;
};

void each_items_of_words(struct each_items *it, const struct each_options *o,
			 char *const *words, size_t count);

/* "-" is standard input.  False: it was said why. */
bool each_items_of_file(struct each_items *it, const struct each_options *o,
			const char *path);

/* 1, and the item on the heap; 0 at the end; -1: it was said why. */
int each_items_next(struct each_items *it, char **item);

/* A copy, on the heap, without white space at the ends that --trim names; NULL: no memory. */
char *each_trimmed(const struct each_options *o, const char *text, size_t len);

void each_items_close(struct each_items *it);

#endif
